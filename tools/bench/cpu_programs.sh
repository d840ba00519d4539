#!/bin/bash
# CUDA programs that check their own results, on the CPU: the *-cuda directories of HeCBench, or of a suite that is laid out like it.
#
#   tools/bench/cpu_programs.sh [--jobs N] [--openmp] SUITE [PROGRAM...]      SUITE/src/PROGRAM-cuda; by default all whose sources say PASS
#
# Each program is built with `xaas build`, deployed with --gpu cpu, and run with the arguments of its Makefile's rule `run` for
# at most $XAAS_BENCH_SECONDS (60). An argument that is a number of repetitions, as the source or the usage text shows, becomes 1.
# With $XAAS_BENCH_DIVISOR, the other numbers from 1024 on are divided by it: the arguments are for GPUs. Where a program reports a
# failure, they are not divided; where it does not end in time, they are divided by 16 times as much, and those from 16 on by 16.
# $XAAS_BENCH_GPU is the architecture of the IR (sm_75).
# A line for each program; the last lines count:
#
#   pass       it prints PASS (or pass, success) and reports no failure
#   FAIL       it reports a failure or crashes: look at it
#   ended      it ends with 0 and judges nothing
#   refused    it reports a failure and has refused kernels, which the deploy named
#   timeout    not ended in time
#   no-input   the suite lacks a file that the arguments name
#   no-ir      Clang does not take the source, so that nvcc compiled the kernels: they have no IR
#   no-deploy  the deploy refuses it by name
#   no-build   it does not build, mostly since this toolkit's headers do not take the source
#
# With --openmp, each program that passes or ends is timed against its OpenMP version (SUITE/src/PROGRAM-omp), if there is one that
# does so: the seconds in kernels and in parallel regions (regions.c), one run each, on one thread. A table of the quotients follows:
# above 1, the kernels are faster. One run among other jobs shows which programs are slow, not how fast they are; and some OpenMP
# versions do less on one thread.
#
# Figures are kept: lib.sh. Needs a CUDA toolkit ($CUDA_PATH or /usr/local/cuda), clang-22, bubblewrap, and libomp-22-dev for --openmp.
# shellcheck source=tools/bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tools/bench/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"
jobs=1 openmp=
while :; do
  case ${1:-} in
  --jobs) jobs=$2 && shift 2 ;;
  --openmp) openmp=1 && shift ;;
  -*) set -- && break ;;
  *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "usage: $0 [--jobs N] [--openmp] SUITE [PROGRAM...]" >&2; exit 2; }
suite=$(realpath "$1")/src
shift
[ -d "$suite" ] || { echo "$0: no directory $suite" >&2; exit 2; }
find_cuda include
packages clang-22 bubblewrap make perl
open_bench
show_revision "$suite"
here=$work/$program/cpu_programs${openmp:+_openmp}
mkdir -p "$here"
if [ -n "$openmp" ]; then
  openmp_regions
  export XAAS_KERNEL_THREADS=1
fi
export work openmp suite here xaas cuda seconds="${XAAS_BENCH_SECONDS:-60}" divisor="${XAAS_BENCH_DIVISOR:-1}" gpu="${XAAS_BENCH_GPU:-sm_75}"

time_openmp() { # NAME ARGUMENTS: the quotient of the times, or nothing
  local at=$here/$1
  [ -f "$suite/$1-omp/Makefile.aomp" ] && [ -s "$at/times" ] || return 0
  cp -r "$suite/$1-omp" "$at/source/"
  (cd "$at/source/$1-omp" && make -f Makefile.aomp clean && make -f Makefile.aomp program=app-omp DEVICE=cpu CC=clang++-22 EXTRA_CFLAGS=-march=native) \
    >"$at/openmp.log" 2>&1 || return 0
  (cd "$at/source/$1-omp" && eval "exec env GLIBC_TUNABLES=glibc.malloc.hugetlb=1 OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 OMP_TOOL_LIBRARIES=\"\$work/regions.so\" \
    REGION_TIMES=\"\$at/regions\" timeout -k 5 $((seconds * 4)) ./app-omp $2") >"$at/openmp.output" 2>&1 </dev/null || return 0
  case $(judge 0 "$at/openmp.output" 0) in pass | ended) ;; *) return 0 ;; esac
  [ -s "$at/regions" ] || return 0
  awk -v openmp="$(cat "$at/regions")" -v name="$1" '{ sum += $1 } END { if (sum > 0 && openmp > 0) printf "%s\t%.6f\t%.6f\t%.3g\n", name, sum, openmp, openmp / sum }' "$at/times"
}

one() { # NAME
  local at=$here/$1 outcome why="" code=0 product
  [ ! -s "$at/result" ] || { cat "$at/result"; return 0; }
  rm -rf "$at"
  prepare "$1"
  product=$(jq -r ".build.install[0].from" "$at/spec.json") product=${product#*/}
  local refused=0
  if ! timeout 600 "$xaas" build "$at/spec.json" --source "$at/source" -o "oci:$at/image:ir" --gpu "$gpu" -q >"$at/build.log" 2>&1; then
    outcome=no-build why=$(grep -m1 -E 'error' "$at/build.log" || tail -n 1 "$at/build.log")
  elif ! timeout 600 "$xaas" deploy "oci:$at/image:ir" --gpu cpu -o "rootfs:$at/root" -q --format json >"$at/deploy.json" 2>"$at/deploy.log"; then
    outcome=no-deploy why=$(grep -m1 -E 'error' "$at/deploy.log" || tail -n 1 "$at/deploy.log")
  else
    refused=$(jq '[.kernels[]? | select(.form == "refused")] | length' "$at/deploy.json")
    local arguments start divide=$divisor small=1
    while :; do
      arguments=$(divisor=$divide small=$small arguments_of "$1" "$product") start=$SECONDS code=0
      # Large pages for malloc() save the host's side half of its time.
      (cd "$at/source/$1-cuda" && export GLIBC_TUNABLES=glibc.malloc.hugetlb=1 XAAS_KERNEL_TIMES="$at/times" && eval "exec timeout -k 5 $seconds \"\$at/root/usr/local/bin/app\" $arguments") \
        >"$at/output" 2>&1 </dev/null || code=$?
      outcome=$(judge $code "$at/output" "$refused")
      # Some programs need their numbers to be larger than others, some smaller.
      case $outcome:$divide in
      FAIL:1) break ;;
      "FAIL:$divisor") divide=1 ;;
      "timeout:$divisor") divide=$((divisor * 16)) small=16 ;;
      pass:*) break ;;
      *) [ "$small" -eq 1 ] || outcome=timeout; break ;; # the smaller numbers may be none that it can use
      esac
    done
    if [ "$(jq '(.kernels | length) == 0 and .native_objects > 0' "$at/deploy.json")" = true ]; then
      outcome=no-ir
    elif [ "$outcome" = FAIL ] && lacks_input "$1" "$arguments"; then
      outcome=no-input
    fi
    why="$(jq -r '[.kernels[]?.form] | group_by(.) | map("\(length) \(.[0])") | join(", ")' "$at/deploy.json"); exit code $code, $((SECONDS - start)) s;$arguments"
  fi
  case $openmp$outcome in 1pass | 1ended) time_openmp "$1" "$arguments" >"$at/quotient" ;; esac
  printf '%-9s %s\t%s\n' "$outcome" "$1" "$why" >"$at/result.new"
  mv "$at/result.new" "$at/result"
  rm -rf "$at/image" "$at/root"
  cat "$at/result"
}
export -f prepare arguments_of lacks_input judge time_openmp one

programs=("$@")
[ $# -gt 0 ] || mapfile -t programs < <(that_check_themselves)
printf '%s\n' "${programs[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'one {}' | tee "$here/results"
say "$(wc -l <"$here/results") programs"
cut -d' ' -f1 "$here/results" | sort | uniq -c | sort -rn
if [ -n "$openmp" ]; then
  say "seconds in kernels, in OpenMP's parallel regions, quotient"
  for name in "${programs[@]}"; do cat "$here/$name/quotient" 2>/dev/null || true; done | sort -t"$(printf '\t')" -k4,4g | tee "$here/quotients"
  awk -v all="${#programs[@]}" '{ sum += log($3 / $2); ++n } END { if (n) printf "geometric mean of %d programs: %.2f; %d others\n", n, exp(sum / n), all - n }' "$here/quotients"
fi
