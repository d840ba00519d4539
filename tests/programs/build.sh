#!/bin/bash
# Builds all programs below $SRC/p into made/bin and made/lib with $CC, $CXX and $FC. The log of a program that does not build is
# left in made/failed, and the other programs are built.
set -uo pipefail
mkdir -p made && cd made || exit
export BIN=$PWD/bin LIB=$PWD/lib F="-O2 -I$SRC" L="${L:-} -Wl,-rpath,\$ORIGIN/../lib"
mkdir -p bin lib failed p
touch lib/.here failed/.here # installed in any case
find "$SRC/p" -mindepth 1 -maxdepth 1 -printf '%f\0' | sort -z | xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c '
  cp -r "$SRC/p/{}" p/ && cd "p/{}" && bash ./build.sh >log 2>&1 && [ -e "$BIN/{}" ] || cp log ../../failed/{}' || true
