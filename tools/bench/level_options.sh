#!/bin/bash
# Runs the front door with every option of Clang's table: where a command claims to do the same at x86-64-v3 as at x86-64, it is run
# at both levels, and must leave the same files and print the same.
#
#   tools/bench/level_options.sh [--part I/N]
#
# --part   only the options whose number in the table is I modulo N (default: all, which takes hours)
#
# The tests must be built (cmake --build --preset ci).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage="usage: $0 [--part I/N]"
part=0/1
case "${1:-}" in
'') ;;
--part) part=${2:?$usage} ;;
*) die "$usage" ;;
esac
XAAS_TEST_SHARD=$part exec "$root/build/ci/tests/unit/test_frontdoor" --gtest_also_run_disabled_tests --gtest_filter='LevelOptions.DISABLED_Run'
