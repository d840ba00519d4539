#!/bin/bash
# `xaas init` of real applications from Debian's source packages: the unedited spec builds with values that a user chooses and
# deploys for this machine, `xaas check` finds nothing, and a program of the image runs (for FFTW: one that is linked here
# with the image's library). Reports the seconds of each step.
#
#   tools/bench/init.sh [APPLICATION]...     minimap2 hmmer fftw3 kissfft sundials gromacs; default: all
#
# Needs root once, for source packages (deb-src) and build dependencies.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=()
for each in "$@"; do
  case "$each" in
  minimap2 | hmmer | fftw3 | kissfft | sundials | gromacs) applications+=("$each") ;;
  *) echo "usage: $0 [minimap2|hmmer|fftw3|kissfft|sundials|gromacs]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer fftw3 kissfft sundials gromacs)
open_bench
packages bubblewrap

# Of each: packages, values that are chosen (arguments of build), and what proves that it works below the root $1.
minimap2_packages() { packages libsimde-dev zlib1g-dev; }
minimap2_choices() { :; }
minimap2_proof() {
  contained "$1" "$here" /usr/local/bin/minimap2 -V
}
hmmer_packages() { packages libdivsufsort-dev libsimde-dev autoconf automake libtool; }
hmmer_choices() { echo --config pthreads=on,mpi=off; }
hmmer_proof() {
  cp "$work/$app/source/tutorial/globins4.hmm" "$here/"
  contained "$1" "$here" /usr/local/bin/hmmstat "$here/globins4.hmm" | grep globins4
}
fftw3_packages() { :; }
fftw3_choices() { echo --config single=off,pthreads=on; }
fftw3_proof() { # a transform of a cosine has its two peaks
  cat >"$here/proof.c" <<'END'
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
int main(void) {
  enum { n = 64 };
  double in[n];
  fftw_complex out[n / 2 + 1];
  fftw_plan plan = fftw_plan_dft_r2c_1d(n, in, out, FFTW_ESTIMATE);
  for (int i = 0; i < n; ++i) in[i] = cos(2 * 3.14159265358979323846 * 5 * i / n);
  fftw_execute(plan);
  for (int i = 0; i <= n / 2; ++i)
    if (fabs(out[i][0] - (i == 5 ? n / 2 : 0)) > 1e-9) return 1;
  printf("peak at 5, %s\n", fftw_version);
}
END
  clang-22 "$here/proof.c" -I"$1/usr/local/include" -L"$1/usr/local/lib" -lfftw3 -lm -Wl,-rpath,"$1/usr/local/lib" -o "$here/proof"
  "$here/proof"
}
kissfft_packages() { packages libpng-dev; }
kissfft_choices() { :; }
kissfft_proof() { (cd "$1" && find . -name 'libkissfft*' -type f | grep .); }
sundials_packages() { :; }
sundials_choices() { :; }
sundials_proof() { (cd "$1" && find . -name 'libsundials_cvode.so*' -type f | grep .); }
gromacs_packages() { packages libfftw3-dev libomp-22-dev; }
gromacs_choices() { echo --config simd=AVX2_256; }
gromacs_proof() { contained "$1" "$here" /usr/local/bin/gmx --version | grep -E 'GROMACS version|SIMD instructions'; }

step() { # NAME COMMAND...
  local start=$EPOCHREALTIME
  "${@:2}" >"$here/$1.log" 2>&1 || { tail -20 "$here/$1.log" >&2; die "$app: $1 failed: $here/$1.log"; }
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f\n", b - a }' >"$here/$1.time"
}

rows=("application|points|init, s|build, s|deploy, s|check, s|proof")
for app in "${applications[@]}"; do
  say "$app"
  here=$work/$app/$program-init
  mkdir -p "$here"
  "${app}_packages"
  once "$work/$app/source" debian_source "$app"
  rm -rf "$here"/{ir,deployed,root}
  step init "$xaas" init "$work/$app/source" -o "$here/xaas.json" --force
  read -ra choices <<<"$("${app}_choices")"
  step build "$xaas" build "$here/xaas.json" --source "$work/$app/source" -o "oci:$here/ir:ir" "${choices[@]}"
  step deploy deploy_cold "oci:$here/ir:ir" "oci:$here/deployed:here"
  step check "$xaas" check "oci:$here/deployed:here"
  unpack "$here/deployed" here "$here/root"
  proof=$("${app}_proof" "$here/root" | tail -1 | tr -s ' ') || die "$app: the proof failed"
  rows+=("$app|$(spec_json "$here/xaas.json" | jq '.specializations | length')|$(cat "$here/init.time")|$(cat "$here/build.time")|$(cat "$here/deploy.time")|$(cat "$here/check.time")|$proof")
done
printf '\n'
printf '%s\n' "${rows[@]}" | column -t -s '|'
