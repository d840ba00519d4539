# shellcheck shell=bash
# Helpers for the cases; sourced by each. A case runs with `set -euo pipefail` in an empty directory of its own.
# It sees XAAS (the program), REPO (this repository) and XAAS_CACHE_DIR (its own).

set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() { # said aloud by the runner
  echo "SKIPPED: $*"
  exit 77
}

needs() { # TOOL...: skips the case where one is not there
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
}

expect_exit() { # CODE COMMAND...: runs it; its output stays visible
  local want=$1 got=0
  shift
  "$@" || got=$?
  [ "$got" -eq "$want" ] || fail "exit code $got instead of $want: $*"
}

expect_equal() { # WHAT GOT WANT; nothing is never what we want
  [ -n "$3" ] || fail "$1: nothing to compare '$2' with"
  [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

json() { # FILE FILTER: one value; fails where it is null or absent
  jq -er "$2" "$1" || fail "$1 has no $2"
}

assert_json() { # FILE FILTER: holds
  jq -e "$2" "$1" >/dev/null || fail "$1: not true: $2; it is: $(cat "$1")"
}

image_digest() { # LAYOUT TAG: of the manifest
  jq -er --arg tag "$2" \
    '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest' "$1/index.json"
}

# LAYOUT TAG ARG...: in podman, with a store of our own so that nothing stays behind (driver vfs: overlay leaves mounts).
# LAYOUT is relative and in lower case, because podman makes the image's name of it.
run_image() {
  local image=oci:$1:$2
  shift 2
  podman --root "$PWD/podman" --runroot "$PWD/podman-run" --storage-driver vfs run --runtime runc --rm \
    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none "$image" "$@"
}

as_nobody() { # COMMAND...: as an ordinary user if we are root, with an empty environment and an empty PATH
  local become=()
  if [ "$(id -u)" -eq 0 ]; then
    become=("$(command -v setpriv)" --reuid=65534 --regid=65534 --clear-groups)
  fi
  "${become[@]}" "$(command -v env)" -i PATH=/nonexistent "$@"
}

result_of() { # FILE: the line of the example that must not depend on the machine
  grep '^checksum ' "$1" || fail "no checksum in $1: $(cat "$1")"
}
