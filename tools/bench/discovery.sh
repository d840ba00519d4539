#!/bin/bash
# `xaas inspect --schema paper` of Debian source packages beside documents that somebody wrote from the packages' own
# documentation (tests/data/discovery): precision, recall and F1 over facts, seconds, memory, and whether a second run gives
# the same bytes.
#
#   tools/bench/discovery.sh [--facts] [PACKAGE]...     all that have a document, if none is named
#
# A fact is a category, a name in it and one attribute that has a value. Equal: right. Found with another value, or found only:
# wrong. In the document only: missed. --facts names those that are not right.
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
build_system_of() { case $1 in fftw3 | hypre) echo --build-system autotools ;; kissfft | openblas) echo --build-system make ;; esac; }

score() { # TRUTH FOUND
  python3 - "$1" "$2" "$facts" <<'END'
import json, sys
compared = {"parallel_programming_libraries": ["used_as_default", "build_flag"], "gpu_backends": ["used_as_default", "build_flag"],
            "linear_algebra_libraries": ["used_as_default"], "FFT_libraries": ["built-in", "used_as_default", "build_flag"],
            "simd_vectorization": ["build_flag", "default"]}
single = {"gpu_build": ["value", "build_flag"], "build_system": ["type", "minimum_version"], "internal_build": ["library_name", "build_flag"]}
def name(text):
    return text.lower().replace("-", "_").replace(" ", "_")
def facts_of(path):
    document, facts = json.load(open(path)), {}
    for category, attributes in compared.items():
        for key, entry in document[category].items():
            for attribute in attributes:
                facts[category, name(key), attribute] = entry.get(attribute)
    for category, attributes in single.items():
        for attribute in attributes:
            value = document[category].get(attribute)
            facts[category, "", attribute] = name(value) if attribute in ("type", "library_name") and value else value
    return {key: value for key, value in facts.items() if value is not None}
truth, found = facts_of(sys.argv[1]), facts_of(sys.argv[2])
right = sum(found.get(key) == value for key, value in truth.items())
wrong = len(found) - right
missed = sum(key not in found for key in truth)
if sys.argv[3] == "yes":
    for key in sorted(set(truth) | set(found)):
        if truth.get(key) != found.get(key):
            print("  ", ".".join(key), "expected", truth.get(key), "found", found.get(key), file=sys.stderr)
precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
print(f"{precision:.3f}|{recall:.3f}|{2 * precision * recall / max(1e-9, precision + recall):.3f}|{right}|{wrong}|{missed}")
END
}

rows=("package|seconds|KiB|precision|recall|F1|right|wrong|missed")
for app in "${packages[@]}"; do
  here=$work/$app/$program
  mkdir -p "$here"
  once "$work/$app/source" debian_source "$app"
  read -ra options <<<"$(build_system_of "$app")"
  /usr/bin/time -o "$here/time" -f '%e|%M' "$xaas" inspect "$work/$app/source" "${options[@]}" --schema paper >"$here/found.json"
  "$xaas" inspect "$work/$app/source" "${options[@]}" --schema paper 2>/dev/null | cmp - "$here/found.json" || die "$app: another answer"
  [ $facts = no ] || echo "$app" >&2
  rows+=("$app|$(cat "$here/time")|$(score "$truths/$app.json" "$here/found.json")")
done
printf '%s\n' "${rows[@]}" | column -t -s '|'
