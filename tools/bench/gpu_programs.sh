#!/bin/bash
# CUDA programs that check their own results, on a real GPU: deployed from an IR image, against the same sources compiled by nvcc.
#
#   tools/bench/gpu_programs.sh prepare DIRECTORY [--gpu sm_90] [--jobs N] [--draw N] [--before XAAS] SUITE [PROGRAM...]
#   tools/bench/gpu_programs.sh run DIRECTORY
#
# The suite is HeCBench, or laid out like it: suite.sh; without names, all whose sources say PASS, or --draw N of them (always
# the same). `prepare` needs a CUDA toolkit with nvcc, clang-22 and bubblewrap, and no GPU. For each program, it puts into
# DIRECTORY: `xaas`, deployed with machine code for the GPU; `ptx`, deployed with --ptxas none, or `before`, deployed by another
# version of xaas; and `nvcc`, made by the program's own makefile. A directory serves one choice of options: what it has is not
# made again.
#
# `run` can be on another machine, which needs the directory, this repository, a GPU with its driver, a C++ compiler and CUPTI (of
# the toolkit, or $CUPTI_PATH). Each program runs with the arguments of its makefile for at most $XAAS_BENCH_SECONDS (20); after
# $XAAS_BENCH_TOTAL (no limit), no further program starts. A library that the driver loads sums the times of each kernel; the
# figure of a kernel is the smallest sum of $XAAS_BENCH_ROUNDS runs (2), interleaved. Kernels that take less than 20 us, all
# launches together, are not compared.
#
# A line for each program: what each variant did (words of cpu_programs.sh), and the times of all its kernels, nvcc's over ours.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tools/bench/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
step=$1 bundle=$2
shift 2

prepare_all() {
  local jobs=1 draw=0
  before=
  gpu=sm_90
  while :; do
    case "${1:-}" in
    --gpu) gpu=$2 ;;
    --jobs) jobs=$2 ;;
    --draw) draw=$2 ;;
    --before) before=$(realpath "$2") ;;
    *) break ;;
    esac
    shift 2
  done
  [ $# -gt 0 ] || usage
  suite=$(realpath "$1")/src
  shift
  [ -d "$suite" ] || die "no directory $suite"
  find_cuda bin/nvcc
  packages clang-22 bubblewrap make perl
  open_bench
  mkdir -p "$bundle"
  bundle=$(realpath "$bundle")
  here=$bundle/prepared-$program
  mkdir -p "$here"
  export suite here bundle xaas before cuda gpu divisor=1 small=1
  export -f prepare arguments_of prepare_one
  local programs=("$@")
  [ $# -gt 0 ] || mapfile -t programs < <(that_check_themselves)
  [ "$draw" -eq 0 ] || mapfile -t programs < <(printf '%s\n' "${programs[@]}" | shuf -n "$draw" --random-source=<(yes))
  show_revision "$suite" | tee "$bundle/revision"
  "$cuda/bin/nvcc" --version | tail -n 2 | head -n 1 >>"$bundle/revision"
  printf '%s\n' "${programs[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'prepare_one {}' | tee "$here/prepared"
  say "$(wc -l <"$here/prepared") programs"
  cut -d' ' -f1 "$here/prepared" | sort | uniq -c | sort -rn
}

prepare_one() { # NAME
  local at=$here/$1 outcome=ready why="" product to=$bundle/programs/$1 directory other=ptx assembler=none
  [ -z "$before" ] || other=before assembler=$cuda/bin/ptxas
  [ ! -s "$at/result" ] || { cat "$at/result"; return 0; }
  rm -rf "$at" "$to"
  prepare "$1"
  directory=$at/source/$1-cuda
  product=$(jq -r ".build.install[0].from" "$at/spec.json") product=${product#*/}
  if ! timeout 600 "$xaas" build "$at/spec.json" --source "$at/source" -o "oci:$at/image:ir" --gpu "$gpu" -q >"$at/build.log" 2>&1; then
    outcome=no-build why=$(grep -m1 -E 'error' "$at/build.log" || tail -n 1 "$at/build.log")
  elif ! timeout 600 "$xaas" deploy "oci:$at/image:ir" --gpu "$gpu" --cpu x86-64-v3 --ptxas "$cuda/bin/ptxas" -o "rootfs:$at/tree" -q --format json >"$at/deploy.json" 2>"$at/deploy.log" ||
    ! timeout 600 "${before:-$xaas}" deploy "oci:$at/image:ir" --gpu "$gpu" --cpu x86-64-v3 --ptxas "$assembler" -o "rootfs:$at/other" --no-cache -q >"$at/deploy.log" 2>&1; then
    outcome=no-deploy why=$(grep -m1 -E 'error' "$at/deploy.log" || tail -n 1 "$at/deploy.log")
  elif [ "$(jq .native_objects "$at/deploy.json")" -ne 0 ]; then
    outcome=no-ir
  elif ! PATH=$cuda/bin:$PATH timeout 600 make -C "$directory" CC=nvcc "ARCH=$gpu" LAUNCHER= >"$at/nvcc.log" 2>&1; then
    outcome=no-nvcc why=$(grep -m1 -E 'error' "$at/nvcc.log" || tail -n 1 "$at/nvcc.log")
  else
    arguments_of "$1" "$product" >"$at/arguments"
    find "$directory" -name '*.o' -delete
    mkdir -p "$to"
    mv "$directory/$product" "$to/nvcc"
    cp "$at/tree/usr/local/bin/app" "$to/xaas"
    cp "$at/other/usr/local/bin/app" "$to/$other"
    # Others are everywhere.
    find "$at/tree" \( -name 'libomp.so.*' -o -name 'libgomp.so.*' \) -exec cp {} "$to/" \;
    cp "$at/arguments" "$to/"
    cp -r "$at/source" "$to/source"
  fi
  printf '%-9s %s\t%s\n' "$outcome" "$1" "$why" >"$at/result.new"
  rm -rf "$at/image" "$at/tree" "$at/other" "$at/source"
  mv "$at/result.new" "$at/result"
  cat "$at/result"
}

build_timer() { # a library that the driver loads into each program
  local cupti=${CUPTI_PATH:-}
  [ -n "$cupti" ] || cupti=$(dirname "$(dirname "$(find / -xdev -name cupti.h -print -quit 2>/dev/null)")")
  [ -e "$cupti/include/cupti.h" ] || die "no CUPTI: set CUPTI_PATH"
  local library includes
  library=$(find "$cupti/" "$cupti/../" -name 'libcupti.so*' -print -quit 2>/dev/null)
  [ -n "$library" ] || die "no libcupti.so below $cupti"
  includes=$(dirname "$(find "$cupti/include/" "${CUDA_PATH:-/usr/local/cuda}/" -name cuda.h -print -quit 2>/dev/null)")
  cat >"$work/timer.cpp" <<'END'
// Sums the times of each kernel and writes them to the file $KERNEL_TIMES: a line each, "NANOSECONDS LAUNCHES NAME". The driver loads
// it by $CUDA_INJECTION64_PATH. Source: CUPTI's documentation, "Activity API" and "Injection".
#include <cupti.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
static std::mutex mutex;
struct Sum { unsigned long long time = 0, launches = 0; };
static std::map<std::string, Sum> sums;
static void CUPTIAPI requested(uint8_t** buffer, size_t* size, size_t* records) {
  *size = 8 << 20;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
  *records = 0;
}
static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  const std::lock_guard lock(mutex);
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      Sum& sum = sums[kernel->name ? kernel->name : "?"];
      sum.time += kernel->end - kernel->start;
      ++sum.launches;
    }
  free(buffer);
}
static void write_sums() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(mutex);
  const char* name = getenv("KERNEL_TIMES");
  FILE* file = name ? fopen(name, "w") : nullptr;
  if (!file)
    return;
  for (const auto& [kernel, sum] : sums)
    fprintf(file, "%llu %llu %s\n", sum.time, sum.launches, kernel.c_str());
  fclose(file);
}
extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(requested, completed);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  atexit(write_sums);
  return 1;
}
END
  c++ -O2 -std=c++17 -shared -fPIC "$work/timer.cpp" -o "$work/timer.so" -I"$cupti/include" -I"$includes" "$library" -Wl,-rpath,"$(dirname "$library")"
}

run_one() { # NAME VARIANT ROUND: prints the outcome
  local at=$bundle/programs/$1 code=0 output=$work/results/$1.$2.$3
  (cd "$at/source/$1-cuda" && export LD_LIBRARY_PATH=$at${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CUDA_INJECTION64_PATH=$work/timer.so KERNEL_TIMES=$output.times &&
    eval "exec timeout -k 5 ${XAAS_BENCH_SECONDS:-20} \"\$at/\$2\" $(cat "$at/arguments")") >"$output" 2>&1 </dev/null || code=$?
  [ -e "$output.times" ] || : >"$output.times"
  judge $code "$output" 0
}

compare() { # NAME VARIANT: sums of the kernels that both have, nvcc's over the variant's: "KERNELS QUOTIENT"; and a line each
  local base=$work/results/$1
  cat "$base".nvcc.*.times >"$work/a"
  cat "$base.$2".*.times >"$work/b"
  awk -v program="$1" -v variant="$2" -v list="$work/kernels" '
    { time = $1; launches = $2; sub(/^[0-9]+ [0-9]+ /, "") }
    NR == FNR { if (!($0 in first) || time < first[$0]) first[$0] = time; count[$0] = launches; next }
    { if (!($0 in second) || time < second[$0]) second[$0] = time; count2[$0] = launches }
    END { for (name in first) if (name in second && count[name] == count2[name] && first[name] >= 20000) {
        ++n; a += first[name]; b += second[name]
        printf "%s\t%s\t%s\t%d\t%d\t%.3f\n", program, variant, name, first[name], second[name], first[name] / second[name] >>list }
      if (n) printf "%d %.3f", n, a / b; else printf "0 -" }' "$work/a" "$work/b"
}

run_all() {
  bundle=$(realpath "$bundle")
  work=${XAAS_BENCH_DIR:-$bundle}
  mkdir -p "$work/results"
  : >"$work/kernels"
  cat "$bundle/revision"
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  build_timer
  local variants=(nvcc xaas ptx before)
  local name variant line round quotients
  for name in $(cd "$bundle/programs" && ls); do
    [ "$SECONDS" -lt "${XAAS_BENCH_TOTAL:-1000000}" ] || { echo "not begun: $name and those after it"; break; }
    line="" quotients=""
    for variant in "${variants[@]}"; do
      [ ! -e "$bundle/programs/$name/$variant" ] || line+="$variant $(run_one "$name" "$variant" 1), "
    done
    for ((round = 2; round <= ${XAAS_BENCH_ROUNDS:-2}; ++round)); do
      case $line in *timeout*) break ;; esac
      for variant in "${variants[@]}"; do
        [ ! -e "$bundle/programs/$name/$variant" ] || run_one "$name" "$variant" "$round" >/dev/null
      done
    done
    for variant in "${variants[@]:1}"; do
      [ ! -e "$bundle/programs/$name/$variant" ] || quotients+=" $variant $(compare "$name" "$variant")"
    done
    printf '%-24s %s kernels and quotient:%s\n' "$name" "$line" "$quotients"
  done | tee "$work/table"
  for variant in "${variants[@]:1}"; do
    awk -F'\t' -v variant="$variant" '$2 == variant { print $6 }' "$work/kernels" | sort -n | awk -v variant="$variant" '
      { q[NR] = $1; sum += log($1) } END { if (NR) printf "%s: %d kernels, geometric mean %.3f, median %.3f, 5 %% below %.3f, least %.3f\n",
        variant, NR, exp(sum / NR), q[int((NR + 1) / 2)], q[int(NR * .05) + 1], q[1] }'
  done
  echo "slowest kernels:"
  sort -t"$(printf '\t')" -k6n "$work/kernels" | head -n 25
}

case $step in
prepare) prepare_all "$@" ;;
run) run_all ;;
*) usage ;;
esac
