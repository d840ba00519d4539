#!/bin/bash
# Installs the dependencies, unless --no-install comes first; builds the `ci` preset; runs ctest with the other arguments. With
# --unit, which comes after --no-install: only what unit tests and fuzz targets need is installed, and only they run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install=yes
if [ "${1:-}" = --no-install ]; then
  install=no
  shift
fi

dependencies=()
if [ "${1:-}" = --unit ]; then
  dependencies=(--unit)
  shift
  set -- -LE '^e2e$' "$@"
fi

[ $install = no ] || tools/install-dependencies.sh "${dependencies[@]}"
# A file in the place of the device fails tests that have nothing to do with it. Its contents show where it comes from.
check_null() { # WHEN
  [ ! -c /dev/null ] || return 0
  echo "$0: /dev/null is not a device $1:" >&2
  ls -l --full-time /dev/null >&2
  head -c 1000 /dev/null >&2
  exit 1
}

check_null "after the installation of the dependencies"
start=$SECONDS
cmake --preset ci
# Compilers touch much memory. With huge pages they take up to a fifth less CPU time on machines with expensive page faults.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
cmake --build --preset ci
check_null "after the build"
built=$SECONDS
results=$PWD/build/ci/Testing/results.xml
rm -f "$results"
code=0
# One more than there are processors, because some tests wait.
ctest --preset ci --parallel $(($(nproc) + 1)) --output-junit "$results" "$@" || code=$?
# At the end of the log, where readers look first: the reasons of skipped tests, and the last lines of failed ones.
[ ! -s "$results" ] || python3 tools/test_results.py "$results"
check_null "after the tests"
echo "== seconds: build $((built - start)), tests $((SECONDS - built))"
exit $code
