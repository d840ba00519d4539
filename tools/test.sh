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
ctest --preset ci --parallel "$(nproc)"
