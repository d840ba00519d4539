#!/bin/bash
# From nothing to a specialized container: installs the dependencies (not with --no-install), builds the program, builds an
# example into an IR image, deploys and runs it on this machine, and compares its results with those of portable and native
# builds of the same sources. Exits non-zero if a step fails or the results differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

example=soft-spheres
rounds=3
install=yes
for argument in "$@"; do
  case "$argument" in
  --no-install) install=no ;;
  *)
    echo "usage: $0 [--no-install]" >&2
    exit 2
    ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }

work=$(mktemp -d "${TMPDIR:-/tmp}/xaas-demo-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ $install = yes ]; then
  say "dependencies"
  tools/install-dependencies.sh
fi

say "building xaas"
cmake --preset release
cmake --build --preset release --target xaas
xaas=$PWD/build/release/bin/xaas
"$xaas" --version

compile() { # NAME FLAGS: builds the example without xaas
  cmake -S "examples/$example" -B "$work/$1" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="$2" -DCMAKE_CXX_FLAGS="$2" >"$work/$1.log" 2>&1 &&
    cmake --build "$work/$1" >>"$work/$1.log" 2>&1 || { cat "$work/$1.log" >&2; exit 1; }
}
say "compiling examples/$example without xaas: -O3, and -O3 -march=native"
compile portable ""
compile native "-march=native"

image=oci:$work/image
say "xaas build: one IR image for every configuration"
"$xaas" build "examples/$example" -o "$image:ir"
say "xaas inspect"
"$xaas" inspect "$image:ir"
say "xaas deploy: for this machine"
"$xaas" deploy "$image:ir" -o "$image:here" --explain

# Runs a program of the image with podman, or else in the unpacked image in a mount namespace.
# A temporary store, with the driver vfs because overlay leaves mounts. The path is relative, because podman derives the image's
# name from it and accepts no upper case.
in_podman() (
  cd "$work"
  exec podman --root "$work/podman" --runroot "$work/podman-run" --storage-driver vfs run --runtime runc --rm \
    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none oci:image:here "$@"
)
in_bwrap() { bwrap --bind "$work/rootfs" / --proc /proc --dev /dev --unshare-all -- "/usr/local/bin/$example" "$@"; }
say "running the deployed image"
if command -v podman >/dev/null && in_podman --steps 1 >"$work/try.log" 2>&1; then
  deployed=in_podman
  echo "as a container: podman, runtime runc"
else
  echo "podman is not usable here: $(tail -n 1 "$work/try.log" 2>/dev/null || echo not installed)"
  command -v bwrap >/dev/null || { echo "and bwrap is not installed" >&2; exit 8; }
  "$xaas" deploy "$image:ir" -o "rootfs:$work/rootfs" >/dev/null
  in_bwrap --steps 1 >/dev/null
  deployed=in_bwrap
  echo "instead: the same image unpacked, as the root of bwrap"
fi

for ((round = 1; round <= rounds; ++round)); do
  "$work/portable/$example" >"$work/portable.$round"
  "$work/native/$example" >"$work/native.$round"
  $deployed >"$work/deployed.$round"
  for what in portable native deployed; do
    printf 'round %d: %-9s %s s\n' "$round" "$what" "$(awk '$1 == "seconds" {print $2}' "$work/$what.$round")"
  done
done

best() { awk '$1 == "seconds" {print $2}' "$work/$1".[0-9]* | sort -n | head -n 1; }
say "best of $rounds rounds"
portable=$(best portable)
printf '%-10s %9s %22s\n' "" seconds "times portable speed"
for what in portable native deployed; do
  awk -v what=$what -v seconds="$(best $what)" -v portable="$portable" \
    'BEGIN { printf "%-10s %9.3f %22.2f\n", what, seconds, portable / seconds }'
done

results=$(grep -h '^checksum' "$work"/{portable,native,deployed}.[0-9]* | sort -u)
if [ "$(wc -l <<<"$results")" -ne 1 ] || [ -z "$results" ]; then
  printf 'the results differ:\n%s\n' "$results" >&2
  exit 1
fi
echo "all results are equal: $results"
