#!/bin/bash
# Static checks. Runs every step, also after one that failed, and exits with 1 if one failed.
#
#   tools/lint.sh [--fix] [--sanitize] [STEP...]
#
#   format         the layout of C++ sources: clang-format, .clang-format
#   shell          shell scripts: shellcheck, .shellcheckrc
#   json           JSON files, schemas, and documents against their schemas: tools/check_json.py
#   architecture   which module includes which: tools/check_architecture.py
#   tidy           the checks of .clang-tidy; a source that passed is checked again only after a change: tools/clang_tidy.py
#   sanitize       builds the `sanitize` preset and runs the unit tests with it
#
# Without STEP: all but `sanitize`, which --sanitize adds because it is a second build. --fix formats the sources instead of
# checking their layout. The tools are those of tools/install-dependencies.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fix=no
sanitize=no
steps=()
for argument in "$@"; do
  case $argument in
  --fix) fix=yes ;;
  --sanitize) sanitize=yes ;;
  format | shell | json | architecture | tidy | sanitize) steps+=("$argument") ;;
  *)
    echo "usage: $0 [--fix] [--sanitize] [format] [shell] [json] [architecture] [tidy] [sanitize]" >&2
    exit 2
    ;;
  esac
done
[ ${#steps[@]} -gt 0 ] || steps=(format shell json architecture tidy)
[ $sanitize = no ] || steps+=(sanitize)
jobs=$(nproc)

sources() { # SUFFIX...: the repository's files with one of these suffixes, as NUL-separated names
  local suffix
  for suffix in "$@"; do
    git ls-files -z --cached --others --exclude-standard -- "*.$suffix"
  done | while IFS= read -r -d '' file; do
    [ ! -f "$file" ] || printf '%s\0' "$file"
  done
}

format() {
  local options=(--dry-run -Werror)
  [ $fix = no ] || options=(-i)
  sources cpp h | grep -zE '^(src|include|tests/(unit|fuzz))/' | xargs -0 -n 40 -P "$jobs" clang-format-22 "${options[@]}"
}

shell() {
  { sources sh; printf '.ci/run\0'; } | xargs -0 -n 8 -P "$jobs" shellcheck -f gcc
  # `grep -q` ends at the first match. With `pipefail`, a program that still writes then makes the whole pipe fail.
  ! sources sh | xargs -0 grep -nE '[^|]\| *grep -[a-zA-Z]*q' ||
    { echo "read the whole input: with finds (tests/e2e/lib.sh), or from <<<" >&2; return 1; }
}

json() {
  python3 tools/check_json.py
}

architecture() {
  python3 tools/check_architecture.py
}

tidy() {
  cmake --preset ci >/dev/null
  cmake --build --preset ci --target xaas_precompiled xaas_precompiled_clang -- --quiet
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1 python3 tools/clang_tidy.py build/ci src # as in tools/test.sh
}

sanitize() {
  cmake --preset sanitize >/dev/null
  cmake --build --preset sanitize -j "$jobs"
  ctest --preset sanitize --parallel "$jobs" --label-exclude e2e
}

failed=()
for step in "${steps[@]}"; do
  start=$SECONDS
  set +e # as part of a condition the step would run without `set -e`
  (set -e; "$step")
  code=$?
  set -e
  result=ok
  if [ $code -ne 0 ]; then
    result=FAILED
    failed+=("$step")
  fi
  echo "== $step: $result ($((SECONDS - start)) s)"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "$0: failed: ${failed[*]}" >&2
  exit 1
fi
