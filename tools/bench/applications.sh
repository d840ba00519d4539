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
source "$(dirname "${BASH_SOURCE[0]}")/kinds.sh"
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
  minimap2 | hmmer | mmseqs2 | btllib | kissfft | zstd | soft-spheres | lapack | lammps) applications+=("$1"); shift ;;
  *) echo "usage: $0 [--rounds N] [--table] [minimap2|hmmer|mmseqs2|btllib|kissfft|zstd|soft-spheres|lapack|lammps]..." >&2; exit 2 ;;
  esac
done
[ ${#applications[@]} -gt 0 ] || applications=(minimap2 hmmer mmseqs2 btllib kissfft zstd soft-spheres lapack lammps)
open_bench

native() { local bin=$1; shift; "$work/$app/$bin/bin/$1" "${@:2}"; } # native DIRECTORY PROGRAM ARGUMENT...
container() {
  local run code=0
  run=$(mktemp -d /tmp/podman-XXXXXX) # podman refuses long names
  rm -rf "$here/podman" # a store belongs to one run directory
  (cd "$here" && podman --root "$here/podman" --runroot "$run" --storage-driver vfs run \
    --runtime runc --rm -i --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none -v "$data:$data" -w "$data" \
    --entrypoint "/usr/local/bin/$1" oci:image:here "${@:2}") || code=$?
  rm -rf "$run"
  return $code
}
# ROOT PROGRAM ARGUMENT...: without podman's start-up. The variable is what images of installed libraries set.
unpacked() { LD_LIBRARY_PATH=/usr/local/lib contained "$here/$1" "$data" "/usr/local/bin/$2" "${@:3}"; }

ir_build() { # FORM TAG: with an empty cache
  rm -rf "$here/cache.$1"
  local points="${app}_configuration[@]" configuration arguments=()
  for configuration in "${!points:-}"; do [ -z "$configuration" ] || arguments+=(--config "$configuration"); done
  XAAS_CACHE_DIR=$here/cache.$1 "$xaas" build "$spec" --source "$work/$app/source" --ir "$1" "${arguments[@]}" -o "oci:$here/image:$2"
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
