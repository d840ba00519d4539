#!/bin/bash
# Compares lowered machine code with Clang's: every source of real applications from Debian's source packages, for three CPUs
# (parity/parity.cpp). The commands are those of the application's own build.
#
#   tools/bench/parity.sh [--arch aarch64] [--cpus NAME,...] [--files N] [--prepared] [minimap2|hmmer|fftw|gromacs]...
#                                                                                                    default: all
#
# --arch    of the code, default: x86_64. aarch64: minimap2 and fftw; compiled only, which needs no library of that
#           architecture but the C library (libc6-dev-arm64-cross)
# --cpus    LLVM names, default: this machine's, haswell and znver3; on aarch64 three levels and two CPUs
# --files   most sources of an application, chosen at random with a fixed seed, default: 200
# --prepared  also lower each unit from its module's prepared form, and sum the CPU seconds. "from raw only" counts units whose
#           object is Clang's only when it is lowered from the raw module
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=() files=200 cpus=() arch=x86_64 prepared=() suffix=
while [ $# -gt 0 ]; do
  case "$1" in
  --arch) arch=$2; shift 2 ;;
  --cpus) IFS=, read -ra cpus <<<"$2"; shift 2 ;;
  --files) files=$2; shift 2 ;;
  --prepared) prepared=(--prepared) suffix=.prepared; shift ;;
  minimap2 | hmmer | fftw | gromacs) applications+=("$1"); shift ;;
  *) echo "usage: $0 [--arch aarch64] [--cpus NAME,...] [--files N] [--prepared] [minimap2|hmmer|fftw|gromacs]..." >&2; exit 2 ;;
  esac
done
case $arch in
x86_64) [ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer fftw gromacs) ;;
aarch64)
  [ ${#applications[@]} -gt 0 ] || applications=(minimap2 fftw)
  [ ${#cpus[@]} -gt 0 ] || cpus=(armv8-a armv8.2-a+sve armv9-a neoverse-n1 neoverse-v1)
  ;;
*) echo "$0: --arch is x86_64 or aarch64" >&2; exit 2 ;;
esac
open_bench
parity=$(dirname "$xaas")/parity
[ -x "$parity" ] || die "no program at $parity: it is built beside xaas"
if [ "$arch" = x86_64 ]; then
  packages python3 libsimde-dev zlib1g-dev libdivsufsort-dev autoconf automake libtool cmake ninja-build libfftw3-dev libomp-22-dev
else
  packages python3 zlib1g-dev libc6-dev-arm64-cross
fi
[ ${#cpus[@]} -gt 0 ] || cpus=("$("$xaas" detect --format json -q | jq -r .cpu.name)" haswell znver3)

package_of() { case $1 in fftw) echo fftw3 ;; *) echo "$1" ;; esac; }

# A compiler that writes down how it was called, where that worked, for the build in the new directory $1.
logging_compilers() {
  local name target=()
  [ "$arch" = x86_64 ] || target=(--target=aarch64-linux-gnu -fuse-ld=lld)
  mkdir -p "$1/commands"
  for name in clang clang++; do
    cat >"$1/$name" <<END
#!/bin/bash
$name-22 ${target[*]} "\$@" || exit
for argument; do
  [ "\$argument" != -c ] || { printf '%s\\0' "\$PWD" $name "\$@" >"\$(mktemp '$1/commands/XXXXXXXX')"; break; }
done
END
    chmod +x "$1/$name"
  done
}
build() { # DIRECTORY: with these compilers, in a copy of the sources
  logging_compilers "$1"
  cp -r "$work/$app/source" "$1/source"
  cd "$1/source"
  case $app-$arch in
  minimap2-aarch64) make -j"$(nproc)" -k CC="$1/clang" arm_neon=1 aarch64=1 minimap2 || ls ./*.o ;; # no zlib to link with
  fftw-aarch64)
    ./configure CC="$1/clang" --host=aarch64-linux-gnu --enable-single --enable-neon
    make -j"$(nproc)"
    ;;
  minimap2-*) make -j"$(nproc)" CC="$1/clang" minimap2 ;;
  hmmer-*)
    AUTOHEADER=true autoreconf -fi
    ./configure CC="$1/clang" --enable-threads --enable-sse
    make -j"$(nproc)"
    ;;
  fftw-*)
    ./configure CC="$1/clang" --enable-single --enable-sse2 --enable-avx --enable-avx2 --enable-avx512
    make -j"$(nproc)"
    ;;
  gromacs-*)
    local arguments
    mapfile -t arguments < <(spec_arguments "$root/specs/applications/gromacs.json" simd=AVX2_256)
    cmake -S . -B build -G Ninja -DCMAKE_C_COMPILER="$1/clang" -DCMAKE_CXX_COMPILER="$1/clang++" -DCMAKE_BUILD_TYPE=Release \
      "${arguments[@]}"
    cmake --build build -j "$(nproc)"
    ;;
  esac
}
# A compilation database of what was compiled, in a fixed order; sources that do not exist any more are configure checks.
database() { # DIRECTORY FILE
  python3 - "$1" "$files" <<'END' >"$2"
import glob, json, os, random, sys
entries = {}
for path in glob.glob(sys.argv[1] + "/commands/*"):
    directory, *arguments = open(path, errors="surrogateescape").read().split("\0")[:-1]
    sources = [a for a in arguments[1:] if a.endswith((".c", ".cc", ".cpp", ".cxx"))]
    file = os.path.normpath(os.path.join(directory, sources[-1])) if sources else ""
    if os.path.exists(file) and "/CMakeFiles/" not in file and not os.path.basename(file).startswith("conftest"):
        entries[file, " ".join(arguments)] = {"directory": directory, "file": file, "arguments": arguments}
chosen = [entries[key] for key in sorted(entries)]
random.seed(1)
if len(chosen) > int(sys.argv[2]):
    chosen = random.sample(chosen, int(sys.argv[2]))
json.dump(chosen, sys.stdout, indent=1)
END
}
compare() { # CPU FILE: on all cores
  local part parts processes=() code=0
  parts=$(nproc)
  for ((part = 0; part < parts; ++part)); do
    "$parity" --arch "$arch" --cpu "$1" "${prepared[@]}" --part "$part/$parts" --keep "$here/different.$1$suffix" "$app_build/source" "$app_build.json" >"$2.$part" &
    processes+=($!)
  done
  for part in "${processes[@]}"; do wait "$part" || [ $? -eq 1 ] || code=1; done
  [ $code -eq 0 ] || die "parity failed"
  [ -z "$suffix" ] || cat "$2".[0-9]* | awk '/^seconds:/ { for (i = 2; i <= NF; ++i) sum[i] += $i } END { print sum[2], sum[3], sum[4], sum[5], sum[6] }' >"$2.seconds"
  cat "$2".[0-9]* | grep -v -e '^sum' -e '^seconds:' | sort >"$2.new"
  mv "$2.new" "$2"
  rm "$2".[0-9]*
}

for app in "${applications[@]}"; do
  here=$work/parity/$app/$program
  app_build=$work/parity/$app/build
  [ "$arch" = x86_64 ] || app_build+=-$arch
  mkdir -p "$here"
  say "$app: sources and their commands"
  once "$work/$app/source" debian_source "$(package_of "$app")"
  if [ ! -e "$app_build.json" ]; then
    rm -rf "$app_build"
    mkdir -p "$app_build"
    timed "$app_build.time" build "$app_build"
    once "$app_build.json" database "$app_build"
  fi
  for cpu in "${cpus[@]}"; do
    say "$app, $cpu"
    [ -e "$here/$cpu$suffix" ] || compare "$cpu" "$here/$cpu$suffix"
    cut -d: -f1 "$here/$cpu$suffix" | sort | uniq -c
  done
done

say "figures: $machine, $program"
{
  echo "application|CPU|sources|identical|from raw only|not prepared|not comparable|native objects|different"
  for app in "${applications[@]}"; do
    for cpu in "${cpus[@]}"; do
      result=$work/parity/$app/$program/$cpu$suffix
      counts=()
      for outcome in identical "identical from raw" "identical not prepared" "not comparable" "native object" different; do counts+=("$(grep -c "^$outcome:" "$result" || true)"); done
      (IFS='|'; echo "$app|$cpu|$(wc -l <"$result")|${counts[*]}")
    done
  done
} | column -t -s '|'
if [ -n "$suffix" ]; then
  say "CPU seconds of the sources that have a prepared form"
  {
    echo "application|CPU|sources|clang|lowering raw|/clang|preparing|/clang|lowering prepared|/clang"
    for app in "${applications[@]}"; do
      for cpu in "${cpus[@]}"; do
        read -r sources clang raw preparing finishing <"$work/parity/$app/$program/$cpu$suffix.seconds"
        echo "$app|$cpu|$sources|$clang|$raw|$(ratio "$raw" "$clang")|$preparing|$(ratio "$preparing" "$clang")|$finishing|$(ratio "$finishing" "$clang")"
      done
    done
  } | column -t -s '|'
fi
grep -h '^different:' "$work"/parity/*/"$program"/* || echo "no object is different"
