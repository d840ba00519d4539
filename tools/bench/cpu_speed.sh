#!/bin/bash
# Times of CUDA kernels on the CPU against the OpenMP versions of the same programs.
#
#   tools/bench/cpu_speed.sh RODINIA [PROGRAM...]     a checkout of the Rodinia suite, which stays outside of this repository
#
# Each program's CUDA version is built with `xaas build`, deployed with --gpu cpu, and its kernels are timed (XAAS_KERNEL_TIMES);
# of the OpenMP version, built with Clang at -O3 -march=native, the parallel regions are timed by a tool of OpenMP's own interface
# (OMPT). Both run on one thread and on all, interleaved, $XAAS_BENCH_ROUNDS times (3); the figure is the quotient of the medians.
# Data that CUDA's version keeps in huge pages are in the OpenMP version's heap, with huge pages (glibc.malloc.hugetlb=1).
#
# Needs a CUDA toolkit ($CUDA_PATH or /usr/local/cuda), clang-22 and libomp-22-dev.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -gt 0 ] || { echo "usage: $0 RODINIA [PROGRAM...]" >&2; exit 2; }
suite=$(realpath "$1")
shift
find_cuda include
packages clang-22 bubblewrap make
open_bench
openmp_regions
mkdir -p "$work/$program"
rounds=${XAAS_BENCH_ROUNDS:-3}
programs=("$@")
[ $# -gt 0 ] || programs=(backprop bfs hotspot hotspot3D lavaMD lud nw particlefilter pathfinder srad_v2 streamcluster)
show_revision "$suite"

# The sources of each version below cuda/ and openmp/, their directory, options of both, and arguments. @T is the number of threads.
describe() {
  directory=$1 cuda_options=() openmp_options=()
  case $1 in
  backprop) cuda_sources="backprop.c facetrain.c imagenet.c backprop_cuda.cu" openmp_sources="backprop.c backprop_kernel.c facetrain.c imagenet.c"
    cuda_arguments=1048560 openmp_arguments=$cuda_arguments ;;
  bfs) cuda_sources=bfs.cu openmp_sources=bfs.cpp cuda_arguments="$work/graph.txt" openmp_arguments="@T $work/graph.txt" ;;
  hotspot) cuda_sources=hotspot.cu openmp_sources=hotspot_openmp.cpp
    cuda_arguments="1024 2 60 $work/temperature.txt $work/power.txt /dev/null"
    openmp_arguments="1024 1024 60 @T $work/temperature.txt $work/power.txt /dev/null" ;;
  hotspot3D) cuda_sources=3D.cu openmp_sources=3D.c
    cuda_arguments="512 8 100 $work/power8.txt $work/temperature8.txt /dev/null" openmp_arguments=$cuda_arguments ;;
  lavaMD) cuda_sources="main.c kernel/kernel_gpu_cuda_wrapper.cu util/num/num.c util/timer/timer.c util/device/device.cu"
    openmp_sources="main.c kernel/kernel_cpu.c util/num/num.c util/timer/timer.c"
    cuda_arguments="-boxes1d 8" openmp_arguments="-cores @T -boxes1d 8" ;;
  lud) cuda_sources="cuda/lud.cu cuda/lud_kernel.cu common/common.c" openmp_sources="omp/lud.c omp/lud_omp.c common/common.c"
    cuda_options=(-Icommon) openmp_options=(-Icommon) cuda_arguments="-s 2048" openmp_arguments="-n @T -s 2048" ;;
  nw) cuda_sources=needle.cu openmp_sources=needle.cpp cuda_arguments="4096 10" openmp_arguments="4096 10 @T" ;;
  particlefilter) cuda_sources=ex_particle_CUDA_float_seq.cu openmp_sources=ex_particle_OPENMP_seq.c
    cuda_arguments="-x 128 -y 128 -z 10 -np 10000" openmp_arguments=$cuda_arguments ;;
  pathfinder) cuda_sources=pathfinder.cu openmp_sources=pathfinder.cpp cuda_arguments="1000000 100 20" openmp_arguments="1000000 100" ;;
  srad_v2) directory=srad/srad_v2 cuda_sources=srad.cu openmp_sources=srad.cpp
    cuda_arguments="2048 2048 0 127 0 127 0.5 4" openmp_arguments="2048 2048 0 127 0 127 @T 0.5 4" ;;
  streamcluster) cuda_sources="streamcluster_cuda_cpu.cpp streamcluster_cuda.cu" openmp_sources=streamcluster_omp.cpp
    cuda_arguments="10 20 256 16384 16384 1000 none /dev/null 1" openmp_arguments="10 20 256 16384 16384 1000 none /dev/null @T" ;;
  *) die "no program $1" ;;
  esac
}

make_inputs() {
  [ -f "$work/inputs.done" ] && return
  awk 'BEGIN { srand(7); n = 1000000; print n; for (i = 0; i < n; ++i) print i * 6, 6; print 0; print n * 6
    for (i = 0; i < n * 6; ++i) print int(rand() * n), 1 + int(rand() * 10) }' >"$work/graph.txt"
  awk -v n=$((1024 * 1024)) 'BEGIN { srand(8); for (i = 0; i < n; ++i) print 320 + rand() * 20 }' >"$work/temperature.txt"
  awk -v n=$((1024 * 1024)) 'BEGIN { srand(9); for (i = 0; i < n; ++i) print rand() * 0.01 }' >"$work/power.txt"
  awk -v n=$((512 * 512 * 8)) 'BEGIN { srand(8); for (i = 0; i < n; ++i) print 320 + rand() * 20 }' >"$work/temperature8.txt"
  awk -v n=$((512 * 512 * 8)) 'BEGIN { srand(9); for (i = 0; i < n; ++i) print rand() * 0.01 }' >"$work/power8.txt"
  cat >"$work/compat.h" <<'EOF'
#pragma once
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#endif
EOF
  touch "$work/inputs.done"
}

build_program() { # NAME: products in $here
  describe "$1"
  here=$work/$program/$1
  [ -f "$here/built" ] && return
  rm -rf "$here" && mkdir -p "$here"
  cp -r "$suite/cuda/$directory" "$here/cuda" && find "$here/cuda" -name "*.cu" -exec sed -i 's/<< </<<</g; s/> >>/>>>/g' {} + && cp -r "$suite/openmp/$directory" "$here/openmp"
  local objects
  # shellcheck disable=SC2086 # a list
  objects=$(printf '%s\n' $cuda_sources | sed 's/[.][a-z]*$/.o/' | tr '\n' ' ')
  {
    printf 'app: %s\n\tnvcc $^ -o app -lm\n' "$objects"
    printf '%%.o: %%.c\n\tgcc -std=gnu89 -w -O3 %s -I%s/include -c $< -o $@\n' "${cuda_options[*]}" "$cuda"
    printf '%%.o: %%.cpp\n\tg++ -w -O3 %s -I%s/include -c $< -o $@\n' "${cuda_options[*]}" "$cuda"
    printf '%%.o: %%.cu\n\tnvcc -O3 -arch=sm_75 -include %s %s -c $< -o $@\n' "$work/compat.h" "${cuda_options[*]}"
  } >"$here/cuda/Makefile.bench"
  echo '{"name": "app", "version": "1", "build": {"system": "make", "arguments": ["-f", "Makefile.bench"],
    "install": [{"from": "app", "to": "bin/app"}]}, "isa": ["x86-64-v3"]}' >"$here/cuda/xaas.json"
  "$xaas" build "$here/cuda/xaas.json" --source "$here/cuda" -o "oci:$here/image:ir" --gpu sm_75 -q >"$here/build.log" 2>&1 ||
    { echo "$1: not built: $(grep -m1 error "$here/build.log")"; return 1; }
  "$xaas" deploy "oci:$here/image:ir" -o "rootfs:$here/root" --gpu cpu --format json >"$here/deploy.json" 2>"$here/deploy.log" ||
    { echo "$1: not deployed: $(tail -1 "$here/deploy.log")"; return 1; }
  # shellcheck disable=SC2086 # a list
  (cd "$here/openmp" && clang++-22 -O3 -march=native -fopenmp -w -DOPEN -Wno-everything "${openmp_options[@]}" -x c++ $openmp_sources -o app -lm) 2>"$here/openmp.log" ||
    (cd "$here/openmp" && clang-22 -O3 -march=native -fopenmp -w -DOPEN -std=gnu89 "${openmp_options[@]}" $openmp_sources -o app -lm) 2>"$here/openmp.log" ||
    { echo "$1: OpenMP's version not built: $(grep -m1 error "$here/openmp.log")"; return 1; }
  touch "$here/built"
}

run_cuda() { # THREADS: prints seconds in kernels
  # shellcheck disable=SC2086 # a list
  bwrap --bind "$here/root" / --proc /proc --dev /dev --ro-bind /sys /sys --bind "$work" "$work" --chdir "$here/cuda" \
    --setenv XAAS_KERNEL_THREADS "$1" --setenv XAAS_KERNEL_TIMES "$here/times" \
    /usr/local/bin/app $cuda_arguments >"$here/cuda.out" 2>"$here/cuda.err"
  awk '{ sum += $1 } END { printf "%.6f\n", sum }' "$here/times"
}

run_openmp() { # THREADS: prints seconds in parallel regions
  # shellcheck disable=SC2086 # a list
  (cd "$here/openmp" && OMP_NUM_THREADS=$1 OMP_TOOL_LIBRARIES=$work/regions.so REGION_TIMES=$here/regions \
    GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ./app ${openmp_arguments//@T/$1} >"$here/openmp.out" 2>"$here/openmp.err")
  cat "$here/regions"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

make_inputs
printf '%-16s %7s %10s %10s %8s\n' program threads kernels openmp quotient
for name in "${programs[@]}"; do
  build_program "$name" || continue
  for threads in 1 $(nproc); do
    : >"$here/kernels.s" && : >"$here/openmp.s"
    for ((i = 0; i < rounds; ++i)); do
      run_cuda "$threads" >>"$here/kernels.s" || { echo "$name: $(tail -1 "$here/cuda.err")"; continue 2; }
      run_openmp "$threads" >>"$here/openmp.s" || { echo "$name: OpenMP: $(tail -1 "$here/openmp.err")"; continue 2; }
    done
    a=$(median <"$here/kernels.s") b=$(median <"$here/openmp.s")
    printf '%-16s %7s %10s %10s %8s\n' "$name" "$threads" "$a" "$b" "$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", b / a }')"
  done
done | tee "$work/$program/table"
for threads in 1 $(nproc); do
  awk -v t="$threads" '$2 == t && $5 > 0 { sum += log($5); ++n } END { if (n) printf "geometric mean, %d programs, %d threads: %.2f\n", n, t, exp(sum / n) }' "$work/$program/table"
done
