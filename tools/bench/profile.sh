#!/bin/bash
# Profile-guided deploys: each application is trained on other data than it is measured with. User CPU seconds of programs that are
# deployed without a profile, with one, and with one and --lto, beside native builds by the same Clang without a profile and with its
# own (-fprofile-generate, -fprofile-use), in turn. Then: a profile of programs for Haswell matches as many functions as one of this
# CPU's, and outputs are equal.
#
#   tools/bench/profile.sh [--rounds N] [APPLICATION]...     minimap2 hmmer lua sqlite3 soft-spheres zstd, if none is named
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/kinds.sh"
rounds=7
applications=()
while [ $# -gt 0 ]; do
  case "$1" in
  --rounds) rounds=$2; shift 2 ;;
  minimap2 | hmmer | lua | sqlite3 | mmseqs2 | btllib | kissfft | soft-spheres | zstd) applications+=("$1"); shift ;;
  *) echo "usage: $0 [--rounds N] [minimap2|hmmer|lua|sqlite3|mmseqs2|btllib|kissfft|soft-spheres|zstd]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer lua sqlite3 soft-spheres zstd)
open_bench
packages bubblewrap
kinds=(native native-profile deployed profile profile-lto)

# Training runs: shorter, on other data where the program has any.
minimap2_train() {
  [ -s "$data/train.fa" ] || perl -e 'srand(99); my @b = qw(A C G T); open my $g, "<", $ARGV[0]; <$g>; my $genome = <$g>; chomp $genome;
    for my $i (1 .. 300) { my $r = substr $genome, int rand(2_990_000), 3000; substr($r, int rand 3000, 1) = $b[int rand 4] for 1 .. 200;
    print ">t$i\n$r\n" }' "$data/genome.fa" >"$data/train.fa"
  "$@" minimap2 -a -t 1 "$data/genome.fa" "$data/train.fa"
}
hmmer_train() {
  [ -s "$data/train.fa" ] || "$work/$app/native/bin/hmmemit" -N 4000 --seed 5 "$data/globins4.hmm" >"$data/train.fa"
  "$@" hmmsearch --cpu 0 "$data/globins4.hmm" "$data/train.fa"
}
sqlite3_train() { "$@" speedtest1 --testset main --size 4 :memory:; }
lua_train() { "$@" lua "$data/work.lua" 2; }
mmseqs2_train() { mmseqs2_run "$@"; }
btllib_train() { btllib_run "$@"; }
kissfft_train() { "$@" fft-float -n 1000 "$data/signal"; }
soft-spheres_train() { "$@" soft-spheres --threads 1 --steps 300; }
zstd_train() {
  [ -s "$data/train" ] || tail -c 3000000 "$data/text" >"$data/train"
  "$@" zstd -q -f --single-thread -5 "$data/train" -o "$data/train.zst"
  "$@" zstd -q -f -d "$data/train.zst" -o "$data/train.again"
}

native() { "$work/$app/$1/bin/$2" "${@:3}"; } # DIRECTORY PROGRAM ARGUMENT...
unpacked() { contained "$here/rootfs-$1" "$data" "/usr/local/bin/$2" "${@:3}"; }
train_native() { # FILE: of the native build with counters
  rm -rf "$here/native.raw"
  LLVM_PROFILE_FILE="$here/native.raw/%m-%p.profraw" "${app}_train" native native-counts >/dev/null 2>&1
  llvm-profdata-22 merge "$here/native.raw" -o "$1"
}
train() { # IMAGE DIRECTORY: `xaas run` of a deployed image with counters
  counted() { "$xaas" run -q --runtime bwrap --no-check --bind "$data" --profile "$directory" "oci:$here/image:$image" "/usr/local/bin/$1" -- "${@:2}"; }
  local image=$1 directory=$2
  "${app}_train" counted >/dev/null 2>&1
}
matched() { "$xaas" deploy "oci:$here/image:ir" -o "oci:$here/image:match" --profile "$1" --no-cache -q --format json | jq -r '.profile | "\(.matched) of \(.functions)"'; }

ir_image() { "$xaas" build "$spec" --source "$work/$app/source" -o "oci:$1:ir" -q >/dev/null; } # LAYOUT

run_round() { # one run of each kind in turn; CPU seconds into the new file $1
  local kind how TIMEFORMAT='%U'
  for kind in "${kinds[@]}"; do
    how=(unpacked "$kind")
    case $kind in native*) how=(native "$kind") ;; esac
    { time "${app}_run" "${how[@]}" >/dev/null 2>&1; } 2>>"$1"
  done
}

in_application() { # NAME
  app=$1
  here=$work/$app/profile-$program
  data=$work/$app/data
  spec=$root/specs/applications/$app.json
  [ -f "$spec" ] || spec=$root/examples/$app/xaas.json
  mkdir -p "$here"
}
export XAAS_CACHE_DIR=$work/cache
for application in "${applications[@]}"; do
  in_application "$application"
  say "$app: native builds, IR image"
  "${app}_packages"
  if [ -d "$root/examples/$app" ]; then once "$work/$app/source" cp -r "$root/examples/$app"
  elif declare -F "${app}_source" >/dev/null; then once "$work/$app/source" "${app}_source"
  else once "$work/$app/source" debian_source "$app"; fi
  once "$work/$app/native" "${app}_native" "-march=native" >"$work/$app/native.log" 2>&1 || die "$work/$app/native.log"
  once "$data" "${app}_data"
  once "$work/$app/native-counts" "${app}_native" "-march=native -fprofile-generate" >"$work/$app/native-counts.log" 2>&1 || die "$work/$app/native-counts.log"
  [ -s "$here/native.profdata" ] || train_native "$here/native.profdata"
  once "$work/$app/native-profile" "${app}_native" "-march=native -fprofile-use=$here/native.profdata -Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date" \
    >"$work/$app/native-profile.log" 2>&1 || die "$work/$app/native-profile.log"
  once "$here/image" ir_image
  say "$app: training"
  rm -rf "$here/counts" "$here/counts.haswell"
  "$xaas" deploy "oci:$here/image:ir" --profile-generate -o "oci:$here/image:counts" -q
  train counts "$here/counts"
  "$xaas" deploy "oci:$here/image:ir" --profile-generate --cpu haswell -o "oci:$here/image:counts.haswell" -q >/dev/null
  train counts.haswell "$here/counts.haswell"
  echo "matched: $(matched "$here/counts"); trained for haswell: $(matched "$here/counts.haswell")"
  "$xaas" deploy "oci:$here/image:ir" -o "oci:$here/image:deployed" -q >/dev/null
  "$xaas" deploy "oci:$here/image:ir" -o "oci:$here/image:profile" --profile "$here/counts" -q >/dev/null
  "$xaas" deploy "oci:$here/image:ir" -o "oci:$here/image:profile-lto" --profile "$here/counts" --lto -q >/dev/null
  for kind in deployed profile profile-lto; do
    rm -rf "$here/rootfs-$kind"
    unpack "$here/image" $kind "$here/rootfs-$kind"
  done
  for kind in "${kinds[@]}"; do
    how=(unpacked "$kind")
    case $kind in native*) how=(native "$kind") ;; esac
    "${app}_run" "${how[@]}" 2>/dev/null | "${app}_filter" | sha256sum >"$here/output.$kind"
    cmp "$here/output.native" "$here/output.$kind" || echo "$app: $kind prints something else"
  done
  say "$app: $rounds rounds"
  for ((round = 1; round <= rounds; ++round)); do once "$here/run.$round" run_round; done
done
say "user CPU seconds, medians of $rounds runs in turn; $machine"
{
  echo "application|native|native profile|deployed|profile|profile, LTO|native profile/native|profile/deployed|LTO/deployed|profile/native profile"
  for application in "${applications[@]}"; do
    in_application "$application"
    n=$(run_median native) p=$(run_median native-profile) d=$(run_median deployed) u=$(run_median profile) l=$(run_median profile-lto)
    echo "$app|$n|$p|$d|$u|$l|$(ratio "$p" "$n")|$(ratio "$u" "$d")|$(ratio "$l" "$d")|$(ratio "$u" "$p")"
  done
} | print_columns
