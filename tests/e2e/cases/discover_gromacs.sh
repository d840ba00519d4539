#!/bin/bash
# `xaas inspect` of a real application, GROMACS: all that its install guide says can be chosen is found
# (tests/data/guides/gromacs.json, written from the guide), with a place for each, the same bytes twice, and
# the draft of `xaas init` is a spec that can be read. Its sources come from Debian.
source "$E2E/lib.sh"
needs jq apt-get

guide=$REPO/tests/data/guides/gromacs.json
"$REPO/tools/upstream_sources.sh" gromacs "$PWD/gromacs" || skip "the sources of GROMACS cannot be fetched"
grep -q 'VERSION 2022' gromacs/CMakeLists.txt || skip "the guide is of another release"

"$XAAS" inspect gromacs --format json >found.json
"$XAAS" inspect gromacs --format json | cmp - found.json || fail "another answer"
missing=$(jq -r --slurpfile guide "$guide" '
  . as $found | $guide[0].specializations | to_entries[] | .key as $option
  | .value - [$found.specializations[] | select(.option == $option) | .values[].value]
  | select(length > 0) | "\($option): \(join(" "))"' found.json)
[ -z "$missing" ] || fail "values that the guide has: $missing"
missing=$(jq -r --slurpfile guide "$guide" '$guide[0].options - [.options[].name] | join(" ")' found.json)
[ -z "$missing" ] || fail "options that the guide has: $missing"
missing=$(jq -r --slurpfile guide "$guide" '
  ($guide[0].packages | map(ascii_downcase)) - [.packages[].name | ascii_downcase] | join(" ")' found.json)
[ -z "$missing" ] || fail "packages that the guide has: $missing"
assert_json found.json '[.specializations[], .options[], .packages[]] | all(.evidence | length > 0)'
# A place is where the option is named.
jq -r '.options[] | select(.name | startswith("GMX_")) | [.name, .evidence[0].file, .evidence[0].line] | @tsv' found.json >places
[ "$(wc -l <places)" -gt 50 ] || fail "only $(wc -l <places) options"
elsewhere=0
while IFS=$'\t' read -r option path number; do
  [ "$(sed -n "${number}p" "gromacs/$path" | wc -l)" -eq 1 ] || fail "$option: no line $number in $path"
  sed -n "${number},$((number + 2))p" "gromacs/$path" | grep -q "$option" || elsewhere=$((elsewhere + 1))
done <places
# But for names that macros put together.
[ $elsewhere -le 5 ] || fail "$elsewhere options have a place that does not name them"
"$XAAS" inspect gromacs --schema paper >paper.json
assert_json paper.json ".internal_build == $(jq -c .internal "$guide")"

"$XAAS" init gromacs -o draft.json -q
assert_json draft.json '.build.system == "cmake" and (.configurations | map(.simd) | contains(["AVX2_256", "AVX_512"]))'
