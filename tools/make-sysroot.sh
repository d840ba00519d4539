#!/bin/bash
# Makes a sysroot for building xaas for another architecture: Debian's packages of its libraries, unpacked.
#
#   tools/make-sysroot.sh aarch64 [DIRECTORY]
#
# DIRECTORY (build/sysroot-aarch64) appears whole or not at all. Uses the package sources of this machine, which must be a Debian
# with LLVM 22, needs root and mmdebstrap, takes a minute, and 2 GB.
set -euo pipefail
directory=${2:+$(realpath -m -- "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/debian_tree.sh

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 aarch64 [DIRECTORY]" >&2
  exit 2
fi
case $1 in
aarch64) architecture=arm64 ;;
*)
  echo "$0: '$1' is not an architecture that another machine can build for; aarch64 is" >&2
  exit 2
  ;;
esac
directory=${directory:-$PWD/build/sysroot-$1}
if [ -e "$directory" ]; then
  echo "$0: $directory exists already" >&2
  exit 1
fi
libraries=$(tools/install-dependencies.sh --print-libraries | paste -sd,)
mkdir -p "$(dirname "$directory")"
new=$directory.new
trap 'rm -rf "$new" "$new.acquire"' EXIT
debian_tree "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$new" \
  --variant=extract --architectures="$architecture" --include="$libraries"
relative_links "$new"
mv "$new" "$directory"
