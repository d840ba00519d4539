#!/bin/bash
# Applications with MPI off and on as configurations, from Debian's source packages: HMMER (C, configure), MUMPS (Fortran and
# C, make) and LAMMPS (C++, CMake in a directory beside the sources). For each: the IR build beside a native build of each
# configuration; the share of IR, also in Fortran; what the configurations share. Then the deployed programs run HMMER's test
# suite, MUMPS' examples and LAMMPS' benchmark problems; with MPI, under mpirun with two ranks, each in the deployed image.
#
#   tools/bench/mpi.sh [hmmer|mumps|lammps]...     default: all
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
# shellcheck disable=SC2034 # settings of an application are read by name
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=()
for name in "$@"; do
  case "$name" in
  hmmer | mumps | lammps) applications+=("$name") ;;
  *) echo "usage: $0 [hmmer|mumps|lammps]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(hmmer mumps lammps)
open_bench
packages bubblewrap mpich libmpich-dev

# Debian has a name for MPICH's wrappers beside the one that any MPI library may have.
export MPICH_CC=clang-22 MPICH_CXX=clang++-22 MPICH_FC=flang-22

# The machine's namespaces are where ranks meet, and daemons and their clients.
in_image() { # ROOT PROGRAM ARGUMENT...: in place of this shell
  exec bwrap --die-with-parent --bind "$1" / --proc /proc --dev-bind /dev /dev --ro-bind /sys /sys --bind "$work" "$work" \
    --dir /tmp -- "/usr/local/bin/$2" "${@:3}"
}
script_in_image() { script_of "$1" "work='$work'; in_image '$2' ${3:-}" in_image; } # FILE ROOT [PROGRAM]
new_directory() { mkdir "${!#}" && "$@"; } # FUNCTION ARGUMENT... DIRECTORY
two_ranks() { mpirun.mpich -n 2 "$here/in-on" "$@"; } # PROGRAM ARGUMENT...

hmmer_configurations=() mumps_configurations=() # all
hmmer_packages() { packages libdivsufsort-dev libsimde-dev autoconf automake libtool python3; }
hmmer_native() { # MPI PREFIX: its objects stay, for what its test suite has besides the installed programs
  local options=(--disable-mpi CC="clang-22 -march=native")
  [ "$1" = off ] || options=(--enable-mpi CC="mpicc.mpich -march=native")
  rm -rf "$2.objects"
  cp -r "$source" "$2.objects"
  cd "$2.objects"
  AUTOHEADER=true autoreconf -fi
  ./configure "${options[@]}" --prefix="$2" --enable-threads --enable-sse
  make -j"$(nproc)"
  make install
}
# The lines of its test suite that run installed programs; what it calls unit tests are programs that nothing installs.
hmmer_tests() { # MPI DIRECTORY
  local program objects=$app/native-mpi/$1.objects
  mkdir -p "$2/build/src" "$2/build/easel"
  ln -s "$objects/easel/miniapps" "$2/build/easel/miniapps"
  ln -s "$objects/src/hmmc2" "$2/build/src/" # a client of the deployed hmmpgmd
  for program in "$here/rootfs/$1/usr/local/bin"/*; do
    script_in_image "$2/build/src/$(basename "$program")" "$here/rootfs/$1" "$(basename "$program")"
  done
  grep -v -e _utest@ -e @src/itest_ "$source/testsuite/testsuite.sqc" >"$2/testsuite.sqc"
  (cd "$2" && perl "$source/easel/devkit/sqc" 1 testsuite.sqc build "$source") >"$2/log" 2>&1 || true
  grep -x 'All [0-9]* exercises at level <= 1 passed\.' "$2/log" >"$2/passed" ||
    { grep -e FAILED "$2/log" >&2; die "HMMER's test suite failed, MPI $1: $2/log"; }
}
hmmer_ranks() { # DIRECTORY: the result of two ranks (HMMER's master and a worker) is that of the native program without MPI
  "$app/native-mpi/off/bin/hmmemit" -N 2000 --seed 11 "$source/tutorial/globins4.hmm" >"$1/sequences.fa"
  "$app/native-mpi/off/bin/hmmsearch" "$source/tutorial/globins4.hmm" "$1/sequences.fa" | grep -v '^#' >"$1/native"
  two_ranks hmmsearch --mpi "$source/tutorial/globins4.hmm" "$1/sequences.fa" 2>"$1/errors" | grep -v '^#' >"$1/deployed"
  [ -s "$1/native" ] || die "hmmsearch printed nothing"
  cmp "$1/native" "$1/deployed"
  echo "hmmsearch --mpi: equal to the native build's ($(wc -c <"$1/native") bytes)" >"$1/passed"
}

mumps_packages() { packages flang-22 liblapack-dev libopenblas-dev libscotch-dev libscalapack-mpich-dev; }
# flang for Debian's mpifort, which adds what gfortran was given for MPICH.
plain_flang() {
  local argument arguments=()
  for argument in "$@"; do
    case "$argument" in
    -ffile-prefix-map=* | -fstack-protector-strong | -fallow-*) ;;
    *) arguments+=("$argument") ;;
    esac
  done
  exec flang-22 "${arguments[@]}"
}
mumps_native() { # MPI PREFIX: with the commands of its spec
  local phase
  script_of "$app/plain-flang" plain_flang plain_flang
  rm -rf "$2.objects"
  cp -r "$source" "$2.objects"
  (
    cd "$2.objects"
    export CC="clang-22 -march=native" FC="flang-22 -march=native" JOBS PREFIX=$2
    JOBS=$(nproc)
    for argument in $(spec_arguments "$spec" "mpi=$1"); do export "${argument?}"; done
    export MPICH_FC=$app/plain-flang
    [ "$1" = off ] || MPICC+=" -march=native" MPIFC+=" -march=native"
    for phase in configure build install; do bash -c "$(spec_json "$spec" | jq -r ".build.$phase")"; done
  )
  rm -rf "$2.objects"
}
# What the examples print as solution is known: README of the examples. Two of them save what they work on, and go on with it.
mumps_examples() { # DIRECTORY COMMAND...
  local program printed
  for program in dsimpletest dsimpletest_save_restore c_example c_example_save_restore; do
    printed=$1/$program
    "${@:2}" "$program" <"$source/examples/input_simpletest_real" >"$printed" 2>"$printed.errors" || die "$program failed: $printed"
    awk -v last="$(case "$program" in d*) echo 5 ;; c*) echo 2 ;; esac)" '
      /Solution is/ { sub(/.*Solution is *:? */, ""); gsub(/[()]/, ""); text = $0; more = 1; next }
      more && NF && /^[ 0-9.E+-]*$/ { text = text " " $0; next }
      { more = 0 }
      END {
        n = split(text, value)
        if (n != last) exit 1
        for (i = 1; i <= n; i++) if (value[i] - i > 1e-6 || i - value[i] > 1e-6) exit 1
      }' "$printed" || die "$program prints no solution, or a wrong one: $printed"
    echo "$program"
  done >"$1/passed.new"
  echo "$(wc -l <"$1/passed.new") examples" >"$1/passed"
}
mumps_tests() { mumps_examples "$2" "$here/in-$1"; } # MPI DIRECTORY
mumps_ranks() { mumps_examples "$1" two_ranks; } # DIRECTORY

lammps_packages() { packages cmake ninja-build libomp-22-dev; }
lammps_native() { # MPI PREFIX
  local arguments
  mapfile -t arguments < <(spec_arguments "$spec" "mpi=$1" openmp=off)
  rm -rf "$2.objects"
  cmake -S "$source/cmake" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS=-march=native -DCMAKE_CXX_FLAGS=-march=native -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" \
    "${arguments[@]}"
  cmake --build "$2.objects" -j "$(nproc)"
  cmake --install "$2.objects"
  rm -rf "$2.objects"
}
lammps_configurations=(--config mpi=off,isa=x86-64 --config mpi=on,isa=x86-64) # of the weakest ISA level
# lammps_problems DIRECTORY NATIVE DEPLOYED: what both commands print of the problems must be equal, times aside. The last digit
# printed is one that the order of sums may change, but the order is the same.
lammps_problems() {
  local problem kind
  for problem in lj chain eam chute rhodo; do
    for kind in native deployed; do
      mkdir "$1/$problem.$kind"
      (cd "$1/$problem.$kind" && cp "$source"/bench/{data.*,*.eam} . &&
        bash -c "$([ $kind = native ] && echo "$2" || echo "$3") -in '$source/bench/in.$problem'") >"$1/$problem.$kind.log" 2>&1 ||
        die "LAMMPS, $kind, failed: $1/$problem.$kind.log"
      rm -r "${1:?}/$problem.$kind"
      grep -v -i -e time -e performance -e 'CPU use' -e '|' -e 'seconds' -e memory "$1/$problem.$kind.log" |
        sed 's/CPU = .*//' >"$1/$problem.$kind"
    done
    grep -q '^Step\|Step *[0-9]' "$1/$problem.native" || die "LAMMPS printed no steps: $1/$problem.native.log"
    cmp "$1/$problem.native" "$1/$problem.deployed"
  done
  echo "5 problems equal" >"$1/passed"
}
lammps_tests() { # MPI DIRECTORY
  lammps_problems "$2" "'$app/native-mpi/$1/bin/lmp'" "'$here/in-$1' lmp"
}
lammps_ranks() { # DIRECTORY
  lammps_problems "$1" "mpirun.mpich -n 2 '$app/native-mpi/on/bin/lmp'" "mpirun.mpich -n 2 '$here/in-on' lmp"
  grep -q '2 by 1 by 1\|1 by 2 by 1\|1 by 1 by 2' "$1/lj.deployed" || die "not two ranks: $1/lj.deployed.log"
}

ir_build() { # with an empty cache
  local -n configurations=${name}_configurations
  rm -rf "$here/cache" "$here/image"
  XAAS_CACHE_DIR=$here/cache "$xaas" build "$spec" --source "$source" -o "oci:$here/image:ir" -j "$(nproc)" --format json \
    "${configurations[@]}" >"$here/ir.json"
}
deploy() { deploy_cold "oci:$here/image:ir" "oci:$here/image:$1" --set "mpi=$1"; } # MPI

in_application() { # NAME: sets what the functions above use
  name=$1
  app=$work/$name
  here=$app/$program/mpi
  source=$app/source
  spec=$root/specs/applications/$name.json
  mkdir -p "$here"
}

for application in "${applications[@]}"; do
  in_application "$application"
  say "$name: sources"
  "${name}_packages"
  once "$source" debian_source "$name"
  say "$name: native build without MPI, IR build, native build with MPI"
  timed "$app/native-mpi/off.build" again "$app/native-mpi/off" "${name}_native" off
  timed "$here/ir.build" ir_build
  timed "$app/native-mpi/on.build" again "$app/native-mpi/on" "${name}_native" on
  for mpi in off on; do
    say "$name, MPI $mpi: deployed image, its tests"
    timed "$here/$mpi.deploy" deploy "$mpi"
    once "$here/rootfs/$mpi" unpack "$here/image" "$mpi"
    script_in_image "$here/in-$mpi" "$here/rootfs/$mpi"
    once "$here/tests/$mpi" new_directory "${name}_tests" "$mpi"
  done
  say "$name: two ranks"
  once "$here/tests/ranks" new_directory "${name}_ranks"
done

figures() {
  echo "MPI|native build s|CPU s|deploy s|CPU s|deployed image|checks|two ranks"
  local mpi cells
  for mpi in off on; do
    cells=("$mpi" "$(wall "$app/native-mpi/$mpi.build")" "$(cpu "$app/native-mpi/$mpi.build")"
      "$(wall "$here/$mpi.deploy")" "$(cpu "$here/$mpi.deploy")" "$(image_bytes "oci:$here/image:$mpi" | human)"
      "$(cat "$here/tests/$mpi/passed")" "$([ $mpi = off ] || cat "$here/tests/ranks/passed")")
    (IFS='|'; echo "${cells[*]}")
  done
}
for application in "${applications[@]}"; do
  in_application "$application"
  say "$name: $machine, $program"
  figures | print_columns
  natives=$(for mpi in off on; do cpu "$app/native-mpi/$mpi.build"; done | sum)
  echo "native builds of both $natives CPU s"
  echo "IR build of all       $(cpu "$here/ir.build") CPU s, $(wall "$here/ir.build") s; ratio $(ratio "$(cpu "$here/ir.build")" "$natives")"
  "$xaas" inspect "oci:$here/image:ir" --format json | jq -r '
    "units \(.sharing.units), IR modules \(.sharing.modules); configurations \(.configurations | length)",
    (.configurations[] | "\(.id): \(.units) units, \(.native_objects) native objects; bytes to fetch \(.transfer.bytes), shared with other configurations \(.transfer.shared_bytes)")'
done
