#!/bin/bash
# Choices that do not fit the machine are refused with the reason and a way out.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_choices src
"$XAAS" build src -o oci:app:ir -q
deploy() {
  "$XAAS" deploy oci:app:ir -o oci:app:out -q "$@"
}
expect_error 2 sped deploy --set sped=fast
grep -q '^hint: .*speed' stderr || fail "no suggestion: $(cat stderr)"
expect_error 2 fats deploy --set speed=fats
grep -q '^hint: .*fast' stderr || fail "no suggestion: $(cat stderr)"
expect_error 2 hasswell deploy --cpu hasswell
expect_error 2 nonsense deploy --set nonsense
expect_error 3 avx512f deploy --set speed=fast --cpu haswell
grep -q '^xaas: error: deploying oci:app:ir: .*speed=fast' stderr || fail "not outside-in: $(cat stderr)"
grep -q '^hint: ' stderr || fail "no hint: $(cat stderr)"
expect_error 3 'isa=x86-64-v3: needs x86-64-v3; this CPU (x86-64-v2) has x86-64-v2' deploy --set isa=x86-64-v3 --cpu x86-64-v2
"$XAAS" deploy oci:app:ir -o oci:app:out -v --set isa=x86-64-v3 --cpu x86-64-v2 2>stderr && fail "deployed for another CPU"
grep -q 'isa=x86-64-v3 needs .*avx2, .*, which this CPU (x86-64-v2) lacks' stderr || fail "no features with -v: $(cat stderr)"

# `isa` chooses the IR: without --cpu, the code is still for this CPU, and a warning says so.
warning='code is still generated for this CPU'
level=x86-64
"$XAAS" deploy oci:app:ir --dry-run --set "isa=$level" >chosen 2>warnings
grep -q "^xaas: warning: --set isa=$level chooses the IR; $warning .*Use --cpu $level " warnings || fail "no warning: $(cat warnings)"
"$XAAS" deploy oci:app:ir --dry-run --set "isa=$level" --format json >chosen.json 2>warnings
grep -q "$warning" warnings || fail "no warning beside JSON: $(cat warnings)"
assert_json chosen.json ".configuration.isa == \"$level\" and ([${own_warnings}[].kind] == [\"entrypoint\"])"
"$XAAS" detect -o node.json -q
for options in "--cpu $level" "--system node.json" "-q"; do
  # shellcheck disable=SC2086
  "$XAAS" deploy oci:app:ir --dry-run --set "isa=$level" $options >chosen 2>warnings
  ! grep -q "$warning" warnings || fail "$options: a warning about this CPU: $(cat warnings)"
done

# Nothing fits: a reason for each configuration, or the one that they have in common.
"$XAAS" build src -o oci:app:one -q --isa x86-64-v3 --config speed=safe >/dev/null
expect_error 3 'isa=x86-64-v3: needs x86-64-v3' "$XAAS" deploy oci:app:one -o oci:app:out --cpu x86-64-v2
"$XAAS" build src -o oci:app:new -q --isa x86-64-v3
expect_error 3 x86-64-v3 "$XAAS" deploy oci:app:new -o oci:app:out --cpu x86-64-v2
grep -q 'isa=x86-64-v3,speed=fast' stderr && grep -q 'isa=x86-64-v3,speed=safe' stderr || fail "no reasons: $(cat stderr)"
expect_equal "tags" "$(jq -r '[.manifests[].annotations["org.opencontainers.image.ref.name"]] | sort | join(" ")' app/index.json)" "ir new one"

# Selected: the best that the CPU supports, by default and on request.
chosen() { # ARG...
  "$XAAS" deploy oci:app:ir --dry-run --format json -q "$@" | jq -r '.configuration | to_entries | map(.key + "=" + .value) | join(",")'
}
expect_equal haswell "$(chosen --cpu haswell)" isa=x86-64-v3,speed=safe
expect_equal nehalem "$(chosen --cpu nehalem)" isa=x86-64,speed=safe
expect_equal skylake-avx512 "$(chosen --cpu skylake-avx512)" isa=x86-64-v3,speed=fast
expect_equal set "$(chosen --cpu skylake-avx512 --set isa=x86-64 --set speed=safe)" isa=x86-64,speed=safe
"$XAAS" deploy oci:app:ir --dry-run --explain --cpu haswell >explained
grep -q speed explained && grep -q avx512f explained || fail "not explained: $(cat explained)"
