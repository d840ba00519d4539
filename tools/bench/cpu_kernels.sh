#!/bin/bash
# Forms of the kernels in CUDA sources when they are made for the CPU: how many become loops, are masked, run on fibers or are
# refused, and why.
#
#   tools/bench/cpu_kernels.sh DIRECTORY...     every .cu file below; suites stay outside of this repository
#
# Needs a CUDA toolkit ($CUDA_PATH or /usr/local/cuda) and the build of the preset `ci`. Sources that do not compile alone are
# counted. Says the revision of each directory that is a git repository.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
forms=$root/build/ci/tests/unit/kernel_forms
[ $# -gt 0 ] || { echo "usage: $0 DIRECTORY..." >&2; exit 2; }
[ -x "$forms" ] || { echo "$0: no program $forms" >&2; exit 4; }
find_cuda include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for directory in "$@"; do
  show_revision "$directory"
done
total=0 compiled=0 crashed=0
while read -r source; do
  total=$((total + 1))
  timeout 300 clang++-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-path="$cuda" -nocudalib \
    -Xclang -target-sdk-version=12.9 -Wno-unknown-cuda-version -w -O2 -std=c++17 -Xclang -disable-llvm-passes -emit-llvm \
    -I"$(dirname "$source")" -I"$(dirname "$source")/../include" -c "$source" -o "$work/module.bc" 2>/dev/null || continue
  compiled=$((compiled + 1))
  "$forms" "$work/module.bc" >>"$work/forms" || { crashed=$((crashed + 1)); echo "not made: $source"; }
done < <(find "$@" -name '*.cu' | sort)
touch "$work/forms"
echo "$total sources, $compiled compile, $crashed could not be made"
awk -F'\t' '/^(loops|masked|fibers|refused)\t/ { count[$1]++ } END { for (form in count) print count[form], form }' "$work/forms" | sort -k2
echo "reasons of refused kernels, and of those on fibers:"
awk -F'\t' '$1 == "refused" || $1 == "fibers" { print "  " $1 ": " $3 }' "$work/forms" | sort | uniq -c | sort -rn | head -n 20
