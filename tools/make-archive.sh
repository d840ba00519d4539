#!/bin/bash
# Makes the relocatable archive: the program with its libraries and loader, for machines with an older or another libc.
#
#   tools/make-archive.sh BUILD_DIR OUTPUT.tar.gz [PROGRAM]
#
# Contains the files that `cmake --install BUILD_DIR` installs; PROGRAM, for tests, replaces the installed program. The same input
# gives the same bytes: the files have the date SOURCE_DATE_EPOCH, by default 1970. $GZIP_LEVEL (9) is
# for tests, which take less time with 1. The libraries of a program for another architecture are those of the sysroot that it
# was built with.
set -euo pipefail
export LC_ALL=C

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: $0 BUILD_DIR OUTPUT.tar.gz [PROGRAM]" >&2
  exit 2
fi
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
output=$2
program=${3:-}

fail() {
  echo "$0: $*" >&2
  exit 1
}
for tool in clang-22 readelf ldconfig tar gzip llvm-strip-22; do
  command -v $tool >/dev/null || PATH=$PATH:/sbin:/usr/sbin command -v $tool >/dev/null || fail "no $tool"
done
PATH=$PATH:/sbin:/usr/sbin

version=$(sed -n 's/^project(xaas VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
[ -n "$version" ] || fail "no version in CMakeLists.txt"

work=$(mktemp -d "${TMPDIR:-/tmp}/xaas-archive-XXXXXX")
trap 'rm -rf "$work"' EXIT

installed=
if [ -z "$program" ]; then
  cmake --install "$build" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
  program=$work/installed/bin/xaas
  [ -x "$program" ] || fail "cmake --install $build installed no bin/xaas"
  installed=yes
fi
case $(readelf -hW "$program" | sed -n 's/^ *Machine: *//p') in
*X86-64) arch=x86_64 loader_name=ld-linux-x86-64.so.2 kind=x86-64 ;;
AArch64) arch=aarch64 loader_name=ld-linux-aarch64.so.1 kind=AArch64 ;;
*) fail "$program is for neither x86-64 nor AArch64" ;;
esac
sysroot=
if [ "$arch" != "$(uname -m)" ]; then
  sysroot=$(sed -n 's/^CMAKE_SYSROOT:[^=]*=//p' "$build/CMakeCache.txt")
  [ -d "$sysroot" ] || fail "$program is for $arch, and $build/CMakeCache.txt names no sysroot"
fi
name=xaas-$version-linux-$arch
root=$work/$name
libexec=$root/libexec/xaas
mkdir -p "$root/bin" "$libexec/lib" "$root/share/doc/xaas"

if [ -n "$installed" ]; then
  [ ! -d "$work/installed/share" ] || cp -R "$work/installed/share/." "$root/share/"
  # Links to the program become links to the launcher.
  for link in "$work/installed/bin"/*; do
    if [ -L "$link" ] && [ "$(basename "$(readlink -f "$link")")" = xaas ]; then
      ln -s xaas "$root/bin/$(basename "$link")"
    fi
  done
fi
cp "$source/LICENSE" "$root/share/doc/xaas/LICENSE"
cp "$program" "$libexec/xaas"
llvm-strip-22 --strip-all "$libexec/xaas"

# The libraries of the program, and theirs in turn, found where the loader looks, but never in its directories for particular CPUs
# (glibc-hwcaps), because the archive runs on others.
if [ -n "$sysroot" ]; then
  find "$sysroot"/{usr/,}lib/"$arch-linux-gnu" -maxdepth 1 -name '*.so.*' -printf '%f %p\n' | sort >"$work/cache"
else
  ldconfig -p | sed -n "s/^\t\([^ ]*\) (libc6,$kind) => \(.*\)/\1 \2/p" >"$work/cache"
fi
find_library() { # NAME NEEDED-BY
  local directory entry origin
  origin=$(dirname "$(readlink -f "$2")")
  while IFS= read -r directory; do
    entry=${directory//\$ORIGIN/$origin}
    entry=${entry//\$\{ORIGIN\}/$origin}
    if [ -f "$entry/$1" ]; then
      echo "$entry/$1"
      return
    fi
  done < <(readelf -dW "$2" | sed -n 's/.*(RU\?N\?R\?PATH).*\[\(.*\)\]/\1/p' | tr ':' '\n')
  awk -v name="$1" '$1 == name {print $2; exit}' "$work/cache"
}

loader=
queue=("$program")
# The program loads libcurl by name when it needs it.
loaded=libcurl.so.4
path=$(find_library "$loaded" "$program")
[ -n "$path" ] || fail "no library $loaded, which $program loads"
cp -L "$path" "$libexec/lib/$loaded"
queue+=("$path")
while [ ${#queue[@]} -gt 0 ]; do
  object=${queue[0]}
  queue=("${queue[@]:1}")
  while IFS= read -r needed; do
    [ ! -e "$libexec/lib/$needed" ] || continue
    path=$(find_library "$needed" "$object")
    [ -n "$path" ] || fail "no library $needed, needed by $object"
    if [ "$needed" = $loader_name ]; then
      loader=$path
      continue
    fi
    cp -L "$path" "$libexec/lib/$needed"
    queue+=("$path")
  done < <(readelf -dW "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
done
[ -e "$libexec/lib/libc.so.6" ] || fail "$program does not need libc.so.6: nothing to make relocatable"
# `detect` asks libraries of drivers about GPUs. They were linked when the C library had more parts.
parts=$(grep -o 'CLibraryPart{"lib[^"]*", true}' "$source/include/xaas/loader/c_library.h" | cut -d '"' -f 2)
[[ $parts == *libdl.so.2* ]] || fail "include/xaas/loader/c_library.h does not list the parts of the C library as expected"
for part in $parts; do
  [ ! -e "$libexec/lib/$part" ] || continue
  path=$(find_library "$part" "$program")
  [ -n "$path" ] || fail "no library $part, a part of the C library"
  cp -L "$path" "$libexec/lib/$part"
done
loader=${loader:-$(awk -v name=$loader_name '$1 == name {print $2; exit}' "$work/cache")}
[ -n "$loader" ] || fail "no loader $loader_name"

# The loader has the host's library directories and /etc/ld.so.preload written into it. No option turns them off, and a
# preloaded library of another libc, or a name service module, would crash the program. Paths of the same length without
# libraries replace them.
pattern="/lib/$arch-linux-gnu/\\x00/usr/lib/$arch-linux-gnu/\\x00/lib/\\x00/usr/lib/\\x00"
nowhere="/dev/null/$arch-none/\\x00/dev/null/usr/$arch-none/\\x00/sys/\\x00/sys/dev/\\x00"
cp -L "$loader" "$libexec/$loader_name"
for place in "$pattern" /etc/ld.so.preload; do
  grep -qaP "$place" "$libexec/$loader_name" || fail "$loader does not name its directories as expected: $place"
done
sed -i -e "s#$pattern#$nowhere#g" -e 's#/etc/ld.so.preload#/dev/null/no-files#g' "$libexec/$loader_name"
[ "$(stat -L -c %s "$loader")" = "$(stat -c %s "$libexec/$loader_name")" ] || fail "the loader changed its size"

clang-22 --target="$arch-linux-gnu" ${sysroot:+"--sysroot=$sysroot"} -fuse-ld=lld -static -Os -s -Wall -Wextra -Werror \
  -o "$root/bin/xaas" "$source/tools/launcher/launcher.c"

chmod -R u+rwX,go+rX,go-w "$root"
chmod 755 "$root/bin/xaas" "$libexec/xaas" "$libexec/$loader_name"
tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" \
  -C "$work" -cf - "$name" | gzip -n "-${GZIP_LEVEL:-9}" >"$work/archive"
mv "$work/archive" "$output"
echo "$output: $(stat -c %s "$output") bytes, $(find "$libexec/lib" -type f | wc -l) libraries"
