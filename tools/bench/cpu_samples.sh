#!/bin/bash
# NVIDIA's CUDA samples, with their own CMakeLists.txt, on the CPU.
#
#   tools/bench/cpu_samples.sh [--jobs N] SAMPLES [NAME...]     a checkout of cuda-samples, which stays outside of this repository;
#                                                              by default all samples
#
# Each sample is built with `xaas build`, deployed with --gpu cpu, and run without arguments for at most $XAAS_BENCH_SECONDS (60).
# $XAAS_BENCH_GPU is the architecture of the IR (sm_75). A line for each sample, in the words of cpu_programs.sh, and `waived`: it
# ends with 2, which says that the device lacks what the sample shows. The last lines count.
#
# Figures are kept: lib.sh. Needs a CUDA toolkit ($CUDA_PATH or /usr/local/cuda), clang-22 and bubblewrap.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tools/bench/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"
jobs=1
[ "${1:-}" != --jobs ] || { jobs=$2; shift 2; }
[ $# -gt 0 ] || { echo "usage: $0 [--jobs N] SAMPLES [NAME...]" >&2; exit 2; }
suite=$(realpath "$1")
shift
[ -d "$suite/Samples" ] || { echo "$0: no directory $suite/Samples" >&2; exit 2; }
find_cuda include
packages clang-22 bubblewrap cmake make
open_bench
show_revision "$suite"
here=$work/$program/cpu_samples
mkdir -p "$here"
export suite here xaas seconds="${XAAS_BENCH_SECONDS:-60}" gpu="${XAAS_BENCH_GPU:-sm_75}"

one() { # DIRECTORY
  local name at outcome why="" code=0 product start
  name=$(basename "$1") at=$here/$(basename "$1")
  [ ! -s "$at/result" ] || { cat "$at/result"; return 0; }
  rm -rf "$at" && mkdir -p "$at"
  product=$(sed -nE 's/^ *add_executable\( *([A-Za-z0-9_]+).*/\1/p' "$suite/$1/CMakeLists.txt" | head -n 1)
  jq -n --arg directory "$1" --arg product "${product:-$name}" '{name: "app", version: "1", isa: ["x86-64-v3"],
    build: {system: "cmake", directory: $directory, arguments: ["-DCMAKE_CUDA_COMPILER=nvcc", "-DCMAKE_BUILD_TYPE=Release"],
      install: [{from: $product, to: "bin/app"}]}}' >"$at/spec.json"
  if ! timeout 600 "$xaas" build "$at/spec.json" --source "$suite" -o "oci:$at/image:ir" --gpu "$gpu" -q >"$at/build.log" 2>&1; then
    outcome=no-build why=$(grep -m1 -E 'error|Could NOT' "$at/build.log" || tail -n 1 "$at/build.log")
  elif ! timeout 600 "$xaas" deploy "oci:$at/image:ir" --gpu cpu -o "rootfs:$at/root" -q --format json >"$at/deploy.json" 2>"$at/deploy.log"; then
    outcome=no-deploy why=$(grep -m1 -E 'error' "$at/deploy.log" || tail -n 1 "$at/deploy.log")
  else
    start=$SECONDS
    (cd "$suite/$1" && exec timeout -k 5 "$seconds" "$at/root/usr/local/bin/app") >"$at/output" 2>&1 </dev/null || code=$?
    outcome=$(judge $code "$at/output" "$(jq '[.kernels[]? | select(.form == "refused")] | length' "$at/deploy.json")")
    [ $code -ne 2 ] || outcome=waived
    why="$(jq -r '[.kernels[]?.form] | group_by(.) | map("\(length) \(.[0])") | join(", ")' "$at/deploy.json"); exit code $code, $((SECONDS - start)) s"
  fi
  printf '%-9s %s\t%s\n' "$outcome" "$name" "$why" >"$at/result.new"
  mv "$at/result.new" "$at/result"
  rm -rf "$at/image" "$at/root"
  cat "$at/result"
}
export -f judge one

mapfile -t samples < <(cd "$suite" && find Samples -mindepth 3 -maxdepth 3 -name CMakeLists.txt -printf '%h\n' | sort)
if [ $# -gt 0 ]; then
  mapfile -t samples < <(printf '%s\n' "${samples[@]}" | grep -E "/($(IFS='|'; echo "$*"))\$")
fi
printf '%s\n' "${samples[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'one {}' | tee "$here/results"
say "$(wc -l <"$here/results") samples"
cut -d' ' -f1 "$here/results" | sort | uniq -c | sort -rn
