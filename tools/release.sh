#!/bin/bash
# Makes a release from a clean clone of HEAD: the relocatable archive with manual pages, the Debian package, the source archive, and
# their checksums.
#
#   tools/release.sh [--aarch64] VERSION DIR
#
# VERSION must be the one in CMakeLists.txt, and HEAD's tag must be vVERSION if it has tags. DIR must not contain these files. The
# files have the date of the commit. Needs the packages of tools/install-dependencies.sh --build-only. --aarch64 cross-compiles
# archive and package for AArch64, too, which needs root, mmdebstrap and qemu-user.
set -euo pipefail
export LC_ALL=C

presets=(release)
[ "${1:-}" != --aarch64 ] || { presets+=(aarch64); shift; }
if [ $# -ne 2 ]; then
  echo "usage: $0 [--aarch64] VERSION DIR" >&2
  exit 2
fi
version=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
  echo "$0: $*" >&2
  exit 1
}
git -C "$source" rev-parse --quiet --verify HEAD >/dev/null || fail "$source is not a readable git repository"
named=$(git -C "$source" show HEAD:CMakeLists.txt | sed -n 's/^project(xaas VERSION \([0-9.]*\).*/\1/p')
[ "$named" = "$version" ] || fail "CMakeLists.txt has version '$named', not '$version'"
tags=$(git -C "$source" tag --points-at HEAD)
[ -z "$tags" ] || grep -qxF "v$version" <<<"$tags" || fail "HEAD has the tags $(xargs <<<"$tags"), but not v$version"
mkdir -p "$2"
output=$(cd "$2" && pwd)
arch_of() { if [ "$1" = release ]; then uname -m; else echo "$1"; fi; } # PRESET
sources=xaas-$version.tar.gz
files=("$sources" SHA256SUMS)
for preset in "${presets[@]}"; do
  debian=$(arch_of "$preset" | sed 's/x86_64/amd64/; s/aarch64/arm64/')
  files+=("xaas-$version-linux-$(arch_of "$preset").tar.gz" "xaas_${version}_$debian.deb")
done
for file in "${files[@]}"; do
  [ ! -e "$output/$file" ] || fail "$output/$file exists already"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/xaas-release-XXXXXX")
trap 'rm -rf "$work"' EXIT
git clone --quiet --no-hardlinks "$source" "$work/xaas"
cd "$work/xaas"
git checkout --quiet --detach "$(git -C "$source" rev-parse HEAD)"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
echo "xaas $version, commit $(git rev-parse HEAD)"

case " ${presets[*]} " in *" aarch64 "*) tools/make-sysroot.sh aarch64 ;; esac
for preset in "${presets[@]}"; do
  cmake --preset "$preset" -DXAAS_BUILD_TESTS=OFF >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "configuring failed"; }
  cmake --build --preset "$preset" >"$work/log" 2>&1 || { tail -n 50 "$work/log" >&2; fail "building failed"; }
  tools/make-archive.sh "build/$preset" "$work/xaas-$version-linux-$(arch_of "$preset").tar.gz"
  (cd "build/$preset" && cpack) >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "packaging failed"; }
  cp "build/$preset"/*.deb "$work"
done
git archive --format=tar --prefix="xaas-$version/" HEAD | gzip -n -9 >"$work/$sources"

# Checks of the result.
archive=xaas-$version-linux-$(uname -m).tar.gz
mkdir "$work/unpacked"
tar -xzf "$work/$archive" -C "$work/unpacked" --strip-components=1
said=$("$work/unpacked/bin/xaas" --version | head -n 1)
case $said in
*"$version"*) ;;
*) fail "the program in the archive has version '$said'" ;;
esac
for page in xaas.1 xaas-build.1 xaas-deploy.1; do
  [ -s "$work/unpacked/share/man/man1/$page" ] || fail "$archive has no manual page $page"
done
cd "$work"
for file in "${files[@]}"; do [ "$file" = SHA256SUMS ] || sha256sum "$file"; done >SHA256SUMS
mv "${files[@]}" "$output"
cat "$output/SHA256SUMS"
