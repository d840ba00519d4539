# shellcheck shell=bash
# shellcheck disable=SC2154,SC2164 # work, app, data and tree are variables of unedited.sh, which stops at a failed cd
# The applications of unedited.sh. Each has
#   APP_about     build system|languages|what is peculiar to it
#   APP_packages  what a user installs to build it
#   APP_native    a user's own build from $tree, a copy of the sources in which it may write, into the new prefix $1
#   APP_data      input, into the new directory $1
#   APP_run       the workload. "$@" runs the program that follows: with the prefix of the native build, or in the image. It
#                 works in the directory $data, and its output depends only on the input.
# For libraries, APP_program PREFIX FILE PLACE makes a program that is linked with the library below PREFIX and will find it
# below PLACE; APP_run runs it as `proof`.
optimise="-O3 -march=native"

linked() { # PREFIX FILE PLACE ARGUMENT...: FILE from FILE.c
  clang-22 -O2 "$2.c" -I"$1/include" -L"$1/lib" -L"$1/lib/x86_64-linux-gnu" "${@:4}" -Wl,-rpath,"$3/lib:$3/lib/x86_64-linux-gnu" -o "$2"
}
cmake_native() { # PREFIX ARGUMENT...
  cmake -S "$tree" -B "$tree/objects.native" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="$optimise" -DCMAKE_CXX_FLAGS="$optimise" -DCMAKE_INSTALL_PREFIX="$1" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}"
  cmake --build "$tree/objects.native" -j"$(nproc)"
  cmake --install "$tree/objects.native"
}
autotools_native() { # PREFIX ARGUMENT...: in $tree or the directory that the caller went to
  sh ./configure --prefix="$1" CC=clang-22 CXX=clang++-22 F77=flang-22 FC=flang-22 CFLAGS="$optimise" CXXFLAGS="$optimise" FFLAGS="$optimise" \
    FCFLAGS="$optimise" "${@:2}"
  make -j"$(nproc)"
  make install
}
random_genome() { # BASES FILE: one sequence
  perl -e 'srand(7); my @base = qw(A C G T); print ">genome\n", (map { $base[int rand 4] } 1 .. $ARGV[0]), "\n"' "$1" >"$2"
}
random_video() { # FRAMES FILE: YUV4MPEG of 352x288, moving blobs with noise
  perl -e '
    srand(7); my ($frames, $w, $h) = ($ARGV[0], 352, 288);
    print "YUV4MPEG2 W$w H$h F25:1 Ip A1:1 C420\n";
    for my $t (0 .. $frames - 1) {
      print "FRAME\n";
      for my $y (0 .. $h - 1) {
        print pack "C*", map { 128 + 50 * sin(($_ + 3 * $t) / 20) + 50 * cos(($y - 2 * $t) / 15 + $_ / 40) + rand(8) } 0 .. $w - 1;
      }
      print pack "C*", map { 128 + 40 * sin(($_ + 7 * $t) / 60) } 1 .. $w * $h / 2;
    }' "$1" >"$2"
}

dav1d_about() { echo "Meson|C, assembly (nasm)|program and library"; }
dav1d_packages() { packages meson ninja-build nasm aom-tools; }
dav1d_native() {
  CC=clang-22 meson setup --prefix="$1" --libdir=lib -Dbuildtype=release -Dc_args="$optimise" "$tree/objects.native" "$tree"
  meson compile -C "$tree/objects.native"
  meson install -C "$tree/objects.native"
}
dav1d_data() {
  random_video 40 "$1/video.y4m"
  aomenc --ivf --cpu-used=8 --threads=2 --cq-level=20 --end-usage=q -o "$1/video.ivf" "$1/video.y4m"
  rm "$1/video.y4m"
}
dav1d_run() { local _; for _ in 1 2 3 4 5; do "$@" dav1d -q --threads 1 --filmgrain 0 -i "$data/video.ivf" --muxer md5 -o -; done; }

x264_about() { echo "own configure|C, assembly (nasm)|program and library"; }
x264_packages() { packages nasm; }
x264_native() {
  cd "$tree"
  CC=clang-22 ./configure --prefix="$1" --enable-static --extra-cflags="$optimise"
  make -j"$(nproc)"
  make install
}
x264_data() { random_video 60 "$1/video.y4m"; }
x264_run() {
  "$@" x264 --quiet --threads 1 --qp 24 --preset medium -o "$data/video.264" "$data/video.y4m" >&2
  md5sum <"$data/video.264"
  rm "$data/video.264"
}

jellyfish_about() { echo "Autotools, not generated|C++|sources written during the build"; }
jellyfish_packages() { packages autoconf automake libtool pkg-config yaggo; }
jellyfish_native() { # Clang warns where GCC does not
  cd "$tree"
  autoreconf -fi
  autotools_native "$1" CXXFLAGS="$optimise -Wno-error"
}
jellyfish_data() { random_genome 3000000 "$1/genome.fa"; }
jellyfish_run() {
  "$@" jellyfish count -m 21 -s 8M -t 1 -C -o "$data/counts" "$data/genome.fa"
  "$@" jellyfish dump -c "$data/counts" | sort | md5sum
  rm "$data/counts"
}

cadical_about() { echo "own configure|C++|no install step"; }
cadical_packages() { :; }
cadical_native() {
  cd "$tree"
  CXX=clang++-22 CXXFLAGS="$optimise -DNDEBUG" ./configure
  make -j"$(nproc)"
  mkdir -p "$1/bin"
  cp build/cadical "$1/bin/"
}
cadical_data() { # random 3-SAT near the threshold
  perl -e '
    srand(7); my ($n, $m) = (200, 852);
    print "p cnf $n $m\n";
    for (1 .. $m) { my %v; $v{1 + int rand $n} = 1 while keys %v < 3; print join(" ", map { rand() < 0.5 ? $_ : -$_ } sort keys %v), " 0\n" }' >"$1/random.cnf"
}
cadical_run() { local seed; for seed in 1 2 3 4; do "$@" cadical -q --seed=$seed "$data/random.cnf" || [ $? -eq 10 ] || [ $? -eq 20 ]; done; }

prodigal_about() { echo "make|C|install without DESTDIR"; }
prodigal_packages() { :; }
prodigal_native() {
  make -C "$tree" -j"$(nproc)" CC=clang-22 CFLAGS="-pedantic -Wall $optimise"
  make -C "$tree" install INSTALLDIR="$1/bin"
}
prodigal_data() { # 600 open reading frames between random pieces
  perl -e '
    srand(7); my @base = qw(A C G T); my @codon = grep { !/^(TAA|TAG|TGA)$/ } map { my $a = $_; map { my $b = $_; map { "$a$b$_" } @base } @base } @base;
    my $random = sub { join "", map { $base[int rand 4] } 1 .. $_[0] };
    print ">genome\n", (map { $random->(150), "AGGAGG", $random->(6), "ATG", (map { $codon[int(rand() ** 1.6 * @codon)] } 1 .. 250), "TAA" } 1 .. 600), "\n"' >"$1/genome.fa"
}
prodigal_run() { "$@" prodigal -q -f gff -i "$data/genome.fa"; }

glpk_about() { echo "Autotools|C|program and library"; }
glpk_packages() { packages libsuitesparse-dev; }
glpk_native() { cd "$tree" && autotools_native "$1"; }
glpk_data() { # a knapsack with several constraints, in CPLEX format
  perl -e '
    srand(7); my ($n, $m) = (60, 5); my @x = map { "x$_" } 1 .. $n;
    my $row = sub { join("\n + ", map { (10 + int rand 90) . " $_" } @x) };
    print "Maximize\n obj: ", $row->(), "\nSubject To\n";
    print " c$_: ", $row->(), "\n <= ", 20 * $n, "\n" for 1 .. $m;
    print "Binary\n", join("\n", @x), "\nEnd\n"' >"$1/knapsack.lp"
}
glpk_run() {
  "$@" glpsol --lp "$data/knapsack.lp" --mipgap 0.008 -o "$data/solution" >/dev/null
  cat "$data/solution"
  rm "$data/solution"
}

mafft_about() { echo "make in core/|C|many programs, scripts"; }
mafft_packages() { :; }
mafft_native() { make -C "$tree/core" -j"$(nproc)" CC=clang-22 CFLAGS="$optimise" PREFIX="$1" all install; }
mafft_data() { # 700 relatives of one protein
  perl -e '
    srand(7); my @acid = split //, "ACDEFGHIKLMNPQRSTVWY"; my @protein = map { $acid[int rand 20] } 1 .. 400;
    for my $i (1 .. 700) { print ">p$i\n", (map { rand() < 0.3 ? $acid[int rand 20] : $_ } @protein), "\n" }' >"$1/proteins.fa"
}
mafft_run() { # the program that the script of the same name begins with
  "$@" ../libexec/mafft/mafft-distance -P -i "$data/proteins.fa"
}

clp_about() { echo "Autotools in directories|C++|needs other projects' libraries"; }
clp_packages() { packages coinor-libcoinutils-dev coinor-libosi-dev pkg-config; }
clp_native() { cd "$tree" && autotools_native "$1"; }
clp_data() { # a transport problem in MPS
  perl -e '
    srand(7); my ($n, $m) = (110, 130);
    print "NAME T\nROWS\n N COST\n", (map { " L S$_\n" } 1 .. $n), (map { " G D$_\n" } 1 .. $m), "COLUMNS\n";
    for my $i (1 .. $n) { for my $j (1 .. $m) { printf " X%d_%d COST %d S%d 1\n X%d_%d D%d 1\n", $i, $j, 10 + rand 990, $i, $i, $j, $j } }
    print "RHS\n", (map { " R S$_ 130\n" } 1 .. $n), (map { " R D$_ 100\n" } 1 .. $m), "ENDATA\n"' >"$1/transport.mps"
}
clp_run() {
  "$@" clp "$data/transport.mps" -dualsimplex -solution "$data/solution" >/dev/null
  cat "$data/solution"
  rm "$data/solution"
}

opus_about() { echo "Autotools, CMake (incomplete)|C, intrinsics|library only"; }
opus_packages() { :; }
opus_native() { cd "$tree" && autotools_native "$1"; }
opus_data() { :; }
opus_program() {
  cat >"$2.c" <<'END'
#include <opus/opus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  enum { frame = 960, seconds = 60 };
  int error;
  OpusEncoder* encoder = opus_encoder_create(48000, 2, OPUS_APPLICATION_AUDIO, &error);
  opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(10));
  unsigned sum = 0, noise = 1;
  size_t bytes = 0;
  for (int f = 0; f < seconds * 50; ++f) {
    opus_int16 pcm[2 * frame];
    for (int i = 0; i < frame; ++i) {
      double t = (f * frame + i) / 48000.0;
      noise = noise * 1664525 + 1013904223;
      pcm[2 * i] = (opus_int16)(8000 * sin(2764 * t + 3 * sin(t)) + (int)(noise >> 22));
      pcm[2 * i + 1] = (opus_int16)(6000 * sin(1900 * t) + 3000 * sin(9000 * t));
    }
    unsigned char packet[4000];
    int size = opus_encode(encoder, pcm, frame, packet, sizeof packet);
    if (size < 0) return 1;
    bytes += size;
    for (int i = 0; i < size; ++i) sum = sum * 31 + packet[i];
  }
  printf("%zu bytes, sum %08x\n", bytes, sum);
}
END
  linked "$1" "$2" "$3" -lopus -lm
}
opus_run() { "$@" proof; }

libjpeg-turbo_about() { echo "CMake|C, assembly (nasm)|programs and libraries"; }
libjpeg-turbo_packages() { packages cmake nasm; }
libjpeg-turbo_native() { cmake_native "$1"; }
libjpeg-turbo_data() { # a picture of 3000x2000
  perl -e '
    srand(7); my ($w, $h) = (3000, 2000);
    print "P6\n$w $h\n255\n";
    for my $y (0 .. $h - 1) { print pack "C*", map { my $v = 128 + 60 * sin($_ / 50 + $y / 90); ($v + rand(20), 255 - $v, 128 + 60 * cos($y / 30)) } 0 .. $w - 1 }' >"$1/picture.ppm"
}
libjpeg-turbo_run() {
  "$@" cjpeg -quality 90 -optimize -progressive "$data/picture.ppm" >"$data/picture.jpg"
  "$@" djpeg -dct int "$data/picture.jpg" | md5sum
  md5sum <"$data/picture.jpg"
}

minpack_about() { echo "Autotools of 1998|Fortran 77|library only"; }
minpack_packages() { :; }
minpack_native() { cd "$tree" && autotools_native "$1"; }
minpack_data() { :; }
minpack_program() {
  cat >"$2.c" <<'END'
#include <math.h>
#include <stdio.h>
enum { m = 400, n = 12 };
static double t[m], y[m];
static void model(int* rows, int* columns, double* x, double* residual, int* flag) {
  for (int i = 0; i < m; ++i) {
    double sum = 0;
    for (int k = 0; k < n / 3; ++k) sum += x[3 * k] * exp(-x[3 * k + 1] * t[i]) * cos(x[3 * k + 2] * t[i]);
    residual[i] = sum - y[i];
  }
}
void lmdif1_(void (*)(int*, int*, double*, double*, int*), int*, int*, double*, double*, double*, int*, int*, double*, int*);
int main(void) {
  int rows = m, columns = n, info = 0, integers[n], size = m * n + 5 * n + m;
  double x[n], residual[m], work[m * n + 5 * n + m], tolerance = 1e-12, total = 0;
  for (int run = 0; run < 60; ++run) {
    for (int i = 0; i < m; ++i) t[i] = i * 0.01, y[i] = 3 * exp(-t[i]) * cos((5 + run * 0.01) * t[i]) + exp(-0.3 * t[i]) * cos(11 * t[i]) + 0.01 * ((i * 7919) % 13);
    for (int k = 0; k < n; ++k) x[k] = 1 + 0.7 * k;
    lmdif1_(model, &rows, &columns, x, residual, &tolerance, &info, integers, work, &size);
    for (int i = 0; i < m; ++i) total += residual[i] * residual[i];
  }
  printf("info %d, residuals %.4e\n", info, total);
}
END
  linked "$1" "$2" "$3" -lminpack -lm
}
minpack_run() { "$@" proof; }

scotch_about() { echo "CMake|C, flex, bison, MPI|programs and libraries, sources written by a built program"; }
scotch_packages() { packages cmake bison flex libmpich-dev zlib1g-dev; }
scotch_native() { cmake_native "$1"; }
scotch_data() { gzip -dc "$work/$app/source/grf/bump.grf.gz" >"$1/bump.grf"; }
scotch_run() {
  "$@" gpart 64 "$data/bump.grf" "$data/parts"
  md5sum <"$data/parts"
  "$@" dgord "$data/bump.grf" "$data/order" >/dev/null
  md5sum <"$data/order"
  rm "$data/parts" "$data/order"
}
