#!/bin/bash
# LTO on every application of specs/applications that runs without a GPU, and on this repository's examples. Each is built for
# one configuration, deployed for this machine with and without --lto, and run; both must print the same. Then a table: units
# with LTO, and units without and why.
#
#   tools/bench/lto.sh [APPLICATION]...     default: all
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh. For
# run times see applications.sh.
# shellcheck disable=SC2034 # settings of an application are read by name
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
all=(soft-spheres lapack fftw fftw-autotools minimap2 hmmer mumps btllib mmseqs2 lammps gromacs)
applications=("$@")
[ ${#applications[@]} -gt 0 ] || applications=("${all[@]}")
for application in "${applications[@]}"; do
  [[ " ${all[*]} " == *" $application "* ]] || { echo "usage: $0 [${all[*]}]..." >&2; exit 2; }
done
open_bench
packages bubblewrap

# Of each application: its packages; the configuration that is built, where there are several; and in NAME_run the runs of
# PROGRAM... in $data, whose output is a function of the input. What differs from run to run is filtered.
cmake_packages=(cmake ninja-build)

soft_spheres_source() { cp -r "$root/examples/soft-spheres" "$1"; }
soft_spheres_packages() { packages "${cmake_packages[@]}" libomp-22-dev; }
soft_spheres_run() { "$@" /usr/local/bin/soft-spheres | grep '^checksum '; }

lapack_packages() { packages "${cmake_packages[@]}" flang-22; }
lapack_run() {
  local test
  for test in xlintstd:dtest.in xlintsts:stest.in xeigtstd:svd.in; do
    "$@" "/usr/local/bin/${test%%:*}" <"$work/lapack/source/TESTING/${test#*:}" | grep -v -i -e second -e time
  done
}

fftw_packages() { packages "${cmake_packages[@]}"; }
fftw_configuration=(precision=double,simd=AVX2)
fftw_run() { # errors against a definition, of every codelet size and of primes
  local size
  for size in $(seq 1 64) 97 128 243 625 1024 1331 4096; do
    "$@" /usr/local/bin/fftw-bench --verify "$size" -oestimate | cut -d' ' -f1
    "$@" /usr/local/bin/fftw-bench --verify "r$size" -oestimate | cut -d' ' -f1
  done
}
fftw_autotools_package=fftw3 fftw_package=fftw3
fftw_autotools_packages() { packages make; }
fftw_autotools_configuration=(precision=double,codelets=x86)
fftw_autotools_run() { fftw_run "$@"; }

minimap2_packages() { packages libsimde-dev zlib1g-dev; }
minimap2_run() { "$@" /usr/local/bin/minimap2 -a -t 1 "$source/test/MT-human.fa" "$source/test/MT-orang.fa" | grep -v '^@PG'; }

hmmer_packages() { packages libdivsufsort-dev libsimde-dev autoconf automake libtool; }
hmmer_configuration=(mpi=off)
hmmer_run() {
  "$@" /usr/local/bin/hmmemit -N 500 --seed 11 "$source/tutorial/globins4.hmm" >"$data/sequences.fa"
  "$@" /usr/local/bin/hmmsearch --cpu 0 "$source/tutorial/globins4.hmm" "$data/sequences.fa" | grep -v '^#'
}

mumps_packages() { packages flang-22 liblapack-dev libopenblas-dev libscotch-dev libscalapack-mpich-dev; }
mumps_run() {
  local program
  for program in dsimpletest c_example; do
    "$@" "/usr/local/bin/$program" <"$source/examples/input_simpletest_real" | grep -i -A 2 'solution'
  done
}

btllib_packages() { packages libcpptoml-dev libsdsl-dev meson ninja-build pkg-config; }
btllib_run() { "$@" /usr/local/bin/indexlr -k 32 -w 100 -t 1 --long --id --len --pos --strand "$source/tests/indexlr.fa"; }

mmseqs2_packages() { packages "${cmake_packages[@]}" libbz2-dev libc++-22-dev libc++abi-22-dev libgzstream-dev libsimde-dev libxxhash-dev libzstd-dev zlib1g-dev; }
mmseqs2_run() {
  local mmseqs=("$@" /usr/local/bin/mmseqs) examples=$source/examples
  "${mmseqs[@]}" createdb "$examples/QUERY.fasta" "$data/query" >&2
  "${mmseqs[@]}" createdb "$examples/DB.fasta" "$data/target" >&2
  "${mmseqs[@]}" prefilter "$data/query" "$data/target" "$data/pref" -s 4 --threads 1 >&2
  "${mmseqs[@]}" align "$data/query" "$data/target" "$data/pref" "$data/align" -a --threads 1 >&2
  cat "$data/align"
}

lammps_packages() { packages "${cmake_packages[@]}" libomp-22-dev; }
lammps_configuration=(mpi=off,openmp=off)
lammps_run() {
  "$@" /usr/local/bin/lmp -log none -in "$source/bench/in.lj" |
    grep -v -i -e time -e performance -e 'CPU use' -e '|' -e seconds -e memory
}

gromacs_packages() { packages "${cmake_packages[@]}"; }
gromacs_run() { # two trajectories differ; what it knows of files and residues does not
  "$@" /usr/local/bin/gmx -quiet help commands
  "$@" /usr/local/bin/gmx -quiet dump -s "$source/src/gromacs/gmxpreprocess/tests/spc216.tpr" 2>/dev/null || true
}

in_application() { # NAME: sets what the functions below use
  app=$1
  id=${1//-/_}
  here=$work/lto/$app/$program
  spec=$root/specs/applications/$app.json
  source=$work/$app/source
  mkdir -p "$here"
}
fetch() { # DIRECTORY
  local package=${id}_package
  if declare -F "${id}_source" >/dev/null; then "${id}_source" "$1"; else debian_source "${!package:-$app}" "$1"; fi
}
ir_build() {
  local points="${id}_configuration[@]" configuration
  local arguments=("$source")
  if [ -e "$spec" ]; then
    arguments=("$spec" --source "$source")
    spec_json "$spec" | jq -e '.isa == []' >/dev/null || arguments+=(--isa "$("$xaas" detect --format json -q | jq -r .cpu.level)")
  fi
  rm -rf "$here/image" "$here/cache"
  for configuration in "${!points:-}"; do
    [ -z "$configuration" ] || arguments+=(--config "$configuration")
  done
  XAAS_CACHE_DIR=$here/cache "$xaas" build "${arguments[@]}" -o "oci:$here/image:ir"
}
deploy_both() { # DIRECTORY
  mkdir "$1"
  XAAS_CACHE_DIR=$here/cache "$xaas" deploy "oci:$here/image:ir" -o "rootfs:$1/plain" -q
  XAAS_CACHE_DIR=$here/cache "$xaas" deploy "oci:$here/image:ir" -o "rootfs:$1/lto" --lto -q --format json >"$1/lto.json"
}
outputs() { # DIRECTORY
  local kind
  mkdir "$1"
  for kind in plain lto; do
    data=$1/data
    rm -rf "$data" && mkdir "$data"
    "${id}_run" in_root "$here/roots/$kind" >"$1/$kind" 2>"$1/$kind.errors" || die "$app, $kind: it failed: $1/$kind.errors"
  done
  [ -s "$1/plain" ] || die "$app: it printed nothing"
  cmp "$1/plain" "$1/lto"
}
in_root() { # ROOT PROGRAM...: which sees its sources and $data
  bwrap --unshare-net --die-with-parent --bind "$1" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$source" "$source" \
    --bind "$data" "$data" --chdir "$data" -- "${@:2}"
}

for application in "${applications[@]}"; do
  in_application "$application"
  say "$app"
  "${id}_packages"
  once "$source" fetch
  timed "$here/build" ir_build
  once "$here/roots" deploy_both
  once "$here/output" outputs
done

say "with LTO ($machine)"
{
  echo "application|units|without|bytes of output"
  for application in "${applications[@]}"; do
    in_application "$application"
    echo "$app|$(jq -r '.lto | "\(.units)|\(.without | tostring)"' "$here/roots/lto.json")|$(wc -c <"$here/output/plain")"
  done
} | print_columns
