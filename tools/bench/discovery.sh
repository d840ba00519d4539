#!/bin/bash
# `xaas inspect --schema paper` of Debian source packages, compared with documents written from the packages' own
# documentation (tests/data/discovery): precision, recall and F1 over facts, seconds, memory, and whether a second run gives
# the same bytes.
#
#   tools/bench/discovery.sh [--facts] [PACKAGE]...     default: all that have a document
#
# How facts are counted: tools/score_discovery.py; --facts lists the wrong ones.
#
# Needs root once, for source packages (deb-src).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
facts=no packages=()
while [ $# -gt 0 ]; do
  case "$1" in
  --facts) facts=yes; shift ;;
  -*) echo "usage: $0 [--facts] [PACKAGE]..." >&2; exit 2 ;;
  *) packages+=("$1"); shift ;;
  esac
done
truths=$root/tests/data/discovery
[ ${#packages[@]} -gt 0 ] || mapfile -t packages < <(cd "$truths" && printf '%s\n' *.json | sed 's/\.json$//')
open_bench
packages python3 time

# Of packages that have several build systems, the one that the document is about.
build_system_of() { case $1 in fftw3 | hdf5 | hypre) echo --build-system autotools ;; kissfft | openblas | suitesparse) echo --build-system make ;; esac; }

score() { # TRUTH FOUND
  if [ $facts = yes ]; then "$root/tools/score_discovery.py" "$1" "$2" --facts; else "$root/tools/score_discovery.py" "$1" "$2"; fi
}

rows=("package|seconds|KiB|precision|recall|F1|right|wrong|missed")
for app in "${packages[@]}"; do
  here=$work/$app/$program
  mkdir -p "$here" "$work/$app/upstream" # a project of make has its directory's name
  once "$work/$app/upstream/$app" "$root/tools/upstream_sources.sh" "$app"
  read -ra options <<<"$(build_system_of "$app")"
  /usr/bin/time -o "$here/time" -f '%e|%M' "$xaas" inspect "$work/$app/upstream/$app" "${options[@]}" --schema paper >"$here/found.json"
  "$xaas" inspect "$work/$app/upstream/$app" "${options[@]}" --schema paper 2>/dev/null | cmp - "$here/found.json" || die "$app: another answer"
  [ $facts = no ] || echo "$app" >&2
  rows+=("$app|$(cat "$here/time")|$(score "$truths/$app.json" "$here/found.json")")
done
printf '%s\n' "${rows[@]}" | column -t -s '|'
