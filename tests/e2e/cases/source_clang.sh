#!/bin/bash
# Another toolchain for the same application: an image of Clang, with the directory of its programs on the image's PATH.
source "$E2E/lib.sh"
needs jq bwrap gcc clang-22
toolchain_image tools gcc gcc libc6-dev
toolchain_path=/usr/lib/llvm-22/bin:/usr/bin:/bin toolchain_image tools clang clang-22 libc6-dev
tiny_project src
sed -i 's/puts/puts/; s/printf("hello /printf(COMPILER " /; 1i#ifdef __clang__\n#define COMPILER "clang"\n#else\n#define COMPILER "gcc"\n#endif' src/hello.c
for compiler in gcc clang; do
  "$XAAS" build src --kind source --base "oci:tools:$compiler" -o "oci:app:$compiler" -q >/dev/null
  "$XAAS" deploy "oci:app:$compiler" -o "oci:here:$compiler" --cpu znver5 --runtime bwrap -q --format json >"$compiler.json" ||
    "$XAAS" deploy "oci:app:$compiler" -o "oci:here:$compiler" --cpu haswell --runtime bwrap -q --format json >"$compiler.json"
  assert_json "$compiler.json" ".build.compiler | test(\"$compiler\")"
  "$XAAS" deploy "oci:app:$compiler" -o "oci:here:$compiler" --cpu x86-64-v2 --runtime bwrap -q --format json >"$compiler.json"
  expect_equal "what runs" "$("$XAAS" run -q --runtime bwrap "oci:here:$compiler")" "$compiler 7.484471"
done
assert_json gcc.json '.build.flags == ["-march=x86-64-v2"]'
assert_json clang.json '.build.flags == ["-march=x86-64-v2"]'
# One of several compilers, named by the spec.
jq '.toolchain = {base: "oci:tools:clang", compilers: {c: "clang-22"}}' src/xaas.json >spec.new && cp spec.new src/xaas.json
"$XAAS" build src --kind source -o oci:app:named -q >/dev/null
"$XAAS" deploy oci:app:named -o oci:here:named --cpu x86-64-v2 --runtime bwrap -q --format json >named.json
assert_json named.json '.build.compiler | test("clang")'
