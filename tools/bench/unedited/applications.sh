# shellcheck shell=bash
# shellcheck disable=SC2154,SC2164 # source, data and tree are variables of unedited.sh, which stops at a failed cd
# The applications of unedited.sh. Each has
#   APP_about     build system|languages|what is peculiar to it
#   APP_packages  what a user installs to build it
#   APP_native    a user's own build from $tree, a copy of the sources in which it may write, into the new prefix $1
#   APP_data      input, into the new directory $1
#   APP_run       the workload. "$@" runs the program that follows: with the prefix of the native build, or in the image. It
#                 works in the directory $data, and its output depends only on the input.
# For libraries, APP_program PREFIX FILE PLACE makes a program that is linked with the library below PREFIX and will find it
# below PLACE; APP_run runs it as `proof`.
optimize="-O3 -march=native"

linked() { # PREFIX FILE PLACE ARGUMENT...: FILE from FILE.c
  clang-22 -O2 "$2.c" -I"$1/include" -L"$1/lib" -L"$1/lib/x86_64-linux-gnu" "${@:4}" -Wl,-rpath,"$3/lib:$3/lib/x86_64-linux-gnu" -o "$2"
}
cmake_native() { # PREFIX ARGUMENT...
  cmake -S "$tree" -B "$tree/objects.native" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="$optimize" -DCMAKE_CXX_FLAGS="$optimize" -DCMAKE_INSTALL_PREFIX="$1" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}"
  cmake --build "$tree/objects.native" -j"$(nproc)"
  cmake --install "$tree/objects.native"
}
autotools_native() { # PREFIX ARGUMENT...: in $tree or the directory that the caller went to
  sh ./configure --prefix="$1" CC=clang-22 CXX=clang++-22 F77=flang-22 FC=flang-22 CFLAGS="$optimize" CXXFLAGS="$optimize" FFLAGS="$optimize" \
    FCFLAGS="$optimize" "${@:2}"
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
transport_problem() { # SUPPLIERS CUSTOMERS FILE: in MPS
  perl -e '
    srand(7); my ($n, $m) = @ARGV;
    print "NAME T\nROWS\n N COST\n", (map { " L S$_\n" } 1 .. $n), (map { " G D$_\n" } 1 .. $m), "COLUMNS\n";
    for my $i (1 .. $n) { for my $j (1 .. $m) { printf " X%d_%d COST %d S%d 1\n X%d_%d D%d 1\n", $i, $j, 10 + rand 990, $i, $i, $j, $j } }
    print "RHS\n", (map { " R S$_ 130\n" } 1 .. $n), (map { " R D$_ 100\n" } 1 .. $m), "ENDATA\n"' "$1" "$2" >"$3"
}

dav1d_about() { echo "Meson|C, assembly (nasm)|program and library"; }
dav1d_packages() { packages meson ninja-build nasm aom-tools; }
dav1d_native() {
  CC=clang-22 meson setup --prefix="$1" --libdir=lib -Dbuildtype=release -Dc_args="$optimize" "$tree/objects.native" "$tree"
  meson compile -C "$tree/objects.native"
  meson install -C "$tree/objects.native"
}
dav1d_data() {
  random_video 500 "$1/video.y4m"
  aomenc --ivf --cpu-used=9 --rt --threads=2 --cq-level=20 --end-usage=q -o "$1/video.ivf" "$1/video.y4m"
  rm "$1/video.y4m"
}
dav1d_run() { "$@" dav1d -q --threads 1 --filmgrain 0 -i "$data/video.ivf" --muxer md5 -o -; } # one long run: a container starts each time

x264_about() { echo "own configure|C, assembly (nasm)|program and library"; }
x264_packages() { packages nasm; }
x264_native() {
  cd "$tree"
  CC=clang-22 ./configure --prefix="$1" --enable-static --extra-cflags="$optimize"
  make -j"$(nproc)"
  make install
}
x264_data() { random_video 200 "$1/video.y4m"; }
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
  autotools_native "$1" CXXFLAGS="$optimize -Wno-error"
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
  CXX=clang++-22 CXXFLAGS="$optimize -DNDEBUG" ./configure
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

darknet_about() { echo "make|C, CUDA|no install step, GPUs by a variable of make"; }
darknet_packages() { :; }
darknet_native() { # for the CPU, as a user builds it who has no GPU
  make -C "$tree" -j"$(nproc)" CC=clang-22 CPP=clang++-22 OPTS="-Ofast -march=native"
  mkdir -p "$1/bin"
  cp "$tree/darknet" "$1/bin/"
}
darknet_data() { cp "$source/cfg/rnn.cfg" "$1/"; }
darknet_run() { "$@" darknet rnn generate "$data/rnn.cfg" "" -len 800 -srand 7 -seed xaas; } # with random weights

prodigal_about() { echo "make|C|install without DESTDIR"; }
prodigal_packages() { :; }
prodigal_native() {
  make -C "$tree" -j"$(nproc)" CC=clang-22 CFLAGS="-pedantic -Wall $optimize"
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
glpk_data() { transport_problem 250 300 "$1/transport.mps"; }
glpk_run() {
  "$@" glpsol --freemps "$data/transport.mps" -o "$data/solution" >/dev/null
  cat "$data/solution"
  rm "$data/solution"
}

mafft_about() { echo "make in core/|C|many programs, scripts"; }
mafft_packages() { :; }
mafft_native() { make -C "$tree/core" -j"$(nproc)" CC=clang-22 CFLAGS="$optimize" PREFIX="$1" all install; }
mafft_data() { # 1,800 relatives of one protein
  perl -e '
    srand(7); my @acid = split //, "ACDEFGHIKLMNPQRSTVWY"; my @protein = map { $acid[int rand 20] } 1 .. 400;
    for my $i (1 .. 1800) { print ">p$i\n", (map { rand() < 0.3 ? $acid[int rand 20] : $_ } @protein), "\n" }' >"$1/proteins.fa"
}
mafft_run() { # the program that the script of the same name begins with
  "$@" ../libexec/mafft/mafft-distance -P -i "$data/proteins.fa"
}

clp_about() { echo "Autotools in directories|C++|needs other projects' libraries"; }
clp_packages() { packages coinor-libcoinutils-dev coinor-libosi-dev pkg-config; }
clp_native() { cd "$tree" && autotools_native "$1"; }
clp_data() { transport_problem 1000 1200 "$1/transport.mps"; }
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
  local _
  for _ in 1 2 3; do "$@" cjpeg -quality 90 -optimize -progressive "$data/picture.ppm" >"$data/picture.jpg"; done
  for _ in 1 2 3; do "$@" djpeg -dct int "$data/picture.jpg" | md5sum; done
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
enum { m = 400, n = 6 };
static double t[m], y[m];
static const double start[n] = {2.8, 0.8, 5.2, 1.2, 0.4, 10.9};
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
  for (int run = 0; run < 2700; ++run) {
    for (int i = 0; i < m; ++i) t[i] = i * 0.01, y[i] = 3 * exp(-t[i]) * cos((5 + run * 0.001) * t[i]) + exp(-0.3 * t[i]) * cos(11 * t[i]) + 0.01 * ((i * 7919) % 13 - 6);
    for (int k = 0; k < n; ++k) x[k] = start[k];
    lmdif1_(model, &rows, &columns, x, residual, &tolerance, &info, integers, work, &size);
    for (int i = 0; i < m; ++i) total += residual[i] * residual[i];
  }
  printf("residuals %.5e\n", total);
}
END
  linked "$1" "$2" "$3" -lminpack -lm
}
minpack_run() { "$@" proof; }

scotch_about() { echo "CMake|C, flex, bison, MPI|programs and libraries, sources written by a built program"; }
scotch_packages() { packages cmake bison flex libmpich-dev zlib1g-dev; }
scotch_native() { cmake_native "$1"; }
scotch_data() {
  perl -e '
    my $n = 50; my ($edges, $text) = (0, "");
    for my $z (0 .. $n - 1) { for my $y (0 .. $n - 1) { for my $x (0 .. $n - 1) {
      my $v = ($z * $n + $y) * $n + $x;
      my @near = (($x ? $v - 1 : ()), ($x < $n - 1 ? $v + 1 : ()), ($y ? $v - $n : ()), ($y < $n - 1 ? $v + $n : ()),
                  ($z ? $v - $n * $n : ()), ($z < $n - 1 ? $v + $n * $n : ()));
      $edges += @near; $text .= @near . " @near\n";
    } } }
    print "0\n", $n ** 3, " $edges\n0 000\n$text"' >"$1/grid.grf"
  echo "cmplt 64" >"$1/machine"
}
scotch_run() { # its threads give another result each time, unless -Cd
  "$@" gmap -Cd "$data/grid.grf" "$data/machine" "$data/parts"
  md5sum <"$data/parts"
  "$@" dgord -Cd "$data/grid.grf" "$data/order" >/dev/null
  md5sum <"$data/order"
  rm "$data/parts" "$data/order"
}

bamtools_about() { echo "CMake|C++|program and library"; }
bamtools_packages() { packages cmake pkg-config libjsoncpp-dev zlib1g-dev samtools; }
bamtools_native() { cmake_native "$1"; }
bamtools_data() { # 60,000 reads without order
  perl -e '
    srand(7); my @base = qw(A C G T);
    print "\@HD\tVN:1.6\n\@SQ\tSN:chr1\tLN:5000000\n";
    print "r$_\t0\tchr1\t", 1 + int rand 4900000, "\t", int rand 60, "\t100M\t*\t0\t0\t", (map { $base[int rand 4] } 1 .. 100), "\t", (map { chr(33 + int rand 40) } 1 .. 100), "\n" for 1 .. 60000' |
    samtools view -b -o "$1/reads.bam"
}
bamtools_run() {
  "$@" bamtools sort -in "$data/reads.bam" -out "$data/sorted.bam"
  "$@" bamtools convert -format fastq -in "$data/sorted.bam" | md5sum
  rm "$data/sorted.bam"
}

bio-rainbow_about() { echo "make|C|several programs, no install step"; }
bio-rainbow_packages() { packages dpkg-dev; }
bio-rainbow_native() {
  make -C "$tree" -j"$(nproc)" CC="clang-22 -march=native" CFLAGS="-O3"
  mkdir -p "$1/bin"
  (cd "$tree" && cp bio-rainbow ezmsim rbasm "$1/bin/")
}
bio-rainbow_data() { # pairs from 40,000 places, 8 of each
  perl -e '
    srand(7); my @base = qw(A C G T); my $random = sub { join "", map { $base[int rand 4] } 1 .. $_[0] };
    open my $one, ">", "$ARGV[0]/1.fa"; open my $two, ">", "$ARGV[0]/2.fa";
    for my $place (1 .. 40000) {
      my $left = $random->(90); my $right = $random->(200);
      for my $n (1 .. 8) {
        my $read = $left; substr($read, int rand 90, 1) = $base[int rand 4];
        print $one ">r${place}_$n\n$read\n"; print $two ">r${place}_$n\n", substr($right, int rand 110, 90), "\n";
      }
    }' "$1"
}
bio-rainbow_run() { "$@" bio-rainbow cluster -1 "$data/1.fa" -2 "$data/2.fa"; }

clonalframeml_about() { echo "make in src/|C++|no install step"; }
clonalframeml_packages() { :; }
clonalframeml_native() {
  make -C "$tree/src" CXX=clang++-22 CFLAGS="$optimize"
  mkdir -p "$1/bin"
  cp "$tree/src/ClonalFrameML" "$1/bin/"
}
clonalframeml_data() { # 12 relatives in a ladder, some with a foreign piece
  perl -e '
    srand(7); my @base = qw(A C G T); my @now = map { $base[int rand 4] } 1 .. 20000; my $tree = "";
    open my $out, ">", "$ARGV[0]/genomes.fa";
    for my $i (1 .. 12) {
      $_ = rand() < 0.01 ? $base[int rand 4] : $_ for @now;
      my @leaf = map { rand() < 0.01 ? $base[int rand 4] : $_ } @now;
      my $from = int rand 19000; for ($from .. $from + 600) { $leaf[$_] = $base[int rand 4] if rand() < 0.1 }
      print $out ">t$i\n", @leaf, "\n"; $tree = $i == 1 ? "t1:0.01" : "($tree,t$i:0.01):0.01";
    }
    $tree =~ s/:[0-9.]+$//; open $out, ">", "$ARGV[0]/tree"; print $out "$tree;\n"' "$1"
}
clonalframeml_run() {
  "$@" ClonalFrameML "$data/tree" "$data/genomes.fa" "$data/result" >/dev/null
  cat "$data"/result.{em,importation_status}.txt
  rm "$data"/result.*
}

e00compr_about() { echo "make|C|archive named without lib, no install step"; }
e00compr_packages() { :; }
e00compr_native() {
  make -C "$tree" CC=clang-22 CFLAGS="$optimize"
  mkdir -p "$1/bin"
  cp "$tree/e00conv" "$1/bin/"
}
e00compr_data() {
  perl -e '
    srand(7); print "EXP  0 COVER.E00\nARC  2\n";
    for my $arc (1 .. 600000) {
      printf "%10d%10d%10d%10d%10d%10d%10d\n", $arc, $arc, 1, 2, 0, 0, 8;
      printf "%14.7E%14.7E%14.7E%14.7E\n", map { rand 1e6 } 1 .. 4 for 1 .. 4;
    }
    print "EOS\n"' >"$1/cover.e00"
}
e00compr_run() {
  "$@" e00conv "$data/cover.e00" "$data/packed.e00" FULL >/dev/null
  "$@" e00conv "$data/packed.e00" "$data/unpacked.e00" NONE >/dev/null
  cat "$data/packed.e00" "$data/unpacked.e00" | md5sum
  rm "$data/packed.e00" "$data/unpacked.e00"
}

edge-addition-planarity-suite_about() { echo "Autotools, not generated|C|program and library"; }
edge-addition-planarity-suite_packages() { packages autoconf automake libtool; }
edge-addition-planarity-suite_native() {
  cd "$tree"
  autoreconf -fi
  autotools_native "$1"
}
edge-addition-planarity-suite_data() { # a grid of 250x250 with diagonals
  perl -e '
    my $n = 250; print "N=", $n * $n, "\n";
    for my $v (0 .. $n * $n - 1) {
      my ($x, $y) = ($v % $n, int $v / $n); my @to;
      for ([1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]) { my ($a, $b) = ($x + $_->[0], $y + $_->[1]); push @to, $b * $n + $a if $a >= 0 && $a < $n && $b >= 0 && $b < $n }
      print "$v: @to -1\n";
    }' >"$1/grid"
}
edge-addition-planarity-suite_run() {
  local kind
  for kind in p d; do # planar, drawn
    "$@" planarity -s -q -$kind "$data/grid" "$data/result" >/dev/null || [ $? -eq 1 ] # 1: not of this kind
    [ ! -f "$data/result" ] || md5sum <"$data/result"
    rm -f "$data/result"
  done
}

fastdnaml_about() { echo "make|C|one command makes the program, install for Debian only"; }
fastdnaml_packages() { :; }
fastdnaml_native() {
  make -C "$tree" CC=clang-22 CFLAGS="$optimize -std=gnu89"
  mkdir -p "$1/bin"
  cp "$tree/source/fastDNAml" "$1/bin/"
}
fastdnaml_data() { # 14 relatives of 600 bases
  perl -e '
    srand(7); my @base = qw(A C G T); my @all = [map { $base[int rand 4] } 1 .. 600];
    push @all, [map { rand() < 0.08 ? $base[int rand 4] : $_ } @{$all[int rand @all]}] while @all < 14;
    print "14 600\n"; printf "%-10s%s\n", "t$_", join "", @{$all[$_]} for 0 .. 13' >"$1/relatives.phy"
}
fastdnaml_run() { "$@" fastDNAml <"$data/relatives.phy" | grep -v '^Tree also written'; } # to a file named by its process

autoclass_about() { echo "make in prog/, one file per system|C|no install step"; }
autoclass_packages() { :; }
autoclass_native() {
  make -C "$tree/prog" CC=clang-22 CFLAGS="$optimize -ansi" # as the project: without contraction
  mkdir -p "$1/bin"
  cp "$tree/prog/autoclass" "$1/bin/"
}
autoclass_data() { # random starts are those of the time of day
  cp "$source/sample"/imports-85c.{hd2,model} "$1/"
  for _ in {1..12}; do grep -E '^[^!#; ]' "$source/sample/imports-85c.db2"; done >"$1/imports-85c.db2"
  printf '%s\n' 'max_n_tries = 19' "start_j_list = $(seq -s, 2 20)" 'start_fn_type = "block"' 'force_new_search_p = true' \
    'screen_output_p = false' 'save_compact_p = false' >"$1/imports-85c.s-params"
}
autoclass_run() {
  echo y | "$@" autoclass -search imports-85c.db2 imports-85c.hd2 imports-85c.model imports-85c.s-params >&2 # y: a test run
  grep -E '^PROBABILITY|^try' imports-85c.log
  rm -f imports-85c.{log,results,search,results-bin,search-bin,log-tmp}
}

aragorn_about() { echo "none|C|one source without a build file"; }
aragorn_packages() { :; }
aragorn_native() {
  mkdir -p "$1/bin"
  # shellcheck disable=SC2086 # several options
  clang-22 $optimize "$tree"/aragorn*.c -lm -o "$1/bin/aragorn"
}
aragorn_data() { random_genome 2000000 "$1/genome.fa"; }
aragorn_run() { "$@" aragorn -t -l "$data/genome.fa"; }
