#!/bin/bash
# FFTW from Debian's source package: five processes build one configuration each, with their own copies of the sources and empty
# caches, and `xaas merge` unites them; compared with one build of all five with an empty cache. Both images must have the
# same digest.
#
#   tools/bench/merge.sh
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
open_bench
packages cmake ninja-build
source=$work/fftw/source
spec=$root/specs/applications/fftw.json
here=$work/merge/$program
mkdir -p "$here"
configurations=(precision=single,simd=SSE2 precision=single,simd=AVX2 precision=double,simd=SSE2 precision=double,simd=AVX
  precision=double,simd=AVX2)

build() { # DIRECTORY CONFIGURATION...: from a copy of the sources, into DIRECTORY/image
  local directory=$1
  shift
  mkdir -p "$directory" "$here/tmp" # one for all: FFTW keeps the path of its build directory
  cp -r "$source" "$directory/source"
  TMPDIR=$here/tmp XAAS_CACHE_DIR=$directory/cache "$xaas" build "$spec" --source "$directory/source" \
    -o "oci:$directory/image:ir" -j "${jobs:-1}" "${@/#/--config=}" --format json >"$directory/built.json"
}
single_build() { rm -rf "$here/whole"; jobs=$(nproc) build "$here/whole" "${configurations[@]}"; }
five_builds() {
  local n process processes=()
  rm -rf "$here"/part-*
  for n in "${!configurations[@]}"; do
    jobs=1 build "$here/part-$n" "${configurations[n]}" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process"; done
}
merge() { # ORDER...
  local parts=()
  for n in "$@"; do parts+=("oci:$here/part-$n/image:ir"); done
  "$xaas" merge "${parts[@]}" -o "oci:$here/merged:ir" --format json -q >"$here/merged.json"
}

say "sources"
once "$source" debian_source fftw3
say "one build of ${#configurations[@]} configurations"
timed "$here/single.build" single_build
say "${#configurations[@]} builds at once"
timed "$here/five.build" five_builds
say "merging"
timed "$here/merge.figures" merge 3 0 4 1 2

single=$(jq -er .digest "$here/whole/built.json")
merged=$(jq -er .digest "$here/merged.json")
say "fftw: $machine, $program"
echo "single build   $single, $(wall "$here/single.build") s, $(cpu "$here/single.build") CPU s"
echo "five builds    $(wall "$here/five.build") s, $(cpu "$here/five.build") CPU s"
echo "merged         $merged, $(wall "$here/merge.figures") s, $(cpu "$here/merge.figures") CPU s, $(memory_of_one "$here/merge.figures") of memory"
jq -r '.images[].sharing | "units \(.units), \(.unit_bytes) bytes; IR modules \(.modules), \(.module_bytes) bytes"' "$here/merged.json"
for n in "${!configurations[@]}"; do
  echo "part $n         $(image_bytes "oci:$here/part-$n/image:ir" | human), ${configurations[n]}"
done
echo "merged image   $(image_bytes "oci:$here/merged:ir" | human)"
[ "$merged" = "$single" ] || die "the merged image is not the one of a single build"
echo "ok: the digests are equal"
