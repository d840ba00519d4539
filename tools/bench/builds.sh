#!/bin/bash
# What `xaas build` of all ISA levels costs beside a native build of one: real applications from Debian's source packages
# (kinds.sh). In turn, in each round: a native build for this machine, an IR build with empty caches with raw and with prepared
# modules, and the last once more with the caches that it left, which is what a build in CI costs when nothing has changed.
# CPU seconds; `configure` is part of all of them.
#
#   tools/bench/builds.sh [--rounds N] [APPLICATION]...
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/kinds.sh"
rounds=3
applications=()
known=(minimap2 hmmer mmseqs2 btllib kissfft zstd lapack lammps)
while [ $# -gt 0 ]; do
  case "$1" in
  --rounds) rounds=$2; shift 2 ;;
  -*) echo "usage: $0 [--rounds N] [APPLICATION]..." >&2; exit 2 ;;
  *) applications+=("$1"); shift ;;
  esac
done
for application in "${applications[@]}"; do
  [[ " ${known[*]} " == *" $application "* ]] || { echo "$0: no application $application; there are: ${known[*]}" >&2; exit 2; }
done
[ ${#applications[@]} -gt 0 ] || applications=("${known[@]}")
open_bench

ir_build() { # CACHE IMAGE OPTION...
  local points="${app}_configuration[@]" configuration arguments=()
  for configuration in "${!points:-}"; do [ -z "$configuration" ] || arguments+=(--config "$configuration"); done
  XAAS_CACHE_DIR=$1 "$xaas" build "$spec" --source "$work/$app/source" "${arguments[@]}" -o "$2" "${@:3}"
}
ir_build_cold() { rm -rf "$1"; ir_build "$@"; }

measure() { # ROUND
  timed "$here/native.$1" again "$here/native" "${app}_native" "-march=native"
  rm -rf "$here/native" "$here/native".*objects "$here/image"
  timed "$here/raw.$1" ir_build_cold "$here/cache" "oci:$here/image:raw" --ir raw
  timed "$here/prepared.$1" ir_build_cold "$here/cache" "oci:$here/image:prepared" --ir prepared
  timed "$here/again.$1" ir_build "$here/cache" "oci:$here/image:again" --ir prepared
}
median_of() { for ((round = 1; round <= rounds; ++round)); do cpu "$here/$1.$round"; done | median; }

for app in "${applications[@]}"; do
  here=$work/$app/builds-$program
  spec=$root/specs/applications/$app.json
  [ -f "$spec" ] || spec=$root/examples/$app/xaas.json
  mkdir -p "$here"
  say "$app"
  "${app}_packages"
  once "$work/$app/source" debian_source "$app"
  for ((round = 1; round <= rounds; ++round)); do measure "$round"; done
done

say "CPU seconds, medians of $rounds rounds; ratios to the native build; $machine"
{
  echo "application|native build|IR build, raw|prepared|again"
  for app in "${applications[@]}"; do
    here=$work/$app/builds-$program
    native=$(median_of native)
    echo "$app|$native|$(ratio "$(median_of raw)" "$native")|$(ratio "$(median_of prepared)" "$native")|$(ratio "$(median_of again)" "$native")"
  done
} | print_columns
