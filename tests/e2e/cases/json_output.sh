#!/bin/bash
# `--format json`: one document on standard output, with the keys and types that scripts rely on.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_choices src
only_json() { # FILE COMMAND...: prints exactly one document on standard output
  local file=$1
  shift
  "$@" --format json >"$file" 2>stderr || fail "$*: $(cat stderr)"
  expect_equal "documents of $*" "$(jq -s length "$file")" 1
  expect_equal "the first key of $*" "$(jq -r 'keys_unsorted[0]' "$file")" version
  assert_json "$file" '.version == 1'
}
quiet() { # COMMAND...
  "$@" -q >/dev/null 2>stderr
  [ ! -s stderr ] || fail "-q is not quiet: $*: $(cat stderr)"
}

only_json build.json "$XAAS" build src -o oci:app:ir
grep -q . stderr || fail "a build shows no progress"
assert_json build.json '(.image == "oci:app:ir") and (.digest | test("^sha256:[0-9a-f]{64}$")) and (.configurations | length == 4)
  and all(.configurations[]; (.id | type) == "string" and .units == 1 and .modules == 1 and .native_objects == 0 and .programs == 1
    and (.seconds | type) == "number")
  and .sharing.units == 4 and .sharing.modules == 2'
# The time of a configuration includes its steps, and the image's steps include those of all configurations.
assert_json build.json 'def near($sum): . >= $sum - 0.001;
  all(.configurations[]; (.steps | keys == ["build", "configure", "harvest", "install"])
    and (.same_as != null or (.steps.build.wall > 0 and .steps.build.cpu > 0 and .steps.configure.cpu >= 0))
    and (.steps as $steps | .seconds | near([$steps[].wall] | add)))
  and (.steps | keys == ["build", "configure", "harvest", "install", "total", "write"]) and .steps.total.wall == .seconds
  and .steps.total.cpu > 0 and .steps.write.cpu > 0
  and (.steps.build.cpu - ([.configurations[].steps.build.cpu] | add) | fabs < 0.001)'
quiet "$XAAS" build src -o oci:app:ir

only_json ir.json "$XAAS" inspect oci:app:ir
assert_json ir.json '.kind == "ir" and .name == "hello" and (.arch | type) == "string" and (.llvm | startswith("22."))'
assert_json ir.json '.specializations | map(.name) | sort == ["isa", "speed"]'
assert_json ir.json '.specializations[] | select(.name == "speed") | .category == "other" and .default == "safe"
  and .values[1] == {"value": "fast", "arguments": ["CFLAGS=-O3 -ffast-math"], "requires": {"cpu": ["avx512f"]}}'
assert_json ir.json '.specializations[] | select(.name == "isa") | .category == "cpu"
  and .values[1] == {"value": "x86-64-v3", "arguments": [], "requires": {"cpu": "x86-64-v3"}}'
assert_json ir.json '[.configurations[].id] == ["isa=x86-64,speed=safe", "isa=x86-64,speed=fast", "isa=x86-64-v3,speed=safe",
  "isa=x86-64-v3,speed=fast"] or ([.configurations[].id] | length == 4)'
assert_json ir.json 'all(.configurations[]; . as $c | ($c.values | to_entries | map(.key + "=" + .value) | join(",")) == $c.id
  and .units == 1 and .modules == 1 and .native_objects == 0 and .programs == 1)'
assert_json ir.json '.sharing | .units == 4 and .modules == 2 and .unit_bytes > .module_bytes and .stored_bytes > 0'
assert_json ir.json 'all(.layers[]; (.digest | startswith("sha256:")) and .size > 0 and (.configurations | type) == "array"
  and ([.role] | inside(["base", "runtime", "metadata", "kit", "ir", "tree", "source", "application"])))'
assert_json ir.json '[.layers[].role] | index("metadata") != null and index("ir") != null and index("kit") != null'

only_json tree.json "$XAAS" inspect src
assert_json tree.json '.kind == "source-tree" and .name == "hello" and (.specializations | length == 2)
  and all(.specializations[].evidence[]; (.file | type) == "string" and (.line | type) == "number")'
only_json spec.json "$XAAS" inspect src/xaas.json
assert_json spec.json '.kind == "spec"'
expect_equal "specializations of the spec" "$(jq .specializations spec.json)" "$(jq .specializations tree.json)"

only_json machine.json "$XAAS" detect
assert_json machine.json '(.arch | type) == "string" and (.memory_bytes > 0) and (.gpus | type) == "array" and (.mpi | type) == "array"
  and (.fabrics | type) == "array" and (.compilers | type) == "array" and (.libraries | type) == "array" and (.modules | type) == "array"
  and (.runtimes | type) == "array" and has("glibc") and has("kernel") and has("os") and has("containers") and has("batch")'
assert_json machine.json '.cpu | (.name | type) == "string" and (.features == (.features | sort)) and (.features | length > 3)
  and .cores > 0 and .threads >= .cores and .sockets > 0 and .numa_nodes > 0 and (.caches | type) == "array"
  and has("vendor") and has("model") and has("level")'
"$XAAS" detect -o node.json -q
quiet "$XAAS" detect -o node.json
expect_equal "detect -o" "$(jq -S .cpu node.json)" "$(jq -S .cpu machine.json)"

only_json deploy.json "$XAAS" deploy oci:app:ir -o oci:app:here --system node.json
grep -q . stderr || fail "deploying shows no progress"
assert_json deploy.json '.image == "oci:app:here" and (.digest | test("^sha256:[0-9a-f]{64}$")) and (.configuration | keys == ["isa", "speed"])
  and (.target.cpu | type) == "string" and (.target.features | type) == "array" and .target.gpu == []
  and .modules == {"lowered": 1, "cached": 0, "unneeded": 0} and .native_objects == 0 and .links == 1
  and (.seconds | keys == ["build", "fetch", "link", "lower", "package", "total"]) and .seconds.build == 0 and .form == "ir" and .build == null and all(.seconds[]; type == "number")
  and all(.selection[]; (.point | type) == "string" and (.value | type) == "string" and (.reason | length > 0))
  and (.selection | length == 2) and (.rejected | type) == "array"'
expect_equal digest "$(json deploy.json .digest)" "$(image_digest app here)"
quiet "$XAAS" deploy oci:app:ir -o oci:app:here
only_json rootfs.json "$XAAS" deploy oci:app:ir -o rootfs:tree --system node.json
expect_equal "digest of a tree" "$(json rootfs.json .digest)" "$(image_digest app here)"
only_json dry.json "$XAAS" deploy oci:app:ir --dry-run --cpu haswell
assert_json dry.json '.image == null and .digest == null and .target.cpu == "haswell" and .configuration == {"isa": "x86-64-v3", "speed": "safe"}
  and any(.rejected[]; (.configuration == "isa=x86-64-v3,speed=fast") and (.reason | test("avx512f")))'
only_json explained.json "$XAAS" deploy oci:app:ir --dry-run --explain --cpu haswell
expect_equal "dry run" "$("$XAAS" deploy oci:app:ir --dry-run --cpu haswell -q)" isa=x86-64-v3,speed=safe

only_json here.json "$XAAS" inspect oci:app:here
assert_json here.json '.kind == "deployed" and .name == "hello" and (.configuration | keys == ["isa", "speed"])
  and (.target | has("cpu") and has("features") and .gpu == []) and (.requires | has("driver") and has("mpi"))
  and (.requires.glibc | test("^2[.]")) and ([.layers[].role] == ["runtime", "application"])'
expect_equal made_from "$(json here.json .made_from)" "$(image_digest app ir)"
