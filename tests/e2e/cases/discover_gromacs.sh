#!/bin/bash
# `xaas inspect` of a real application, GROMACS, from Debian's sources: finds every choice that its install guide
# documents (tests/data/guides/gromacs.json, written from the guide), each with a place, and gives the same bytes twice.
# The draft of `xaas init` is a valid spec. The top CMakeLists.txt alone gives the same choices.
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
# The option is named at its place.
jq -r '.options[] | select(.name | startswith("GMX_")) | [.name, .evidence[0].file, .evidence[0].line] | @tsv' found.json >places
[ "$(wc -l <places)" -gt 50 ] || fail "only $(wc -l <places) options"
elsewhere=0
while IFS=$'\t' read -r option path number; do
  [ "$(sed -n "${number}p" "gromacs/$path" | wc -l)" -eq 1 ] || fail "$option: no line $number in $path"
  sed -n "${number},$((number + 2))p" "gromacs/$path" | finds "$option" || elsewhere=$((elsewhere + 1))
done <places
# Except names that macros compose.
[ $elsewhere -le 5 ] || fail "$elsewhere options have a place that does not name them"
"$XAAS" inspect gromacs --schema paper >paper.json
assert_json paper.json ".internal_build == $(jq -c .internal "$guide")"

# Without its modules, the top CMakeLists.txt still gives the choices: the shapes of the calls tell.
mkdir one
cp gromacs/CMakeLists.txt one
"$XAAS" inspect one --format json >one.json
assert_json one.json '[.options[] | select(.guessed) | .name] | contains(["GMX_GPU", "GMX_SIMD", "GMX_FFT_LIBRARY", "GMX_BUILD_OWN_FFTW"])'
values_of() { jq -c --arg option "$2" '[.specializations[] | select(.option == $option) | .values[].value]' "$1"; }
for option in GMX_GPU GMX_SIMD GMX_FFT_LIBRARY; do
  [ "$(values_of one.json $option)" = "$(values_of found.json $option)" ] || fail "$option: other values without the modules"
done

"$XAAS" init gromacs -o draft.json -q
grep -v '^ *//' draft.json >plain.json
assert_json plain.json '(.version | startswith("2022")) and .isa == []'
assert_json plain.json '.build.system == "cmake" and (.configurations | map(.simd) | contains(["AVX2_256", "AVX_512"]))'
