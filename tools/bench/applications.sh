#!/bin/bash
# Real applications from Debian's source packages. For each: `xaas build` with every ISA level, `xaas deploy` for this
# machine, and a run from the OCI layout under Podman, with the output compared to that of a native build. Then the figures:
# seconds and CPU seconds of build and deploy beside those of a native build of one configuration in the same run, modules
# and units, sizes, and run time against portable and native builds, with prepared IR modules and with --lto, measured in turn.
#
#   tools/bench/applications.sh [--rounds N] [--table] [APPLICATION]...     all applications, if none is named
#
# With --table it prints the table of README.md in Markdown instead, and does only what that needs: run times of portable,
# native and deployed programs, and the size of the IR image beside that of deployed images for all of its ISA levels.
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rounds=5
table=no
# Of run times; `deployed` and `lto` are from raw modules, with --table from prepared ones.
kinds=(portable native deployed prepared lto prepared-lto)
form=raw
applications=()
while [ $# -gt 0 ]; do
  case "$1" in
  --rounds) rounds=$2; shift 2 ;;
  --table) table=yes kinds=(portable native deployed) form=prepared; shift ;;
  minimap2 | hmmer | mmseqs2 | btllib | kissfft | zstd | soft-spheres) applications+=("$1"); shift ;;
  *) echo "usage: $0 [--rounds N] [--table] [minimap2|hmmer|mmseqs2|btllib|kissfft|zstd|soft-spheres]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer mmseqs2 btllib kissfft zstd soft-spheres)
open_bench

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
  cd "$2.objects"
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

native() { local bin=$1; shift; "$work/$app/$bin/bin/$1" "${@:2}"; } # native DIRECTORY PROGRAM ARGUMENT...
container() {
  local run code=0
  run=$(mktemp -d /tmp/podman-XXXXXX) # podman refuses long names
  rm -rf "$here/podman" # a store belongs to one run directory
  (cd "$here" && podman --root "$here/podman" --runroot "$run" --storage-driver vfs run \
    --runtime runc --rm --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none -v "$data:$data" \
    --entrypoint "/usr/local/bin/$1" oci:image:here "${@:2}") || code=$?
  rm -rf "$run"
  return $code
}
unpacked() { contained "$here/$1" "$data" "/usr/local/bin/$2" "${@:3}"; } # ROOT PROGRAM ARGUMENT...: without podman's start-up

ir_build() { # FORM TAG: with an empty cache
  rm -rf "$here/cache.$1"
  XAAS_CACHE_DIR=$here/cache.$1 "$xaas" build "$spec" --source "$work/$app/source" --ir "$1" -o "oci:$here/image:$2"
}

compare() { # the deployed container's output against the native build's; both into the new directory $1
  mkdir "$1"
  "${app}_run" native native 2>/dev/null | "${app}_filter" >"$1/native"
  "${app}_run" container 2>"$1/container.err" | "${app}_filter" >"$1/container" || true # shows itself below
  [ -s "$1/native" ] || die "$app: the native build printed nothing"
  cmp "$1/native" "$1/container" || { tail "$1/container.err" >&2; exit 1; }
  [ $table = no ] || return 0
  local kind
  for kind in lto prepared prepared-lto; do
    "${app}_run" unpacked rootfs-$kind 2>/dev/null | "${app}_filter" >"$1/$kind" || true
    cmp "$1/native" "$1/$kind"
  done
}

run_round() { # one run of each kind in turn; CPU seconds into the new file $1
  local kind how TIMEFORMAT='%U'
  for kind in "${kinds[@]}"; do
    how=(native "$kind")
    case $kind in deployed) how=(unpacked rootfs) ;; prepared | lto | prepared-lto) how=(unpacked "rootfs-$kind") ;; esac
    { time "${app}_run" "${how[@]}" >/dev/null 2>&1; } 2>>"$1"
  done
}
run_median() { # KIND
  local round line=1
  until [ "${kinds[line - 1]}" = "$1" ]; do line=$((line + 1)); done
  for ((round = 1; round <= rounds; ++round)); do sed -n "${line}p" "$here/run.$round"; done | median
}

levels_of_image() { "$xaas" inspect "oci:$here/image:ir" --format json | jq -r '.specializations[] | select(.name == "isa").values[].value'; }
deploy_levels() { # an image for each ISA level of the IR image, into the new layout $1
  local level
  for level in $(levels_of_image); do deploy_warm "oci:$here/image:ir" "oci:$1:$level" --cpu "$level" -q >/dev/null; done
}
bytes_of_levels() { # of the layers of these images; layers that several have count once, as in a registry
  local level
  for level in $(levels_of_image); do "$xaas" inspect "oci:$here/levels:$level" --format json | jq '.layers[]'; done |
    jq -s 'unique_by(.digest) | map(.size) | add'
}

in_application() { # NAME: sets what the functions above use
  app=$1
  here=$work/$app/$program
  [ $table = no ] || here+=-table
  data=$work/$app/data
  spec=$root/specs/applications/$app.json
  [ -f "$spec" ] || spec=$root/examples/$app/xaas.json
  mkdir -p "$here"
}

for application in "${applications[@]}"; do
  in_application "$application"
  say "$app: sources"
  "${app}_packages"
  if [ -d "$root/examples/$app" ]; then once "$work/$app/source" cp -r "$root/examples/$app"
  else once "$work/$app/source" debian_source "$app"; fi
  say "$app: native build, portable build"
  timed "$work/$app/native.build" again "$work/$app/native" "${app}_native" "-march=native"
  timed "$work/$app/portable.build" again "$work/$app/portable" "${app}_native" ""
  say "$app: xaas build, xaas deploy"
  timed "$here/xaas.build" ir_build $form ir
  timed "$here/xaas.deploy" deploy_cold "oci:$here/image:ir" "oci:$here/image:here"
  if [ $table = yes ]; then
    once "$here/levels" deploy_levels
  else
    timed "$here/xaas.again" deploy_warm "oci:$here/image:ir" "oci:$here/image:again"
    timed "$here/xaas.lto" deploy_cold "oci:$here/image:ir" "oci:$here/image:lto" --lto
    timed "$here/xaas.build-prepared" ir_build prepared ir-prepared
    timed "$here/xaas.prepared" deploy_cold "oci:$here/image:ir-prepared" "oci:$here/image:prepared"
    timed "$here/xaas.prepared-again" deploy_warm "oci:$here/image:ir-prepared" "oci:$here/image:prepared-again"
    timed "$here/xaas.prepared-lto" deploy_cold "oci:$here/image:ir-prepared" "oci:$here/image:prepared-lto" --lto
    for kind in lto prepared prepared-lto; do once "$here/rootfs-$kind" unpack "$here/image" $kind; done
  fi
  "$xaas" check "oci:$here/image:here" -q >"$here/check" || die "$app: the deployed image cannot run: $(cat "$here/check")"
  once "$here/rootfs" unpack "$here/image" here
  once "$data" "${app}_data"
  say "$app: output"
  once "$here/output" compare
  echo "output equal to the native build's: $(wc -c <"$here/output/native") bytes"
  say "$app: run times, $rounds rounds"
  for ((round = 1; round <= rounds; ++round)); do once "$here/run.$round" run_round; done
done

stored_bytes() { "$xaas" inspect "oci:$here/image:$1" --format json | jq .sharing.stored_bytes; } # TAG: of the IR modules
figures() { # of the application that is set
  local native=$work/$app/native.build build=$here/xaas.build deploy=$here/xaas.deploy sharing
  sharing=$("$xaas" inspect "oci:$here/image:ir" --format json | jq -r '.sharing | "\(.units)|\(.modules)"')
  local cells=("$app" "$(wall "$native")/$(cpu "$native")"
    "$(wall "$build")/$(cpu "$build")" "$(ratio "$(cpu "$build")" "$(cpu "$native")")"
    "$(wall "$deploy")/$(cpu "$deploy")" "$(ratio "$(cpu "$deploy")" "$(cpu "$native")")"
    "$(ratio "$(cpu "$here/xaas.again")" "$(cpu "$native")")" "$(ratio "$(cpu "$here/xaas.lto")" "$(cpu "$native")")"
    "$sharing" "$(image_bytes "oci:$here/image:ir" | human)" "$(image_bytes "oci:$here/image:here" | human)"
    "$(run_median portable)" "$(run_median native)" "$(run_median deployed)"
    "$(run_median lto)" "$(ratio "$(run_median deployed)" "$(run_median native)")"
    "$(ratio "$(run_median portable)" "$(run_median deployed)")" "$(ratio "$(run_median lto)" "$(run_median deployed)")"
    "$(ratio "$(cpu "$here/xaas.build-prepared")" "$(cpu "$native")")" "$(ratio "$(cpu "$here/xaas.prepared")" "$(cpu "$native")")"
    "$(ratio "$(cpu "$here/xaas.prepared-again")" "$(cpu "$native")")" "$(ratio "$(stored_bytes ir-prepared)" "$(stored_bytes ir)")"
    "$(ratio "$(run_median prepared)" "$(run_median deployed)")" "$(ratio "$(cpu "$here/xaas.prepared-lto")" "$(cpu "$native")")"
    "$(ratio "$(run_median prepared-lto)" "$(run_median lto)")")
  (IFS='|'; echo "${cells[*]}")
}

megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
table_row() { # of the application that is set
  local levels configurations
  levels=$(levels_of_image | wc -l)
  configurations=$("$xaas" inspect "oci:$here/image:ir" --format json | jq '.configurations | length')
  local cells=("$app" "$(run_median portable) s" "$(run_median native) s" "$(run_median deployed) s"
    "$(ratio "$(run_median portable)" "$(run_median native)")" "$(ratio "$(run_median deployed)" "$(run_median native)")"
    "$(megabytes "$(image_bytes "oci:$here/image:ir")") ($configurations)" "$(megabytes "$(bytes_of_levels)") ($levels)")
  (IFS='|'; echo "|${cells[*]}|")
}
if [ $table = yes ]; then
  say "user CPU seconds, medians of $rounds runs in turn; $machine"
  echo "|application|portable|native|deployed|portable/native|deployed/native|IR image (configurations)|image per level (levels)|"
  echo "|---|---|---|---|---|---|---|---|"
  for application in "${applications[@]}"; do in_application "$application"; table_row; done
  exit
fi

say "figures (seconds; medians of $rounds runs; $machine)"
{
  echo "application|native build s/CPU s|IR build, all levels s/CPU s|CPU ratio|deploy s/CPU s|CPU ratio|again|with LTO|units|modules|IR image|deployed|run portable|run native|run deployed|run LTO|deployed/native|portable/deployed|LTO/deployed|prepared: IR build/native|deploy/native|again/native|stored/raw|run/raw|with LTO/native|run LTO/raw LTO"
  for application in "${applications[@]}"; do in_application "$application"; figures; done
} | print_columns
