#!/bin/bash
# The end-to-end cases that take more than a minute of CPU time, of parts that shorter cases of tests/e2e/cases touch as well. Run
# them before a release, and after changes to what they are about.
#
#   tools/bench/long.sh [CASE]...     by default all of tests/e2e/long
#
# $XAAS is the program, by default that of the release preset.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cases=("$root"/tests/e2e/long/*.sh)
if [ $# -gt 0 ]; then
  cases=()
  for name in "$@"; do
    [ -e "$root/tests/e2e/long/$name.sh" ] || { echo "$0: no case $name in tests/e2e/long" >&2; exit 2; }
    cases+=("$root/tests/e2e/long/$name.sh")
  done
fi
exec "$root/tests/e2e/run.sh" "${cases[@]}"
