#!/bin/bash
# Real applications as source images: HMMER, FFTW, LAPACK and GROMACS from Debian's source packages, on a base of Debian packages
# (mmdebstrap), deployed as an ordinary user; a second deploy; the application's own tests in the deployed image; its run time
# beside that of a native build in the same tree, with the same compiler and options. GROMACS also as an IR image.
#
#   tools/bench/source.sh [APPLICATION...]      hmmer fftw lapack gromacs; default: the first three
#
# Half an hour on two cores, GROMACS an hour more. Needs root for source packages (deb-src), for mmdebstrap, and to become another user (nobody).
# Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
open_bench
packages mmdebstrap umoci bubblewrap perl
applications=("$@")
[ $# -gt 0 ] || applications=(hmmer fftw lapack)
rounds=5
here=$work/source/$program
mkdir -p "$here"
chmod a+rx "$work" "$work/source" "$here"
install -m 755 "$xaas" "$here/xaas" # where another user may run it
home=$here/nobody
mkdir -p "$home"
chown nobody "$home"

make_base() { # DIRECTORY: the toolchain, as a layout
  local list=gcc,g++,gfortran,make,cmake,ninja-build,autoconf,automake,libtool,perl,python3,pkg-config,ccache
  SOURCE_DATE_EPOCH=0 mmdebstrap --quiet --variant=minbase --skip=output/dev \
    --include=$list,libdivsufsort-dev,libsimde-dev,libfftw3-dev,zlib1g-dev bookworm "$1.tar" /etc/apt/sources.list.d/*.sources
  umoci init --layout "$1"
  umoci new --image "$1:1"
  umoci raw add-layer --image "$1:1" "$1.tar"
  mkdir "$1/root"
  tar -xf "$1.tar" -C "$1/root"
  mkdir -p "$1/root"/{dev,proc,tmp,mnt,opt} # where things are mounted by hand
  rm "$1.tar"
}
source_of() { # NAME: what is in the image; GROMACS' tests are another package of its authors
  case $1 in
  gromacs) echo "$here/gromacs-source" ;;
  *) echo "$work/$1/source" ;;
  esac
}
without_tests() { # DIRECTORY
  cp -a "$work/gromacs/source" "$1"
  rm -rf "$1/regressiontests"
}
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env -i PATH="$PATH" HOME="$home" XAAS_CACHE_DIR="$home/cache" "$@"; }
deploy() { (cd "$home" && as_user "$here/xaas" deploy "oci:$here/$1-image:src" -o "oci:$home/$1:$2" --format json -q "${@:3}") >"$here/$1-$2.json"; }

# By hand, in the toolchain's tree, what a person would type; the program's directory is then /opt of $here/$1-native.
native() { # NAME SCRIPT, which sees SRC, FLAGS and installs below /opt
  local name=$1 out=$here/$1-native
  rm -rf "$out"
  mkdir -p "$out/build" "$out/opt"
  bwrap --unshare-net --ro-bind "$work/source/base/root" / --dev /dev --proc /proc --tmpfs /tmp --dir /tmp/src --ro-bind "$(source_of "$name")" /tmp/src \
    --bind "$out/build" /mnt --bind "$out/opt" /opt --chdir /mnt --setenv SRC /tmp/src --setenv JOBS "$(nproc)" \
    --setenv FLAGS "$(jq -r '.build.flags | join(" ")' "$here/$name-first.json")" --setenv CCACHE_DISABLE 1 \
    --setenv SIMD "$([ "$name" != gromacs ] || simd)" /bin/sh -ec "$2"
}
in_native() { # NAME PROGRAM ARG...: with this directory
  bwrap --setenv LD_LIBRARY_PATH /opt/lib --ro-bind "$work/source/base/root" / --dev /dev --proc /proc --ro-bind "$here/$1-native/opt" /opt --bind "$PWD" /tmp --chdir /tmp \
    "/opt/bin/$2" "${@:3}"
}
in_deployed() { # NAME PROGRAM ARG...: as its image has it
  bwrap --setenv LD_LIBRARY_PATH /usr/local/lib --ro-bind "$here/$1-tree" / --dev /dev --proc /proc --bind "$PWD" /tmp --chdir /tmp "/usr/local/bin/$2" "${@:3}"
}

autotools='cp -a $SRC/. . && autoreconf -fi && ./configure --prefix=/opt CC="gcc $FLAGS" CXX="g++ $FLAGS" '
cmake_options='-G Ninja -S $SRC -B . -DCMAKE_INSTALL_PREFIX=/opt -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=/tmp/gcc -DCMAKE_CXX_COMPILER=/tmp/g++ -DCMAKE_Fortran_COMPILER=/tmp/gfortran '
scripts='for c in gcc g++ gfortran; do printf "#!/bin/sh\nexec /usr/bin/$c $FLAGS \"\$@\"\n" >/tmp/$c; chmod 755 /tmp/$c; done; '
declare -A package=([hmmer]=hmmer [fftw]=fftw3 [lapack]=lapack [gromacs]=gromacs)
declare -A by_hand=(
  [hmmer]="export AUTOHEADER=true; $autotools --enable-threads --enable-sse --disable-mpi && make -j\$JOBS && make install"
  [fftw]="$scripts cmake $cmake_options -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DENABLE_THREADS=ON -DWITH_COMBINED_THREADS=ON
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='\$ORIGIN/../lib' -DENABLE_SSE2=ON -DENABLE_AVX=ON -DENABLE_AVX2=ON &&
    ninja -j\$JOBS && ninja install && install -D bench /opt/bin/fftw-bench"
  [lapack]="$scripts cmake $cmake_options -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=ON -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
    -DCMAKE_INSTALL_RPATH='\$ORIGIN/../lib' -DCMAKE_INSTALL_LIBDIR=lib && ninja -j\$JOBS && ninja install &&
    install -D -t /opt/bin bin/xlintstd bin/xeigtstd bin/xblat3d "
  [gromacs]="$scripts cmake $cmake_options $(spec_arguments "$root/specs/applications/gromacs.json" | tr '\n' ' ')
    -DGMX_SIMD=\$SIMD && ninja -j\$JOBS && ninja install"
)
for name in "${!by_hand[@]}"; do by_hand[$name]=${by_hand[$name]//$'\n'/ }; done
simd() { jq -r .configuration.simd "$here/gromacs-first.json"; } # the configuration that was chosen

prepare() { # NAME: data, in this directory
  case $1 in
  hmmer)
    cp "$work/hmmer/source/tutorial/globins4.sto" .
    perl -e 'srand 1; my @a = split //, "ACDEFGHIKLMNPQRSTVWY"; for my $i (1..100000) { print ">s$i\n", join("", map { $a[rand @a] } 1..400), "\n" }' >db.fa ;;
  lapack) cp "$work/lapack/source/TESTING"/{dtest,nep}.in "$work/lapack/source/BLAS/TESTING/dblat3.in" . ;;
  gromacs)
    cp "$work/gromacs/source/regressiontests/complex/nbnxn_pme"/{grompp.mdp,conf.gro,topol.top} .
    in_native gromacs gmx grompp -f grompp.mdp -c conf -r conf -p topol -maxwarn 10 >grompp.log 2>&1 ;;
  esac
}
workload() { # RUNNER NAME: what is timed; what it computes goes to standard output
  case $2 in
  hmmer) "$1" hmmer hmmsearch --cpu 1 --seed 1 globins.hmm db.fa | grep -v -e '^#' -e 'CPU time' -e 'Mc/sec' ;;
  fftw) "$1" fftw fftw-bench -oestimate -v0 --verify 1048576 ;;
  lapack) "$1" lapack xeigtstd <nep.in | grep -v -e 'seconds' -e 'Total time' ;;
  gromacs) rm -f traj.trr && "$1" gromacs gmx mdrun -s topol.tpr -reprod -ntmpi 1 -ntomp 1 -nsteps 4000 -o traj.trr -e ener.edr -nobackup && sha256sum traj.trr ;;
  esac
}
regression_tests() { # TREE: GROMACS' `complex` tests, with a gmx on PATH that runs the one of the tree
  rm -rf tests
  cp -a "$work/gromacs/source/regressiontests" tests
  mkdir tests/bin
  script_of tests/bin/gmx "contained '$1' '$PWD/tests' /usr/local/bin/gmx" contained
  (cd tests && PATH=$PWD/bin:$PATH perl ./gmxtest.pl complex -nt 1) >tests.log 2>&1 || true
  grep '^All .* complex tests PASSED$' tests.log
}
in_lowered() { # NAME PROGRAM ARG...: what was deployed from IR
  bwrap --ro-bind "$here/$1-ir-tree" / --dev /dev --proc /proc --bind "$PWD" /tmp --chdir /tmp "/usr/local/bin/$2" "${@:3}"
}
# GROMACS once more, as IR: the same configuration, in an image of its own.
build_ir() {
  XAAS_CACHE_DIR=$here/ir-cache "$here/xaas" build "$root/specs/applications/gromacs.json" --source "$(source_of gromacs)" --config "simd=$(simd)" \
    -o "oci:$here/gromacs-ir:ir" -q
}
deploy_ir() { (cd "$home" && as_user "$here/xaas" deploy "oci:$here/gromacs-ir:ir" --set "simd=$(simd)" -o "oci:$home/gromacs-ir:$1" -q); }
beside_ir() {
  local round source lowered ratios=()
  packages clang-22 cmake ninja-build libfftw3-dev libomp-22-dev
  timed "$here/gromacs-ir.build" build_ir
  chmod -R a+rX "$here/gromacs-ir"
  timed "$here/gromacs-ir.first" deploy_ir first
  timed "$here/gromacs-ir.second" deploy_ir second
  [ -d "$here/gromacs-ir-tree" ] || "$here/xaas" copy "oci:$home/gromacs-ir:first" "rootfs:$here/gromacs-ir-tree" -q >/dev/null
  for ((round = 0; round <= rounds; ++round)); do # the first is not counted
    source=$(seconds_of workload in_deployed gromacs)
    lowered=$(seconds_of workload in_lowered gromacs)
    [ $round -eq 0 ] || ratios+=("$(ratio "$source" "$lowered")")
  done
  regression_tests "$here/gromacs-ir-tree" || die "GROMACS deployed from IR: its own tests fail, in $PWD"
  echo "gromacs, simd=$(simd): from sources / from IR"
  echo "image           $(image_bytes "oci:$here/gromacs-image:src" | human) / $(image_bytes "oci:$here/gromacs-ir:ir" | human)"
  echo "deployed        $(image_bytes "oci:$home/gromacs:first" | human) / $(image_bytes "oci:$home/gromacs-ir:first" | human)"
  echo "building it     not timed / $(wall "$here/gromacs-ir.build") s"
  echo "deploy          $(wall "$here/gromacs.first") s / $(wall "$here/gromacs-ir.first") s; again $(wall "$here/gromacs.second") s / $(wall "$here/gromacs-ir.second") s"
  echo "run             $source s / $lowered s; ratio $(printf '%s\n' "${ratios[@]}" | median) (median of ${ratios[*]})"
}
own_tests() { # NAME
  case $1 in
  hmmer) in_deployed hmmer hmmbuild --seed 1 globins.hmm globins4.sto >hmmbuild.log && in_deployed hmmer hmmstat globins.hmm >/dev/null &&
    in_deployed hmmer hmmemit -N 20 --seed 1 globins.hmm >emitted.fa && [ "$(in_deployed hmmer hmmsearch --tblout /dev/stdout -o /dev/null globins.hmm emitted.fa | grep -vc '^#')" -ge 19 ] ;;
  fftw) local n; for n in 1 8 13 100 1024 1023 'o64x32' 'r1000' 'k40x30'; do in_deployed fftw fftw-bench -v0 --verify "$n" >/dev/null || return 1; done ;;
  lapack) in_deployed lapack xlintstd <dtest.in >xlintstd.log && grep -q 'All tests for' xlintstd.log && ! grep -q -i 'failed to pass' xlintstd.log &&
    in_deployed lapack xblat3d <dblat3.in >xblat3d.log && ! grep -rqi 'fail' xblat3d.log ;;
  gromacs) regression_tests "$here/gromacs-tree" ;;
  esac
}
seconds_of() { # COMMAND...: wall time; output to the file `output`
  local TIMEFORMAT=%R
  { time "$@" >output 2>output.log; } 2>&1
}

say "toolchain"
once "$work/source/base" make_base
for name in "${applications[@]}"; do
  say "$name: sources, source image, deploy, native build"
  once "$work/$name/source" debian_source "${package[$name]}"
  chmod -R a+rX "$work/$name"
  [ "$name" != gromacs ] || once "$(source_of gromacs)" without_tests
  chmod -R a+rX "$(source_of "$name")"
  [ -d "$here/$name-image" ] || "$here/xaas" build "$root/specs/applications/$name.json" --kind source --source "$(source_of "$name")" --base "oci:$work/source/base:1" \
    -o "oci:$here/$name-image:src" -q >/dev/null
  chmod -R a+rX "$here/$name-image"
  timed "$here/$name.first" deploy "$name" first
  timed "$here/$name.second" deploy "$name" second
  timed "$here/$name.native" native "$name" "${by_hand[$name]}"
  [ -d "$here/$name-tree" ] || "$here/xaas" copy "oci:$home/$name:first" "rootfs:$here/$name-tree" -q >/dev/null
  mkdir -p "$here/$name-run"
  cd "$here/$name-run"
  prepare "$name"
  own_tests "$name" && echo "its own tests pass in the deployed image" || die "$name: its own tests fail in the deployed image, in $PWD"
  ratios=()
  for ((round = 0; round <= rounds; ++round)); do # the first is not counted
    d=$(seconds_of workload in_deployed "$name"); mv output output.deployed
    n=$(seconds_of workload in_native "$name"); mv output output.native
    cmp output.deployed output.native || die "$name: the deployed program computes something else, in $PWD"
    [ $round -eq 0 ] || ratios+=("$(perl -e 'printf "%.3f", $ARGV[0] / $ARGV[1]' "$d" "$n")")
  done
  echo "$name: $machine; $(jq -r '"\(.build.compiler), \(.build.flags | join(" "))"' "$here/$name-first.json")"
  echo "deploy          $(wall "$here/$name.first") s; again with the compiler cache $(wall "$here/$name.second") s; native build $(wall "$here/$name.native") s"
  echo "source image    $(image_bytes "oci:$here/$name-image:src" | human); deployed $(image_bytes "oci:$home/$name:first" | human)"
  [ "$(jq -r .digest "$here/$name-first.json")" = "$(jq -r .digest "$here/$name-second.json")" ] && echo "digest          the same both times" || echo "digest          DIFFERS"
  echo "run time        deployed / native: $(printf '%s\n' "${ratios[@]}" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}') (median of ${ratios[*]})"
  [ "$name" != gromacs ] || beside_ir
done
