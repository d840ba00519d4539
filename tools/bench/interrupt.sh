#!/bin/bash
# Kills (SIGKILL) builds and deploys of a real application from Debian's source package at random instants, with one cache for
# all; then runs an undisturbed one, and two at once over an empty cache. Each must give the digest of an undisturbed run with
# an empty cache, leave no process and no temporary directory, and compile or lower nothing twice.
#
#   tools/bench/interrupt.sh [--kills N] [--seed N] [hmmer|fftw]        10 kills of hmmer
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
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
hmmer)
  package=hmmer configurations=(isa=x86-64,mpi=off isa=x86-64-v3,mpi=off)
  packages libdivsufsort-dev libsimde-dev autoconf automake libtool
  ;;
fftw)
  package=fftw3 configurations=(precision=single,simd=SSE2 precision=double,simd=SSE2)
  packages cmake make ninja-build
  ;;
esac
source=$work/$name/source
once "$source" debian_source "$package"
here=$work/interrupt/$name/$program
mkdir -p "$here/tmp"
export TMPDIR=$here/tmp

build() { # CACHE TAG
  XAAS_CACHE_DIR=$here/$1 "$xaas" build "$root/specs/applications/$name.json" --source "$source" -o "oci:$here/image:$2" \
    --format json -q "${configurations[@]/#/--config=}" >"$here/$2.json"
}
build_reused() { jq '[.configurations[].reused] | add' "$1"; }
deploy() { # CACHE TAG
  XAAS_CACHE_DIR=$here/$1 "$xaas" deploy "oci:$here/image:build-undisturbed" -o "oci:$here/image:$2" --format json -q >"$here/$2.json"
}
deploy_reused() { jq .modules.cached "$1"; }

fresh() { # KIND CACHE TAG: with an empty cache
  rm -rf "${here:?}/$2"
  "$1" "$2" "$3"
}
at_once() { # KIND
  rm -rf "$here/$1-shared-cache"
  "$1" "$1-shared-cache" "$1-one" & local one=$!
  "$1" "$1-shared-cache" "$1-two" & local two=$!
  wait $one && wait $two
}
expect_undisturbed() { # KIND TAG: the digest of the undisturbed one, and nothing is left
  local want got
  want=$(jq -r .digest "$here/$1-undisturbed.json")
  got=$(jq -r .digest "$here/$2.json")
  [ "$got" = "$want" ] || die "$2: digest $got, undisturbed $want"
  [ -z "$(ls -A "$TMPDIR")" ] || die "left in $TMPDIR after $2: $(ls -A "$TMPDIR")"
}
kill_some() { # KIND FILE
  local i=0 random after longest
  longest=$(wall "$here/$1-undisturbed.time")
  RANDOM=$seed
  rm -rf "$here/$1-killed-cache"
  while [ $i -lt "$kills" ]; do
    random=$RANDOM # here: a subshell has random numbers of its own, whatever the seed
    after=$(part_of "$longest" 0 1 "$random")
    # The cache of killed runs makes later ones shorter; a run that finished does not count as killed.
    killed_after "$after" "$here/$1-killed" "$1-killed-cache" "$1-killed" || { longest=$after; continue; }
    i=$((i + 1))
    echo "killed after $after s; $(find "$here/$1-killed-cache" -type f 2>/dev/null | wc -l) files in the cache," \
      "$(ls "$TMPDIR" | wc -l) directories left"
  done >"$2"
}

for kind in build deploy; do
  say "$name: $kind, undisturbed, with an empty cache"
  timed "$here/$kind-undisturbed.time" fresh $kind $kind-cache $kind-undisturbed
  say "$name: $kind, $kills kills, seed $seed"
  script_of "$here/$kind-killed" "$(declare -p configurations here xaas root name source); $kind" $kind
  once "$here/$kind-kills" kill_some $kind
  cat "$here/$kind-kills"
  say "$name: $kind, undisturbed after the kills"
  timed "$here/$kind-after-kills.time" $kind $kind-killed-cache $kind-after-kills
  expect_undisturbed $kind $kind-after-kills
  [ "$(${kind}_reused "$here/$kind-after-kills.json")" -gt "$(${kind}_reused "$here/$kind-undisturbed.json")" ] ||
    die "nothing of the killed ones was reused"
  say "$name: $kind, two at once"
  timed "$here/$kind-at-once.time" at_once $kind
  expect_undisturbed $kind $kind-one
  expect_undisturbed $kind $kind-two
done

say "figures: $machine, $program"
{
  echo "|seconds|CPU seconds|reused"
  for kind in build deploy; do
    for tag in undisturbed after-kills; do
      echo "$kind $tag|$(wall "$here/$kind-$tag.time")|$(cpu "$here/$kind-$tag.time")|$(${kind}_reused "$here/$kind-$tag.json")"
    done
    echo "$kind, two at once|$(wall "$here/$kind-at-once.time")|$(cpu "$here/$kind-at-once.time")|$(${kind}_reused "$here/$kind-one.json") and $(${kind}_reused "$here/$kind-two.json")"
  done
} | column -t -s '|'
