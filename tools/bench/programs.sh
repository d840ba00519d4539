#!/bin/bash
# The case tests/e2e/cases/programs.sh in all its combinations: the small programs of tests/programs for three CPUs, each with and
# without --lto, against what Clang builds for that CPU, and from raw modules.
#
#   [PROGRAMS=REGEX] tools/bench/programs.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -eq 0 ] || { echo "usage: [PROGRAMS=REGEX] $0" >&2; exit 2; }
open_bench
XAAS=$xaas COMBINATIONS=all REFERENCES=all E2E_TIMEOUT=10800 exec "$root/tests/e2e/run.sh" "$root/tests/e2e/cases/programs.sh"
