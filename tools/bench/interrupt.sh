#!/bin/bash
# Builds of a real application from Debian's source package that are killed (SIGKILL) at random instants, with one cache for
# all; then the undisturbed build after them, and two at once over an empty cache. Each must give the digest of an
# undisturbed build with an empty cache, leave no process and no temporary directory, and what was compiled is not compiled
# again.
#
#   tools/bench/interrupt.sh [--kills N] [--seed N] [hmmer|fftw]        10 kills of hmmer
#
# Needs root once, for source packages (deb-src) and build dependencies. Can be taken up where it was interrupted: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
kills=10 name=hmmer seed=$RANDOM
while [ $# -gt 0 ]; do
  case "$1" in
  --kills) kills=$2; shift 2 ;;
  --seed) seed=$2; shift 2 ;;
  hmmer | fftw) name=$1; shift ;;
  *) echo "usage: $0 [--kills N] [--seed N] [hmmer|fftw]" >&2; exit 2 ;;
  esac
done
open_bench
case $name in
hmmer) package=hmmer; packages libdivsufsort-dev libsimde-dev autoconf automake libtool ;;
fftw) package=fftw3; packages cmake make ninja-build ;;
esac
source=$work/$name/source
once "$source" debian_source $package
here=$work/interrupt/$name/$program
mkdir -p "$here/tmp"
export TMPDIR=$here/tmp

build() { # CACHE TAG: leaves TAG.json
  XAAS_CACHE_DIR=$here/$1 "$xaas" build "$root/specs/applications/$name.json" --source "$source" -o "oci:$here/image:$2" \
    --format json -q >"$here/$2.json"
}
total() { jq "[.configurations[].$2] | add" "$here/$1.json"; } # TAG KEY
undisturbed() {
  rm -rf "$here/cache" "$here/image"
  build cache undisturbed
}
after_kills() { build killed-cache after-kills; }
at_once() {
  rm -rf "$here/shared-cache"
  build shared-cache one & local one=$!
  build shared-cache two & local two=$!
  wait $one && wait $two
}
same_digest() { # TAG
  local want got
  want=$(jq -r .digest "$here/undisturbed.json")
  got=$(jq -r .digest "$here/$1.json")
  [ "$got" = "$want" ] || die "$1: digest $got, undisturbed $want"
}
say "$name: undisturbed, with an empty cache"
timed "$here/undisturbed.time" undisturbed
if [ ! -s "$here/kills" ]; then
  say "$name: $kills kills, seed $seed"
  RANDOM=$seed
  rm -rf "$here/killed-cache"
  for ((i = 1; i <= kills; ++i)); do
    random=$RANDOM # here: a subshell has random numbers of its own, whatever the seed
    after=$(part_of "$(wall "$here/undisturbed.time")" 0 1 $random)
    XAAS_CACHE_DIR=$here/killed-cache killed_after "$after" "$xaas" build "$root/specs/applications/$name.json" \
      --source "$source" -o "oci:$here/image:killed" -q
    echo "killed after $after s; $(find "$here/killed-cache" -type f 2>/dev/null | wc -l) files in the cache," \
      "$(ls "$TMPDIR" | wc -l) directories left" | tee -a "$here/kills.new"
  done
  mv "$here/kills.new" "$here/kills"
fi
say "$name: undisturbed after the kills"
timed "$here/after-kills.time" after_kills
same_digest after-kills
[ -z "$(ls -A "$TMPDIR")" ] || die "left in $TMPDIR: $(ls -A "$TMPDIR")"
[ "$(total after-kills reused)" -gt "$(total undisturbed reused)" ] || die "nothing of the killed builds was reused"
say "$name: two at once"
timed "$here/at-once.time" at_once
same_digest one
same_digest two

say "figures ($machine)"
cat "$here/kills"
{
  echo "build|seconds|CPU seconds|compiled|reused"
  for tag in undisturbed after-kills; do
    echo "$tag|$(wall "$here/$tag.time")|$(cpu "$here/$tag.time")|$(total $tag compiled)|$(total $tag reused)"
  done
  echo "two at once|$(wall "$here/at-once.time")|$(cpu "$here/at-once.time")|$(total one compiled) and $(total two compiled)|$(total one reused) and $(total two reused)"
} | column -t -s '|'
