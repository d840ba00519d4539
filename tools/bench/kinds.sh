# shellcheck shell=bash
# Applications of different kinds; sourced by the benchmarks that run them, after lib.sh. `work` is the benchmark's directory, `app`
# the application's name, whose sources are in $work/$app/source, and `data` its data. `here` is the directory of its figures.
# shellcheck disable=SC2154,SC2034 # variables of those, and for those

# Each application: its packages, a native build with extra compiler flags in $1 into the new directory $2, data, and a run of
# PROGRAM... whose output is a function of the data.
minimap2_packages() { packages libsimde-dev zlib1g-dev; }
minimap2_native() {
  cp -r "$work/$app/source" "$2"
  make -C "$2" -j"$(nproc)" CC="clang-22 $1" minimap2
  mkdir "$2/bin"
  mv "$2/minimap2" "$2/bin/"
}
minimap2_data() { # into the new directory $1: a random genome of 3 million bases and 3,000 reads of 4,000 with one base in ten changed
  mkdir "$1"
  perl -e '
    srand(7); my @base = qw(A C G T); my $n = 3_000_000;
    my $genome = join "", map { $base[int rand 4] } 1 .. $n;
    open my $out, ">", "$ARGV[0]/genome.fa"; print $out ">genome\n$genome\n"; close $out;
    open $out, ">", "$ARGV[0]/reads.fa";
    for my $i (1 .. 3000) {
      my $read = substr $genome, int rand($n - 4000), 4000;
      substr($read, int rand 4000, 1) = $base[int rand 4] for 1 .. 400;
      print $out ">read$i\n$read\n";
    }' "$1"
}
minimap2_run() { "$@" minimap2 -a -t 1 "$data/genome.fa" "$data/reads.fa"; }
minimap2_filter() { grep -v '^@PG'; }

hmmer_packages() { packages libdivsufsort-dev libsimde-dev autoconf automake libtool; }
hmmer_native() {
  rm -rf "$2.objects"
  cp -r "$work/$app/source" "$2.objects"
  cd "$2.objects" || return
  AUTOHEADER=true autoreconf -fi
  ./configure CC="clang-22 $1" --prefix="$2" --enable-threads --enable-sse
  make -j"$(nproc)"
  make install
}
hmmer_data() {
  mkdir "$1"
  cp "$work/$app/source/tutorial/globins4.hmm" "$1/"
  "$work/$app/native/bin/hmmemit" -N 60000 --seed 11 "$1/globins4.hmm" >"$1/sequences.fa"
}
hmmer_run() { "$@" hmmsearch --cpu 0 "$data/globins4.hmm" "$data/sequences.fa"; }
hmmer_filter() { grep -v '^#'; }

mmseqs2_packages() {
  packages libbz2-dev libc++-22-dev libc++abi-22-dev libgzstream-dev libsimde-dev libxxhash-dev libzstd-dev zlib1g-dev
}
mmseqs2_native() {
  rm -rf "$2.objects"
  cmake -S "$work/$app/source" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS="$1" -DCMAKE_CXX_FLAGS="$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" \
    -DUSE_SYSTEM_ZSTD=1 -DNATIVE_ARCH=0 -DVERSION_OVERRIDE=14-7e284 -DINSTALL_UTIL=0
  cmake --build "$2.objects"
  cmake --install "$2.objects"
}
mmseqs2_data() {
  mkdir "$1"
  local native=$work/$app/native/bin/mmseqs examples=$work/$app/source/examples
  "$native" createdb "$examples/QUERY.fasta" "$1/query" >/dev/null
  "$native" createdb "$examples/DB.fasta" "$1/target" >/dev/null
  "$native" prefilter "$1/query" "$1/target" "$1/pref" -s 7 --threads 1 >/dev/null
}
mmseqs2_run() { # the container writes below $data too
  rm -f "$data"/align*
  "$@" mmseqs align "$data/query" "$data/target" "$data/pref" "$data/align" -a --threads 1 >&2
  cat "$data/align"
}
mmseqs2_filter() { cat; }

btllib_packages() { packages libcpptoml-dev libsdsl-dev meson ninja-build pkg-config; }
btllib_native() {
  rm -rf "$2.objects"
  CC=clang-22 CXX=clang++-22 CFLAGS="$1" CXXFLAGS="$1" meson setup --prefix="$2" -Dbuildtype=release "$2.objects" "$work/$app/source"
  meson compile -C "$2.objects"
  meson install -C "$2.objects"
}
btllib_data() { # a random genome of 100 pieces of 300,000 bases
  mkdir "$1"
  perl -e '
    srand(7); my @base = qw(A C G T);
    open my $out, ">", "$ARGV[0]/genome.fa";
    print $out ">piece$_\n", (map { $base[int rand 4] } 1 .. 300_000), "\n" for 1 .. 100;' "$1"
}
btllib_run() { "$@" indexlr -k 32 -w 100 -t 1 --long --id --len --pos --strand "$data/genome.fa"; }
btllib_filter() { cat; }

kissfft_packages() { packages cmake; }
kissfft_native() {
  rm -rf "$2.objects"
  cmake -S "$work/$app/source" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_C_FLAGS="$1" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$2" -DKISSFFT_STATIC=ON -DKISSFFT_TEST=OFF
  cmake --build "$2.objects"
  cmake --install "$2.objects"
}
kissfft_data() { # 8 million complex numbers
  mkdir "$1"
  perl -e 'srand(7); for (1 .. 8192) { print pack "f<*", map { rand(2) - 1 } 1 .. 2048 }' >"$1/signal"
}
kissfft_run() { # several sizes, none of them a power of two alone
  local size
  for size in 4096 6000 15625 65536 360000; do "$@" fft-float -n $size "$data/signal"; done
}
kissfft_filter() { cat; }

zstd_packages() { :; }
zstd_native() {
  cp -r "$work/$app/source" "$2"
  make -C "$2/programs" -j"$(nproc)" CC="clang-22 $1" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd
  mkdir "$2/bin"
  mv "$2/programs/zstd" "$2/bin/"
}
zstd_data() { # its own sources, four times: 20 MB
  mkdir "$1"
  for _ in 1 2 3 4; do
    find "$work/$app/source" -name '*.[ch]' | LC_ALL=C sort | xargs cat
  done >"$1/text"
}
zstd_run() { # compresses at a fast and a slow level, and decompresses
  "$@" zstd -q -f --single-thread -3 --no-check "$data/text" -o "$data/text.3"
  "$@" zstd -q -f --single-thread -15 --no-check "$data/text" -o "$data/text.15"
  "$@" zstd -q -f -d "$data/text.15" -o "$data/text.again"
  cmp "$data/text" "$data/text.again"
  sha256sum <"$data/text.3"
  sha256sum <"$data/text.15"
}
zstd_filter() { cat; }

soft-spheres_packages() { packages cmake; }
soft-spheres_native() {
  rm -rf "$2.objects"
  cmake -S "$work/$app/source" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS="$1" -DCMAKE_CXX_FLAGS="$1" -DCMAKE_INSTALL_PREFIX="$2"
  cmake --build "$2.objects"
  cmake --install "$2.objects"
}
soft-spheres_data() { mkdir "$1"; }
soft-spheres_run() { "$@" soft-spheres --threads 1 --steps 4000; }
soft-spheres_filter() { grep '^checksum'; }

lua_packages() { :; }
lua_source() { debian_source lua5.4 "$1"; }
lua_native() {
  mkdir -p "$2/bin"
  echo '#define DEB_HOST_MULTIARCH "lib"' >"$2/lua5.4-deb-multiarch.h"
  local file files=()
  for file in "$work/$app"/source/src/*.c; do [[ $file = */luac.c ]] || files+=("$file"); done
  # shellcheck disable=SC2086 # flags
  clang-22 -std=gnu99 -O2 "-I$2" -DLUA_COMPAT_5_3 -DLUA_USE_POSIX $1 "${files[@]}" -lm -o "$2/bin/lua"
}
lua_data() {
  mkdir "$1"
  cat >"$1/work.lua" <<'END'
-- Tables, closures, strings and numbers: a sieve, matrices, words, a sort, objects.
local scale = tonumber(arg[1])
local function sieve(n)
  local is, count = {}, 0
  for i = 2, n do is[i] = true end
  for i = 2, n do
    if is[i] then
      count = count + 1
      for j = i * i, n, i do is[j] = false end
    end
  end
  return count
end
local function multiply(n)
  local a, b, c = {}, {}, {}
  for i = 1, n do
    a[i], b[i], c[i] = {}, {}, {}
    for j = 1, n do a[i][j], b[i][j] = i + j, i - j end
  end
  for i = 1, n do
    for j = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + a[i][k] * b[k][j] end
      c[i][j] = sum
    end
  end
  return c[n][n]
end
local function words(n)
  local counts, text = {}, {}
  for i = 1, n do text[#text + 1] = "w" .. (i * 7919 % 1009) .. (i % 3 == 0 and "," or " ") end
  for word in table.concat(text):gmatch("%a%d+") do counts[word] = (counts[word] or 0) + 1 end
  local names = {}
  for name in pairs(counts) do names[#names + 1] = name end
  table.sort(names, function(x, y) return counts[x] ~= counts[y] and counts[x] > counts[y] or counts[x] == counts[y] and x < y end)
  return names[1] .. counts[names[1]]
end
local Account = {}
Account.__index = Account
function Account:add(value) self.sum = self.sum + value; return self end
local function objects(n)
  local account = setmetatable({sum = 0}, Account)
  for i = 1, n do account:add(i % 17) end
  return account.sum
end
for _ = 1, scale do print(sieve(200000), multiply(100), words(40000), objects(1000000)) end
END
}
lua_run() { "$@" lua "$data/work.lua" "${lua_scale:-20}"; }
lua_filter() { cat; }

sqlite3_packages() { packages make tcl; }
sqlite3_native() {
  mkdir -p "$2/bin" "$2.objects"
  cd "$2.objects" || return
  CC=cc "$work/$app/source/configure" --disable-tcl --disable-readline
  make sqlite3.c shell.c
  local file
  for file in shell.c "$work/$app/source/test/speedtest1.c"; do
    # shellcheck disable=SC2086 # flags
    clang-22 -O2 -DSQLITE_THREADSAFE=0 $1 -I. "$file" sqlite3.c -lm -ldl -o "$2/bin/$(basename "$file" .c)"
  done
  mv "$2/bin/shell" "$2/bin/sqlite3"
}
sqlite3_data() { mkdir "$1"; }
sqlite3_run() { # statements of all kinds, and queries with recursion
  "$@" speedtest1 --verify --testset main --size "${sqlite3_size:-40}" :memory:
  "$@" speedtest1 --verify --testset cte --size "${sqlite3_size:-40}" :memory:
}
sqlite3_filter() { grep -F 'Verification Hash'; }

lapack_packages() { packages cmake flang-22 ninja-build; }
lapack_native() {
  rm -rf "$2.objects"
  cmake -S "$work/$app/source" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_Fortran_COMPILER=flang-22 \
    -DCMAKE_C_FLAGS="$1" -DCMAKE_Fortran_FLAGS="$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" \
    -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=ON -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" \
    -DCMAKE_INSTALL_LIBDIR=lib
  cmake --build "$2.objects"
  cmake --install "$2.objects"
  mkdir -p "$2/bin"
  cp "$2.objects"/bin/{xlintstd,xeigtstd,xblat3d} "$2/bin/"
}
lapack_data() { # LAPACK's own tests, with larger matrices for the factorizations
  mkdir "$1"
  cp "$work/$app/source/TESTING"/{dtest,nep,sep,svd}.in "$1/"
  sed -E -i 's/^0 1 2 3 5 10 50 .*/0 1 2 3 5 10 130 Values of M/; s/^0 1 2 3 5 10 50( *Values of N.*)/0 1 2 3 5 10 130\1/' "$1/dtest.in"
}
lapack_run() {
  local test
  for test in dtest:xlintstd nep:xeigtstd sep:xeigtstd svd:xeigtstd; do "$@" "${test#*:}" <"$data/${test%:*}.in"; done
}
lapack_filter() { grep -v -i -e second -e time; }

lammps_packages() { packages cmake ninja-build; }
lammps_configuration=(mpi=off,openmp=off)
lammps_native() {
  local arguments
  mapfile -t arguments < <(spec_arguments "$spec" mpi=off openmp=off)
  rm -rf "$2.objects"
  cmake -S "$work/$app/source/cmake" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS="$1" -DCMAKE_CXX_FLAGS="$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" "${arguments[@]}"
  cmake --build "$2.objects"
  cmake --install "$2.objects"
}
lammps_data() { # of its own benchmarks: a liquid, a metal and a polymer, 32,000 atoms each
  mkdir "$1"
  cp "$work/$app/source/bench"/{in.lj,in.eam,in.chain,data.chain,Cu_u3.eam} "$1/"
}
lammps_run() {
  local problem
  for problem in lj eam chain; do (cd "$data" && "$@" lmp -log none -in "in.$problem"); done
}
lammps_filter() { grep -v -i -e time -e performance -e 'CPU' -e '|' -e seconds -e memory; }

# run_median KIND: of the CPU seconds in the files run.1 to run.$rounds, which have a line for each of `kinds`.
run_median() {
  local round line=1
  until [ "${kinds[line - 1]}" = "$1" ]; do line=$((line + 1)); done
  for ((round = 1; round <= rounds; ++round)); do sed -n "${line}p" "$here/run.$round"; done | median
}
