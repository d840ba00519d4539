#!/bin/bash
# Runs the given cases, by default all of tests/e2e/cases, each in its own temporary directory. Keeps the directory of a failed
# case. Prints which parts a passed case left out (`not run: ...`). Exits with 0 if none failed, with 77 if all were skipped,
# and otherwise with 1.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$here/../.." && pwd)
XAAS=${XAAS:-$REPO/build/release/bin/xaas}
export REPO XAAS E2E=$here
[ -x "$XAAS" ] || { echo "$0: no program $XAAS (set XAAS)" >&2; exit 2; }

# Where it is a file, programs that read it see what others wrote, and many cases fail for reasons of their own.
[ -c /dev/null ] || { echo "$0: /dev/null is not a device" >&2; exit 2; }

cases=("$@")
[ ${#cases[@]} -gt 0 ] || cases=("$here"/cases/*.sh)
passed=0 failed=0 skipped=0
limit=${E2E_TIMEOUT:-900}
current=
TIMEFORMAT='%R %U %S'
trap '[ -z "$current" ] || rm -rf "$current"; exit 130' INT TERM

run_case() {
  (cd "$current/work" && XAAS_CACHE_DIR=$current/cache XAAS_SITE_CONFIG=/nonexistent/config.json exec timeout -k 10 "$limit" bash -euo pipefail "$case") \
    >"$current/log" 2>&1 </dev/null
}

for case in "${cases[@]}"; do
  case=$(realpath "$case") # the case runs elsewhere
  name=$(basename "$case" .sh)
  current=$(mktemp -d "${TMPDIR:-/tmp}/xaas-e2e-$name-XXXXXX") || exit 1
  chmod 755 "$current"
  mkdir "$current/work"
  { time run_case; } 2>"$current/time"
  code=$?
  took=$(awk '{ printf "%.0f s, %.0f s of CPU time", $1, $2 + $3 }' "$current/time")
  [ -c /dev/null ] || { echo "/dev/null is not a device any more" >>"$current/log"; code=1; }
  case $code in
  0)
    echo "ok    $name ($took)"
    grep '^not run: ' "$current/log" | sed 's/^/      /' || true
    passed=$((passed + 1))
    rm -rf "$current"
    ;;
  77)
    echo "SKIP  $name: $(sed -n 's/^SKIPPED: //p' "$current/log" | tail -n 1)"
    skipped=$((skipped + 1))
    rm -rf "$current"
    ;;
  *)
    why="exit code $code"
    [ $code -ne 124 ] || why="no end after $limit s"
    echo "FAIL  $name ($took): $why; kept: $current; the end of its log:"
    tail -n 40 "$current/log" | sed 's/^/      | /'
    failed=$((failed + 1))
    ;;
  esac
  current=
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || exit 77
