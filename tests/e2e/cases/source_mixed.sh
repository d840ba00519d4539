#!/bin/bash
# IR where IR can serve and sources for the rest, in one image.
source "$E2E/lib.sh"
needs jq make clang-22 bwrap gcc
toolchain_image tools gcc gcc libc6-dev
tiny_project src
sed -i 's/printf("hello %.6f\\n", sum)/printf("%s %.6f\\n", KIND, sum)/' src/hello.c
cat >src/xaas.json <<'END'
{"name": "hello", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"], "toolchain": {"base": "oci:tools:gcc"},
 "specializations": [{"name": "kind", "category": "other", "default": "closed",
   "values": [{"value": "open", "arguments": ["CFLAGS=-O2 -DKIND='\"open\"'"]},
              {"value": "closed", "from_source": true, "arguments": ["CFLAGS=-O2 -DKIND='\"closed\"'"]},
              {"value": "odd", "from_source": true, "arguments": ["CFLAGS=-O2 -DKIND='\"odd\"'"], "requires": {"library": [{"name": "none", "version": "1"}]}}]}],
 "image": {"entrypoint": ["/usr/local/bin/hello"]}}
END
"$XAAS" build src -o oci:app:mixed --format json -q >build.json
assert_json build.json '[.configurations[].id] == ["isa=x86-64,kind=open", "isa=x86-64-v3,kind=open"]'
"$XAAS" inspect oci:app:mixed --format json >mixed.json
assert_json mixed.json '.kind == "ir" and .sharing.units == 2'
expect_equal "the toolchain's image" "$(json mixed.json .toolchain.base)" "$(image_digest tools gcc)"
assert_json mixed.json '[.configurations[] | [.id, .form]] == [["isa=x86-64,kind=open", "ir"], ["isa=x86-64-v3,kind=open", "ir"],
  ["isa=x86-64,kind=closed", "source"], ["isa=x86-64,kind=odd", "source"]]'
assert_json mixed.json 'all(.layers[]; if .role == "base" or .role == "source" then .configurations == ["isa=x86-64,kind=closed", "isa=x86-64,kind=odd"]
  elif .role == "metadata" then (.configurations | length) == 4 else all(.configurations[]; endswith("kind=open")) end)'
"$XAAS" inspect oci:app:mixed >mixed.txt
grep -Eq '^isa=x86-64,kind=closed +source +- ' mixed.txt || fail "not shown: $(cat mixed.txt)"

# Configurations with IR are preferred to a default without; nothing of the toolchain is read.
"$XAAS" deploy oci:app:mixed -o oci:here:open --cpu haswell --format json -q >open.json
assert_json open.json '.form == "ir" and .build == null and .configuration.kind == "open" and .modules.lowered == 1'
assert_json open.json 'any(.values[]; .value == "closed" and (.reason | endswith("which has IR and need not be built here")))'
expect_equal "layers" "$("$XAAS" inspect oci:here:open --format json | jq -c '[.layers[].role]')" '["runtime","application"]'
[ ! -e "$XAAS_CACHE_DIR/trees" ] || fail "the toolchain was unpacked"
"$XAAS" deploy oci:app:mixed --dry-run --explain --cpu haswell --set kind=closed >dry.txt
grep -q '^would be built from source$' dry.txt || fail "not said: $(cat dry.txt)"
"$XAAS" deploy oci:app:mixed --dry-run --explain --cpu haswell >dry.txt
! grep -q 'would be built from source' dry.txt || fail "said of IR: $(cat dry.txt)"

# Built here for this CPU, whatever level its configuration has.
"$XAAS" deploy oci:app:mixed -o oci:here:closed --cpu haswell --set kind=closed --format json -q >closed.json
assert_json closed.json '.form == "source" and .configuration == {"isa": "x86-64", "kind": "closed"} and .build.flags[0] == "-march=haswell"'
"$XAAS" check oci:here:closed --cpu haswell >/dev/null
for kind in open closed; do # the toolchain is not a base of the deployed image
  assert_json "$(blob here "$(image_digest here $kind)")" '.annotations | has("org.opencontainers.image.base.digest") | not'
  expect_equal "what runs" "$("$XAAS" run -q --runtime bwrap "oci:here:$kind")" "$kind 7.484471"
done
expect_error 3 "kind=odd" "$XAAS" deploy oci:app:mixed -o oci:here:x --set kind=odd --cpu haswell
# A spec with sources only.
"$XAAS" build src --kind source -o oci:app:source -q >/dev/null
"$XAAS" deploy oci:app:source --dry-run --cpu haswell --format json >source.json
assert_json source.json '.form == "source" and .configuration == {"kind": "closed"} and all(.selection[]; .reason | test("built from source") | not)'
# Without such values there is nothing to send along.
jq 'del(.specializations[0].values[1, 2].from_source, .specializations[0].default)' src/xaas.json >plain.json
"$XAAS" build plain.json --source src -o oci:app:plain -q >/dev/null
assert_json <("$XAAS" inspect oci:app:plain --format json) '.toolchain == null and all(.layers[]; .role != "source" and .role != "base")'
