#!/bin/bash
# Fetches the upstream sources of a Debian source package, without Debian's patches: tools/upstream_sources.sh PACKAGE DIRECTORY
# The checksum is the one that Debian signs. As root, enables source packages in the machine's package sources.
set -euo pipefail
package=$1 directory=$2
uris() { apt-get --print-uris source "$package" 2>/dev/null | tr -d "'" | grep -E '\.orig\.tar\.[a-z0-9]+ ' | head -1; }
line=$(uris || true)
if [ -z "$line" ] && [ "$(id -u)" -eq 0 ]; then
  sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources 2>/dev/null || true
  apt-get update -qq || true
  line=$(uris || true)
fi
[ -n "$line" ] || { echo "$0: no source package $package" >&2; exit 4; }
read -r uri file _ sum <<<"$line"
mkdir -p "$directory.new"
(cd "$directory.new" && /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$uri" "$PWD/$file" "$sum" >/dev/null) ||
  { rm -rf "$directory.new"; echo "$0: cannot download $file" >&2; exit 4; }
mkdir "$directory.new/tree"
tar xf "$directory.new/$file" -C "$directory.new/tree"
# Most archives have a single top directory.
top=("$directory.new/tree"/*)
if [ ${#top[@]} -eq 1 ] && [ -d "${top[0]}" ]; then mv "${top[0]}" "$directory"; else mv "$directory.new/tree" "$directory"; fi
rm -rf "$directory.new"
