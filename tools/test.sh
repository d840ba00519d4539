#!/bin/bash
# Everything up to all tests passed: dependencies (not with --no-install), build with the `ci` preset, ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install=yes
for argument in "$@"; do
  case "$argument" in
  --no-install) install=no ;;
  *)
    echo "usage: $0 [--no-install]" >&2
    exit 2
    ;;
  esac
done

[ $install = no ] || tools/install-dependencies.sh
cmake --preset ci
cmake --build --preset ci
ctest --preset ci --parallel "$(nproc)" || {
  code=$?
  # Once more at the end, where whoever reads the last lines of a log sees it: what the failed tests printed last.
  failed=build/ci/Testing/Temporary/LastTestsFailed.log
  [ ! -s $failed ] || cut -d: -f2 $failed | while read -r name; do
    printf '\n== %s\n' "$name"
    awk -v name="Testing: $name" '$0 ~ /^[0-9]+\/[0-9]+ Testing: / { on = substr($0, index($0, " ") + 1) == name } on' \
      build/ci/Testing/Temporary/LastTest.log | tail -n 40
  done
  exit $code
}
