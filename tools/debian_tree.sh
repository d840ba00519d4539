# shellcheck shell=bash
# Trees of Debian's packages, made with mmdebstrap; sourced by scripts.

# debian_tree SUITE DIRECTORY [MMDEBSTRAP-OPTION...]: the way to the packages is this machine's: what apt needs to be told to get at
# them and, of its own suite, its sources. They are also in the tree. Of another suite, the archives are those of the machine's first
# source and, but for sid, which has none, of its security updates.
debian_tree() {
  local suite=$1 directory=$2 sources=() options=("${@:3}") list
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -s "$list" ] || sources+=("$list")
  done
  if ! grep -qx "VERSION_CODENAME=$suite" /etc/os-release; then
    local archive updates
    archive=$(cat "${sources[@]}" | grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | tr -d ' ' | head -n 1)
    updates=$(cat "${sources[@]}" | grep -v '^#' | grep -oE 'https?://[^ ]+/debian-security/?( |$)' | tr -d ' ' | head -n 1)
    sources=()
    [ -z "$archive" ] || sources+=("deb $archive $suite main")
    [ -z "$updates" ] || [ "$suite" = sid ] || sources+=("deb $updates $suite-security main")
    options+=(--aptopt='Acquire::Check-Valid-Until "false"')
  fi
  [ ${#sources[@]} -gt 0 ] || { echo "$0: no package source of Debian" >&2; return 1; }
  apt-config dump --format '%f "%v";%n' Acquire | grep -E '^Acquire::(https?|Check-|ForceIP|Retries)' | grep -v ' "";$' >"$directory.acquire" || true
  mmdebstrap --quiet --skip=output/dev --aptopt="$directory.acquire" "${options[@]}" "$suite" "$directory" "${sources[@]}" || return
  rm "$directory.acquire"
}

# relative_links DIRECTORY: makes the absolute links in a tree relative, because they lead out of it where it is a sysroot.
relative_links() {
  local link target
  find "$1" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
    ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$1$target")" "$link"
  done
}
