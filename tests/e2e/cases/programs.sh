#!/bin/bash
# Small programs, from the tables in tests/programs, print the same as those of plain Clang: deployed for the oldest CPU, and for
# this one with --lto. COMBINATIONS=all (tools/bench/programs.sh) takes all combinations of their features, not only some, and
# deploys for three CPUs with and without --lto, also from raw modules. A program prints the same on every CPU, so Clang builds
# it once; with REFERENCES=all, for each CPU. PROGRAMS=REGEX limits the case to programs with matching names.
source "$E2E/lib.sh"
needs jq python3 clang-22 clang++-22 qemu-x86_64

sample=6
[ "${COMBINATIONS:-}" != all ] || sample=1
python3 "$REPO/tests/programs/make.py" --sample $sample src "${PROGRAMS:-}"
level=$("$XAAS" detect --format json -q | jq -r .cpu.level)
declare -A emulated=([nehalem]=Nehalem [haswell]=Haswell)
runs_here() { # TARGET
  case $1 in
  nehalem) [ "$level" != x86-64 ] ;;
  haswell) [[ $level == x86-64-v[34] ]] ;;
  esac
}

# Each program's standard output and exit code, in a file of its own.
run_programs() { # DIRECTORY OUTPUTS TARGET [LEVEL]: all, or those from a configuration of that level
  local name of ways how code
  mkdir "$2"
  while read -r name _ of ways; do
    [ $# -lt 4 ] || [ "$of" = any ] || [ "$of" = "$4" ] || continue
    how=()
    if [ "$3" != native ] && { [[ $ways == *cpu* ]] || ! runs_here "$3"; }; then
      how=(qemu-x86_64 -cpu "${emulated[$3]}")
    fi
    if [ -e "$1/failed/$name" ]; then
      { echo "does not build:" && cat "$1/failed/$name"; } >"$2/$name"
      continue
    fi
    code=0
    LD_LIBRARY_PATH=$1/lib timeout 60 "${how[@]}" "$1/bin/$name" >"$2/$name" 2>/dev/null </dev/null || code=$?
    printf '\nexit code %s\n' $code >>"$2/$name"
  done <list 2>/dev/null # messages of bash about signals
}
compare() { # GOT TARGET WHAT
  local name want
  want=want-$2
  [ -d "$want" ] || want="want-native"
  # Unselected programs have no reference.
  for name in $(LC_ALL=C diff -q "$want" "$1" | sed -n "s,^Files $want/\\(.*\\) and .* differ\$,\\1,p"); do
    echo "$name differs $3:"
    diff "$want/$name" "$1/$name" | head -n 12 | sed 's/^/    /' || true
    different+=("$name $3")
  done
}

cp src/list list
make_references() {
  local references=native target
  [ "${REFERENCES:-}" != all ] || references="nehalem haswell native"
  for target in $references; do
    mkdir "clang-$target"
    (cd "clang-$target" && SRC=$PWD/../src CC="clang-22 -march=$target" CXX="clang++-22 -march=$target" FC="flang-22 -march=$target" \
      L=-fuse-ld=lld bash ../src/build.sh)
    [ -z "$(ls "clang-$target/made/failed")" ] || {
      tail -n 5 "clang-$target"/made/failed/*
      fail "the tables have programs that Clang does not build"
    }
    run_programs "$PWD/clang-$target/made" "want-$target" "$target"
  done
}
deploy_and_run() { # TARGET [--lto]
  local cpu=()
  [ "$1" = native ] || cpu=(--cpu "$1")
  "$XAAS" deploy oci:app:ir "${cpu[@]}" "${@:2}" -o "rootfs:$1${2:-}" -q || return
  run_programs "$PWD/$1${2:-}/usr/local" "got-$1${2:-}" "$1" x86-64
  touch "got-$1${2:-}/.all"
}

# Two at a time, as much of it is starting small processes.
make_references &
references=$!
"$XAAS" build src -o oci:app:ir -q
wait $references
different=()
deploys=("nehalem" "native --lto")
[ "${COMBINATIONS:-}" != all ] || deploys=({nehalem,haswell,native}{," --lto"})
for deploy in "${deploys[@]}"; do
  [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n || true
  read -r target lto <<<"$deploy"
  deploy_and_run "$target" ${lto:+"$lto"} &
done
wait
for deploy in "${deploys[@]}"; do
  read -r target lto <<<"$deploy"
  if [ -e "got-$target$lto/.all" ]; then
    compare "got-$target$lto" "$target" "for $deploy"
  else
    different+=("all for $deploy, which do not deploy or run")
  fi
done

if [ "${COMBINATIONS:-}" = all ]; then # the same from raw modules, for one target
  "$XAAS" build src --ir raw -o oci:app:raw -q
  "$XAAS" deploy oci:app:raw -o rootfs:raw -q
  run_programs "$PWD/raw/usr/local" got-raw native x86-64
  compare got-raw native "from raw modules for native"
fi

# Vectors of 64 bytes return in other registers from AVX-512 on.
if [ "$level" = x86-64-v4 ]; then
  python3 "$REPO/tests/programs/make.py" --sample $sample wide '^abi-.*(fixed|v16f|x6d)' x86-64-v3 >/dev/null
  cp wide/list list
  "$XAAS" build wide -o oci:app:wide -q
  "$XAAS" deploy oci:app:wide -o rootfs:wide-tree -q
  run_programs "$PWD/wide-tree/usr/local" got-wide native x86-64-v3
  compare got-wide native "from x86-64-v3 for native"
else
  echo "not run: vectors of 64 bytes from x86-64-v3 for this CPU, which has no AVX-512"
fi
cut -d' ' -f2 src/list | sort | uniq -c
[ ${#different[@]} -eq 0 ] || fail "${#different[@]} print something else than Clang's: $(printf '%s; ' "${different[@]}")"
