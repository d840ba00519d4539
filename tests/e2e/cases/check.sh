#!/bin/bash
# Whether a deployed image can run: on its CPU, on others, without a library, with instructions that were forced on it.
source "$E2E/lib.sh"
needs jq make clang-22 umoci

tiny_project src
cat >src/hello.c <<'END'
#include <stdio.h>
__attribute__((target("avx512f"))) static void wide(float *x) { for (int i = 0; i < 4096; ++i) x[i] += 1; }
__attribute__((optnone)) int main(int argc, char **argv) {
  static float x[4096];
  (void)argv;
  if (argc > 1 && __builtin_cpu_supports("avx512f")) wide(x);
  printf("hello %.1f\n", x[0]);
  return 0;
}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:haswell --cpu haswell -q >/dev/null

check() { # TAG OPTION...: leaves TAG.json
  "$XAAS" check "oci:app:$1" -q --format json "${@:2}" >"$1.json"
}
check haswell
assert_json haswell.json '.runs and .deployed_for == "haswell" and .checked_for == "haswell" and .problems == []'
assert_json haswell.json '.files[] | select(.path == "/usr/local/bin/hello") | .lowered and .explained and
  (.beyond[] | select(.feature == "avx512f") | .instructions > 0 and (.functions | index("wide") or index("main")))'
assert_json haswell.json '.digest == "'"$(image_digest app haswell)"'"'
"$XAAS" check oci:app:haswell >table
grep -q '^it can run there$' table || fail "not said: $(cat table)"
grep -q '^/usr/local/bin/hello: chooses at run time: avx512f' table || fail "not said: $(cat table)"
check haswell --cpu znver4
"$XAAS" detect --cpu haswell -o haswell-node.json -q
check haswell --system haswell-node.json

expect_exit 3 check haswell --cpu nehalem
assert_json haswell.json '.runs == false and ([.problems[] | select(.kind == "feature") | .message] | any(endswith("nehalem lacks avx2")))'
expect_error 3 "it cannot run on nehalem" "$XAAS" check oci:app:haswell --cpu nehalem

# Instructions that the source did not request: the same image with another annotation.
umoci config --image app:haswell --tag forced --config.label x=y \
  --manifest.annotation "dev.xaas.code={\"/usr/local/bin/hello\": {\"own\": [], \"assembly\": false, \"native\": false}}" 2>umoci.err ||
  fail "umoci: $(cat umoci.err)"
expect_exit 3 check forced
assert_json forced.json '.problems | length == 1 and .[0].kind == "instruction" and .[0].file == "/usr/local/bin/hello" and (.[0].message | contains("haswell lacks avx512f"))'

# A missing library.
umoci unpack --rootless --image app:haswell bundle >/dev/null 2>&1 || umoci unpack --image app:haswell bundle >/dev/null
rm "$(find bundle/rootfs -name libc.so.6)"
umoci repack --image app:broken bundle >/dev/null 2>&1
expect_exit 3 check broken
assert_json broken.json '.problems | any(.kind == "library" and (.message | contains("libc.so.6")))'

# A static C library selects its functions at run time.
tiny_project static
sed -i 's/ -o / -static -o /' static/Makefile
"$XAAS" build static -o oci:fixed:ir -q >/dev/null
"$XAAS" deploy oci:fixed:ir -o oci:fixed:haswell --cpu haswell -q >/dev/null
"$XAAS" check oci:fixed:haswell -q >table || fail "a static program: $(cat table)"

expect_error 2 "not a deployed image" "$XAAS" check oci:app:ir
expect_error 4 "no image tagged 'none'" "$XAAS" check oci:app:none
expect_error 2 "nonsense" "$XAAS" check oci:app:haswell --cpu nonsense
