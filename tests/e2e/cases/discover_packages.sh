#!/bin/bash
# `xaas inspect --schema paper` of Debian source packages of four build systems, compared with documents that were written
# from the packages' own documentation (tests/data/discovery): F1 of at least 0.9 in less than two seconds of CPU time and
# 400 MB of address space, and the same bytes twice. tools/bench/discovery.sh covers all packages.
source "$E2E/lib.sh"
needs jq apt-get python3

checked=0
for package in kissfft wsclean casacore elpa gegl scotch fftw3 hmmer; do
  "$REPO/tools/upstream_sources.sh" $package "$PWD/$package" || { echo "not fetched: $package"; continue; }
  system=()
  case $package in fftw3) system=(--build-system autotools) ;; kissfft) system=(--build-system make) ;; esac
  bash -c 'ulimit -t 2 -v 400000; exec "$@"' inspect "$XAAS" inspect $package "${system[@]}" --schema paper >$package.json ||
    fail "$package: inspect failed, or took more than 2 s or 400 MB of address space"
  "$XAAS" inspect $package "${system[@]}" --schema paper | cmp - $package.json || fail "$package: another answer"
  score=$("$REPO/tools/score_discovery.py" "$REPO/tests/data/discovery/$package.json" $package.json --facts)
  echo "$package: $score"
  awk -F'|' '{ exit !($3 >= 0.9) }' <<<"$score" || fail "$package: F1 below 0.9: $score"
  checked=$((checked + 1))
done
[ $checked -gt 0 ] || skip "no source package can be fetched"
[ $checked -eq 8 ] || echo "NOTE: only $checked of 8 packages could be fetched"
