#!/bin/bash
# Three real applications from Debian's source packages, each: `xaas build` with every ISA level, `xaas deploy` for this
# machine, run from the OCI layout under podman, the output compared with a native build's; then the figures: seconds and CPU
# seconds of build and deploy beside a native build of one configuration in the same run, modules and units, sizes, run time
# against portable and native builds (taken in turn).
#
#   tools/bench/applications.sh [--rounds N] [APPLICATION]...     minimap2 hmmer mmseqs2; all, if none is named
#
# Needs root once, for source packages (deb-src) and build dependencies. Works in $XAAS_BENCH_DIR, else in a directory below
# the temporary one that it prints and keeps: what is finished there is not done again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
xaas=${XAAS:-$root/build/release/bin/xaas}
rounds=5
applications=()
while [ $# -gt 0 ]; do
  case "$1" in
  --rounds) rounds=$2; shift 2 ;;
  minimap2 | hmmer | mmseqs2) applications+=("$1"); shift ;;
  *) echo "usage: $0 [--rounds N] [minimap2|hmmer|mmseqs2]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer mmseqs2)
[ -x "$xaas" ] || { echo "no program at $xaas: build it, or set XAAS" >&2; exit 4; }

work=${XAAS_BENCH_DIR:-${TMPDIR:-/tmp}/xaas-bench}
mkdir -p "$work"
echo "working in $work"

say() { printf '\n== %s\n' "$*"; }

# timed FIGURE COMMAND...: runs it and keeps "wall cpu" in $work/$app/FIGURE. What has a figure is not run again.
timed() {
  local figure=$work/$app/$1; shift
  [ -s "$figure" ] && return 0
  local TIMEFORMAT='%R %U %S'
  { time "$@" >"$figure.log" 2>&1; } 2>"$figure.time" || { tail -n 30 "$figure.log" >&2; return 1; }
  awk '{printf "%.2f %.2f\n", $1, $2 + $3}' "$figure.time" >"$figure.new"
  mv "$figure.new" "$figure"
}
wall() { cut -d' ' -f1 "$work/$app/$1"; }
cpu() { cut -d' ' -f2 "$work/$app/$1"; }

packages() {
  if dpkg -s "$@" >/dev/null 2>&1; then return 0; fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >/dev/null
}
source_package() { # PACKAGE: its patched sources as $work/$app/source
  [ -d "$work/$app/source" ] && return 0
  if ! apt-get --print-uris source "$1" >/dev/null 2>&1; then
    sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources
    apt-get update -qq
  fi
  packages dpkg-dev
  rm -rf "$work/$app/fetch"; mkdir -p "$work/$app/fetch"
  (cd "$work/$app/fetch" && apt-get source -q "$1" >/dev/null 2>&1)
  mv "$work/$app/fetch"/*/ "$work/$app/source"
}

# Each application: its packages, a native build with extra compiler flags in $2 into $1, data, and a run of PROGRAM... whose
# output is a function of the data.
minimap2_prepare() { packages libsimde-dev zlib1g-dev; source_package minimap2; }
minimap2_native() {
  cp -r "$work/$app/source" "$1"
  make -C "$1" -j"$(nproc)" CC="clang-22 $2" minimap2
  mkdir -p "$1/bin" && mv "$1/minimap2" "$1/bin/"
}
minimap2_data() { # a random genome of 3 million bases and 3,000 reads of 4,000 with one base in ten changed
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

hmmer_prepare() { packages libdivsufsort-dev libsimde-dev autoconf automake libtool; source_package hmmer; }
hmmer_native() {
  cp -r "$work/$app/source" "$1.source"
  (cd "$1.source" && AUTOHEADER=true autoreconf -fi && ./configure CC="clang-22 $2" --prefix="$1" --enable-threads --enable-sse &&
    make -j"$(nproc)" && make install)
}
hmmer_data() {
  cp "$work/$app/source/tutorial/globins4.hmm" "$1/"
  "$work/$app/native/bin/hmmemit" -N 60000 --seed 11 "$1/globins4.hmm" >"$1/sequences.fa"
}
hmmer_run() { "$@" hmmsearch --cpu 0 "$data/globins4.hmm" "$data/sequences.fa"; }
hmmer_filter() { grep -v '^#'; }

mmseqs2_prepare() {
  packages libbz2-dev libc++-22-dev libc++abi-22-dev libgzstream-dev libsimde-dev libxxhash-dev libzstd-dev zlib1g-dev
  source_package mmseqs2
}
mmseqs2_native() {
  cmake -S "$work/$app/source" -B "$1.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS="$2" -DCMAKE_CXX_FLAGS="$2" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$1" \
    -DUSE_SYSTEM_ZSTD=1 -DNATIVE_ARCH=0 -DVERSION_OVERRIDE=14-7e284 -DINSTALL_UTIL=0
  cmake --build "$1.objects" && cmake --install "$1.objects"
}
mmseqs2_data() {
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

native() { local bin=$1; shift; "$work/$app/$bin/bin/$1" "${@:2}"; } # native DIRECTORY PROGRAM ARGUMENT...
container() {
  (cd "$work/$app" && exec podman --root "$work/$app/podman" --runroot "$work/$app/podman-run" --storage-driver vfs run \
    --runtime runc --rm --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none -v "$data:$data" \
    --entrypoint "/usr/local/bin/$1" oci:image:here "${@:2}")
}
unpacked() { # the same image as a root directory: no container start-up in the times
  bwrap --bind "$work/$app/rootfs" / --proc /proc --dev /dev --bind "$data" "$data" -- "/usr/local/bin/$1" "${@:2}"
}

compare() { # the deployed container's output against the native build's
  "${app}_run" native native 2>/dev/null | "${app}_filter" >"$work/$app/native.out"
  "${app}_run" container 2>"$work/$app/container.err" | "${app}_filter" >"$work/$app/container.out"
  [ -s "$work/$app/native.out" ] || { echo "$app: the native build printed nothing" >&2; exit 1; }
  cmp "$work/$app/native.out" "$work/$app/container.out" || { tail "$work/$app/container.err" >&2; exit 1; }
  echo "output equal to the native build's: $(wc -c <"$work/$app/native.out") bytes"
}

run_times() { # portable, native and deployed in turn; medians
  local kind TIMEFORMAT='%U'
  for kind in portable native deployed; do : >"$work/$app/run.$kind"; done
  for ((round = 0; round < rounds; ++round)); do
    for kind in portable native deployed; do
      local how=(native "$kind")
      [ $kind = deployed ] && how=(unpacked)
      { time "${app}_run" "${how[@]}" >/dev/null 2>&1; } 2>>"$work/$app/run.$kind"
    done
  done
}
median() { sort -n "$work/$app/run.$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

for app in "${applications[@]}"; do
  mkdir -p "$work/$app"
  data=$work/$app/data
  spec=$root/specs/applications/$app.json
  say "$app: sources"
  "${app}_prepare"
  say "$app: native build, portable build"
  timed native.build "${app}_native" "$work/$app/native" "-march=native"
  timed portable.build "${app}_native" "$work/$app/portable" ""
  say "$app: xaas build, xaas deploy"
  timed xaas.build "$xaas" build "$spec" --source "$work/$app/source" -o "oci:$work/$app/image:ir"
  timed xaas.deploy "$xaas" deploy "oci:$work/$app/image:ir" -o "oci:$work/$app/image:here"
  [ -d "$work/$app/rootfs" ] || "$xaas" deploy "oci:$work/$app/image:ir" -o "rootfs:$work/$app/rootfs" -q >/dev/null
  [ -d "$data" ] || { rm -rf "$data.new"; mkdir "$data.new"; "${app}_data" "$data.new"; mv "$data.new" "$data"; }
  say "$app: output"
  compare
  say "$app: run times, $rounds rounds"
  run_times
done

say "figures (seconds; medians of $rounds runs; $(nproc) cores, $("$xaas" detect --format json -q | jq -r .cpu.name))"
{
  echo "application|native build s/CPU s|IR build, all levels s/CPU s|CPU ratio|deploy s/CPU s|CPU ratio|units|modules|IR image|deployed|run portable|run native|run deployed|deployed/native|portable/deployed"
  for app in "${applications[@]}"; do
    inspect=$("$xaas" inspect "oci:$work/$app/image:ir" --format json)
    echo "$app|$(wall native.build)/$(cpu native.build)|$(wall xaas.build)/$(cpu xaas.build)|$(ratio "$(cpu xaas.build)" "$(cpu native.build)")|$(wall xaas.deploy)/$(cpu xaas.deploy)|$(ratio "$(cpu xaas.deploy)" "$(cpu native.build)")|$(jq .sharing.units <<<"$inspect")|$(jq .sharing.modules <<<"$inspect")|$(jq '[.layers[].size] | add' <<<"$inspect" | numfmt --to=iec)|$("$xaas" inspect "oci:$work/$app/image:here" --format json | jq '[.layers[].size] | add' | numfmt --to=iec)|$(median portable)|$(median native)|$(median deployed)|$(ratio "$(median deployed)" "$(median native)")|$(ratio "$(median portable)" "$(median deployed)")"
  done
} | awk -F'|' '{ for (i = 1; i <= NF; i++) cell[NR, i] = $i; n = NF } END { for (i = 1; i <= n; i++) { printf "%-30s", cell[1, i]; for (r = 2; r <= NR; r++) printf "%18s", cell[r, i]; print "" } }'
