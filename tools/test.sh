#!/bin/bash
# Installs the dependencies, unless --no-install comes first; builds the `ci` preset; runs ctest with the other arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install=yes
if [ "${1:-}" = --no-install ]; then
  install=no
  shift
fi

[ $install = no ] || tools/install-dependencies.sh
start=$SECONDS
cmake --preset ci
cmake --build --preset ci
built=$SECONDS
results=$PWD/build/ci/Testing/results.xml
rm -f "$results"
code=0
ctest --preset ci --parallel "$(nproc)" --output-junit "$results" "$@" || code=$?
# At the end of the log, where readers look first: the reasons of skipped tests, and the last lines of failed ones.
[ ! -s "$results" ] || python3 tools/test_results.py "$results"
echo "== seconds: build $((built - start)), tests $((SECONDS - built))"
exit $code
