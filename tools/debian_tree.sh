# shellcheck shell=bash
# Trees of Debian's packages, made with mmdebstrap; sourced by scripts.

# debian_tree SUITE DIRECTORY [MMDEBSTRAP-OPTION...]: the way to the packages is this machine's: what apt needs to be told to get at
# them and, of its own suite, its sources. They are also in the tree, with their keys. Of another suite, the archive is that of the
# first source.
debian_tree() {
  local suite=$1 directory=$2 sources=() options=("${@:3}") list
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -s "$list" ] || sources+=("$list")
  done
  if ! grep -qx "VERSION_CODENAME=$suite" /etc/os-release; then
    mapfile -t sources < <(cat "${sources[@]}" | grep -oE 'https?://[^ ]+/debian/?( |$)' | tr -d ' ' | head -n 1)
    options+=(--aptopt='Acquire::Check-Valid-Until "false"')
  fi
  [ ${#sources[@]} -gt 0 ] || { echo "$0: no package source of Debian" >&2; return 1; }
  apt-config dump --format '%f "%v";%n' Acquire | grep -E '^Acquire::(https?|Check-|ForceIP|Retries)' | grep -v ' "";$' >"$directory.acquire" || true
  mmdebstrap --quiet --skip=output/dev --aptopt="$directory.acquire" "${options[@]}" "$suite" "$directory" "${sources[@]}" || return
  rm "$directory.acquire"
}
