#!/bin/bash
# FFTW from Debian's source package, built in two ways: with CMake, which selects the instruction set at build time, and with
# configure, which builds codelets for each set and selects at run time. For both: the IR build beside native builds, sharing,
# and FFTW's own tests of the deployed program for each configuration that this CPU runs. Then the second library again,
# deployed for a CPU without AVX and tested on one that qemu emulates.
#
#   tools/bench/fftw.sh [--problems N] [fftw|fftw-autotools]...
#
# N: rounds of random problems of FFTW's check.pl, 30 as in `make check`. Needs root once, for source packages (deb-src) and
# build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
problems=30
names=()
while [ $# -gt 0 ]; do
  case "$1" in
  --problems) problems=$2; shift 2 ;;
  fftw | fftw-autotools) names+=("$1"); shift ;;
  *) echo "usage: $0 [--problems N] [fftw|fftw-autotools]..." >&2; exit 2 ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=(fftw fftw-autotools)
open_bench
packages bubblewrap cmake make ninja-build qemu-user
source=$work/fftw/source

in_build() { # NAME: sets what the functions below use
  name=$1
  app=$work/fftw/$name
  here=$app/$program
  spec=$root/specs/applications/$name.json
  mkdir -p "$here"
}
values() { tr , ' ' <<<"$1"; } # of a configuration's id

native_build() { # CONFIGURATION PREFIX: for the CPU of this machine
  local prefix=$2 arguments
  # shellcheck disable=SC2046 # words
  mapfile -t arguments < <(spec_arguments "$spec" $(values "$1"))
  rm -rf "$prefix.objects"
  mkdir "$prefix.objects"
  cd "$prefix.objects"
  if [ "$name" = fftw ]; then
    cmake -S "$source" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_C_FLAGS=-march=native -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_INSTALL_PREFIX="$prefix" "${arguments[@]}"
    cmake --build .
    cmake --install .
  else
    "$source/configure" CC="clang-22 -march=native" --prefix="$prefix" "${arguments[@]}"
    make -j "$(nproc)"
    make install
  fi
  cd ..
  rm -rf "$prefix.objects"
}
ir_build() { # with an empty cache
  rm -rf "$here/cache" "$here/image"
  XAAS_CACHE_DIR=$here/cache "$xaas" build "$spec" --source "$source" -o "oci:$here/image:ir" -j "$(nproc)" --format json \
    >"$here/ir.json"
}
configurations() { jq -r '.configurations[].id' "$here/ir.json"; }
tag() { tr ,= _- <<<"$1"; } # of a configuration's id
deploy() { # CONFIGURATION
  local choices
  # shellcheck disable=SC2046 # words
  mapfile -t choices < <(printf -- '--set\n%s\n' $(values "$1"))
  deploy_cold "oci:$here/image:ir" "oci:$here/image:$(tag "$1")" "${choices[@]}"
}

# own_tests ROUNDS COMMAND DIRECTORY: what `make check` does, with a `bench` that is the deployed one.
own_tests() {
  mkdir "$3"
  script_of "$3/bench" "$2" contained
  perl -w "$source/tests/check.pl" -r -c="$1" -v "$3/bench" >"$3/log" 2>&1 || die "FFTW's tests failed: $3/log"
  perl -w "$source/tests/check.pl" -r -c="$1" -v --nthreads=2 "$3/bench" >>"$3/log" 2>&1 || die "FFTW's tests failed: $3/log"
  # check.pl ends with 0 when a signal ended the program
  if grep -q -x -e hangup -e interrupted -e killed "$3/log"; then die "FFTW's tests were interrupted: $3/log"; fi
  verified "$3" >"$3/verified"
  [ "$(cat "$3/verified")" -gt 0 ] || die "FFTW's tests did nothing: $3/log"
}
verified() { grep -c -E '^[^ ]+ [0-9.e+-]+ [0-9.e+-]+ [0-9.e+-]+$' "$1/log"; } # problems, each with its three errors

for build in "${names[@]}"; do
  in_build "$build"
  say "$name: sources"
  once "$source" debian_source fftw3
  say "$name: IR build"
  timed "$here/ir.build" ir_build
  for configuration in $(configurations); do
    say "$name, $configuration"
    timed "$app/native/$configuration.build" again "$app/native/$configuration" native_build "$configuration"
    # shellcheck disable=SC2046 # words
    if runs_here "oci:$here/image:ir" $(values "$configuration"); then
      timed "$here/$configuration.deploy" deploy "$configuration"
      once "$here/rootfs/$configuration" unpack "$here/image" "$(tag "$configuration")"
      once "$here/tests/$configuration" own_tests "$problems" \
        "contained '$here/rootfs/$configuration' '$here' /usr/local/bin/fftw-bench"
    else
      echo "not for this CPU"
    fi
  done
done

without_avx() { # the library that chooses at run time, on a CPU that has less than its machine flags name
  local roots=$here/rootfs/nehalem
  deploy_cold "oci:$here/image:ir" "oci:$here/image:nehalem" --cpu nehalem -q >/dev/null
  once "$roots" unpack "$here/image" nehalem
  own_tests 2 "qemu-x86_64 -cpu Nehalem -L '$roots' '$roots/usr/local/bin/fftw-bench'" "$1"
}
for build in "${names[@]}"; do
  in_build "$build"
  [ "$name" = fftw-autotools ] || continue
  say "$name on an emulated CPU without AVX"
  once "$here/tests/nehalem" without_avx
done

figures() {
  echo "configuration|native build s|CPU s|deploy s|CPU s|deployed image|problems verified"
  local configuration native deploy cells
  for configuration in $(configurations); do
    native=$app/native/$configuration.build deploy=$here/$configuration.deploy
    cells=("${configuration//precision=/}" "$(wall "$native")" "$(cpu "$native")")
    [ ! -e "$deploy" ] || cells+=("$(wall "$deploy")" "$(cpu "$deploy")"
      "$(image_bytes "oci:$here/image:$(tag "$configuration")" | human)" "$(cat "$here/tests/$configuration/verified")")
    (IFS='|'; echo "${cells[*]}")
  done
}
for build in "${names[@]}"; do
  in_build "$build"
  say "$name: $machine, $program"
  figures | print_columns
  natives=$(for configuration in $(configurations); do cpu "$app/native/$configuration.build"; done | sum)
  echo "native builds of all  $natives CPU s"
  echo "IR build of all       $(cpu "$here/ir.build") CPU s, $(wall "$here/ir.build") s; ratio $(ratio "$(cpu "$here/ir.build")" "$natives")"
  "$xaas" inspect "oci:$here/image:ir" --format json | jq -r '.sharing | "units \(.units), \(.unit_bytes) bytes; " +
    "IR modules \(.modules), \(.module_bytes) bytes, stored in \(.stored_bytes)"'
  if [ -e "$here/tests/nehalem" ]; then echo "on an emulated Nehalem  $(cat "$here/tests/nehalem/verified") problems verified"; fi
done
