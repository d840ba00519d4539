#!/bin/bash
# Applications that are written in several programming models: their CUDA versions on the CPU against their OpenMP versions.
#
#   tools/bench/cpu_models.sh BABELSTREAM CLOVERLEAF     checkouts of both (of UoB-HPC), which stay outside of this repository
#
# Both build with CMake and -DMODEL=cuda or omp; OpenMP's version with Clang at -O3 -march=native. Both run on one thread and on
# all, interleaved, $XAAS_BENCH_ROUNDS times (5), with huge pages; the figures are quotients of medians. Above 1, the CUDA version
# is faster. BabelStream reports the bandwidth of each kernel, CloverLeaf the time of a run, and whether it is right.
#
# BabelStream 5.0 needs no NVML; later versions include its header, which some toolkits lack.
# Needs a CUDA toolkit ($CUDA_PATH or /usr/local/cuda), clang-22 and libomp-22-dev.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -eq 2 ] || { echo "usage: $0 BABELSTREAM CLOVERLEAF" >&2; exit 2; }
babelstream=$(realpath "$1") cloverleaf=$(realpath "$2")
find_cuda include
packages libomp-22-dev clang-22 cmake make
open_bench
here=$work/$program/cpu_models
mkdir -p "$here"
rounds=${XAAS_BENCH_ROUNDS:-5}
# One deck of 960 x 960 cells.
deck=$cloverleaf/InputDecks/clover_bm_short.in

build_both() { # NAME SOURCE
  local at=$here/$1
  show_revision "$2"
  [ ! -f "$at/built" ] || return 0
  rm -rf "$at" && mkdir -p "$at"
  echo '{"name": "app", "version": "1", "build": {"system": "cmake", "arguments": ["-DMODEL=cuda", "-DCMAKE_CUDA_COMPILER=nvcc",
    "-DCUDA_ARCH=sm_75", "-DENABLE_MPI=OFF", "-DCMAKE_BUILD_TYPE=Release"]}, "isa": ["x86-64-v3"]}' >"$at/spec.json"
  "$xaas" build "$at/spec.json" --source "$2" -o "oci:$at/image:ir" --gpu sm_75 -q >"$at/build.log" 2>&1 ||
    die "$1: not built: $(grep -m1 error "$at/build.log")"
  "$xaas" deploy "oci:$at/image:ir" --gpu cpu -o "rootfs:$at/root" -q >"$at/deploy.log" 2>&1 ||
    die "$1: not deployed: $(tail -n 1 "$at/deploy.log")"
  { cmake -S "$2" -B "$at/omp" -DMODEL=omp -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22 -DENABLE_MPI=OFF \
    -DCMAKE_BUILD_TYPE=Release -DCXX_EXTRA_FLAGS=-march=native && cmake --build "$at/omp" -j "$(nproc)"; } >"$at/omp.log" 2>&1 ||
    die "$1: OpenMP's version not built: $(grep -m1 -i error "$at/omp.log")"
  touch "$at/built"
}

run() { # THREADS PROGRAM ARGUMENT...
  taskset -c "0-$(($1 - 1))" env GLIBC_TUNABLES=glibc.malloc.hugetlb=1 OMP_NUM_THREADS="$1" "${@:2}"
}

bandwidths() { # THREADS PROGRAM: KERNEL MB/S
  run "$1" "$2" -n 30 --csv 2>/dev/null | awk -F, '$1 ~ /^(Copy|Mul|Add|Triad|Dot)$/ { print $1, $5 }'
}

seconds() { # THREADS PROGRAM
  local output
  output=$(run "$1" "$2" --file "$deck" --out /dev/null)
  grep -q "Outcome: PASSED" <<<"$output" || die "$2: wrong result: $(tail -n 3 <<<"$output")"
  awk '/Wall clock/ { last = $3 } END { print last }' <<<"$output"
}

build_both babelstream "$babelstream"
build_both cloverleaf "$cloverleaf"
stream=$here/babelstream clover=$here/cloverleaf
printf '%-12s %7s %10s %10s %8s\n' program threads cuda openmp quotient
for threads in 1 $(nproc); do
  rm -f "$here"/*."$threads"
  for ((i = 0; i < rounds; ++i)); do
    bandwidths "$threads" "$stream/root/usr/local/bin/cuda-stream" >>"$here/stream.cuda.$threads"
    bandwidths "$threads" "$stream/omp/omp-stream" >>"$here/stream.omp.$threads"
    seconds "$threads" "$clover/root/usr/local/bin/cuda-cloverleaf" >>"$here/clover.cuda.$threads"
    seconds "$threads" "$clover/omp/omp-cloverleaf" >>"$here/clover.omp.$threads"
  done
  for kernel in Copy Mul Add Triad Dot; do
    a=$(awk -v k="$kernel" '$1 == k { print $2 }' "$here/stream.cuda.$threads" | median)
    b=$(awk -v k="$kernel" '$1 == k { print $2 }' "$here/stream.omp.$threads" | median)
    printf '%-12s %7s %10.0f %10.0f %8s\n' "$kernel" "$threads" "$a" "$b" "$(ratio "$a" "$b")"
  done
  a=$(median <"$here/clover.cuda.$threads") b=$(median <"$here/clover.omp.$threads")
  printf '%-12s %7s %10s %10s %8s\n' CloverLeaf "$threads" "$a" "$b" "$(ratio "$b" "$a")"
done | tee "$here/table"
