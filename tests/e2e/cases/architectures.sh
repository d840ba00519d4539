#!/bin/bash
# One name for two architectures: an index, written by one build or by `xaas merge`. Each machine gets its own image.
source "$E2E/lib.sh"
needs jq make clang-22 llvm-objdump-22 qemu-aarch64 docker-registry skopeo
[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] && [ -e /usr/lib/gcc-cross/aarch64-linux-gnu ] ||
  skip "no C library for AArch64 here (libc6-dev-arm64-cross, libstdc++-12-dev-arm64-cross)"
[ "$(uname -m)" = x86_64 ] || skip "this machine is no other architecture"

mkdir src
cat >src/sum.c <<'END'
#include <stdio.h>
int values[1000];
__attribute__((noinline)) int total(const int *v, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += v[i] > 3 ? v[i] : 1;
  return sum;
}
int main(void) {
  for (int i = 0; i < 1000; ++i) values[i] = i;
  return printf("total %d\n", total(values, 1000)) < 0;
}
END
printf 'sum: sum.o\n\t$(CC) -o $@ $^\nsum.o: sum.c\n\t$(CC) -O3 -c $<\n' >src/Makefile
cat >src/xaas.json <<'END'
{"name": "sum", "build": {"system": "make", "install": [{"from": "sum", "to": "bin/sum"}]},
 "isa": ["x86-64", "x86-64-v3", "armv8-a", "armv8.2-a+sve"], "image": {"entrypoint": ["/usr/local/bin/sum"]}}
END
both=x86_64,aarch64
"$XAAS" build src --arch $both -o oci:app:ir -q --format json >built.json
assert_json built.json '[.images[].arch] == ["x86_64", "aarch64"] and (.images[1].configurations | length) == 2'
digest=$(json built.json .digest)
expect_equal "digest" "$(image_digest app ir)" "$digest"
skopeo inspect --raw oci:app:ir >index.json
assert_json index.json '[.manifests[].platform | .os + "/" + .architecture] == ["linux/amd64", "linux/arm64"] and
  .annotations["dev.xaas.kind"] == "ir" and .annotations["org.opencontainers.image.title"] == "sum"'
amd64=$(json index.json '.manifests[0].digest') arm64=$(json index.json '.manifests[1].digest')

# Two machines, or several jobs: the same index.
"$XAAS" build src --arch x86_64 -o oci:apart:x86_64 -q >/dev/null
"$XAAS" build src --platform linux/arm64/v8 -o oci:apart:aarch64 -q >/dev/null
expect_equal "the image for x86_64" "$(image_digest apart x86_64)" "$amd64"
expect_equal "the image for aarch64" "$(image_digest apart aarch64)" "$arm64"
"$XAAS" merge oci:apart:aarch64 oci:apart:x86_64 -o oci:merged:two -q --format json >merged.json
expect_equal "two merged" "$(json merged.json .digest)" "$digest"
assert_json merged.json '[.images[].arch] == ["x86_64", "aarch64"] and .images[1].digest == "'"$arm64"'"'
"$XAAS" build src --platform linux/amd64,linux/arm64 --isa x86-64,armv8-a -o part-1.tar -q >/dev/null
"$XAAS" build src --arch aarch64,x86_64 --config isa=x86-64-v3 --config isa=armv8.2-a+sve -o part-2.tar -q >/dev/null
"$XAAS" merge part-2.tar part-1.tar oci:apart:aarch64 -o oci:merged:parts -q --format json >merged.json
expect_equal "parts merged" "$(json merged.json .digest)" "$digest"
assert_json merged.json '(.inputs | length) == 5'

"$XAAS" inspect oci:app:ir --format json >inspect.json
assert_json inspect.json '.kind == "index" and .digest == "'"$digest"'" and [.images[] | .kind + .arch + .architecture] ==
  ["irx86_64amd64", "iraarch64arm64"] and .images[1].digest == "'"$arm64"'"'
"$XAAS" inspect oci:app:ir >text
grep -q '^kind  *index$' text && grep -q '^arch  *aarch64$' text || fail "inspect says: $(cat text)"

# Each machine gets its own.
deployed() { # NAME CPU REGISTERS USED ARCHITECTURE IMAGE
  "$XAAS" deploy oci:app:ir --cpu "$2" -o "oci:out:$1" -q --format json >deployed.json
  "$XAAS" inspect "oci:out:$1" --format json >inspect.json
  expect_equal "$1 is made from" "$(json inspect.json .made_from)" "$6"
  expect_equal "architecture of $1" "$(skopeo inspect --raw --config "oci:out:$1" | jq -r .architecture)" "$5"
  "$XAAS" deploy oci:app:ir --cpu "$2" -o "rootfs:$1" -q >/dev/null
  count=$(llvm-objdump-22 -d --mattr=+all "$1/usr/local/bin/sum" --disassemble-symbols=total | grep -cE "$3" || true)
  if [ "$4" = yes ]; then [ "$count" -gt 0 ]; else [ "$count" -eq 0 ]; fi || fail "$1: $count instructions match $3"
}
deployed v1 neoverse-v1 'z[0-9]+\.s' yes arm64 "$arm64"
assert_json deployed.json '.configuration.isa == "armv8.2-a+sve"'
expect_equal "neoverse-v1" "$(qemu-aarch64 -cpu max -L v1 v1/usr/local/bin/sum)" "total 499498"
deployed a53 cortex-a53 'z[0-9]+\.s' no arm64 "$arm64"
assert_json deployed.json '.configuration.isa == "armv8-a"'
expect_equal "cortex-a53" "$(qemu-aarch64 -cpu cortex-a53 -L a53 a53/usr/local/bin/sum)" "total 499498"
expect_exit 3 "$XAAS" check oci:out:v1 --cpu cortex-a53 -q
deployed old x86-64 ymm no amd64 "$amd64"
expect_equal "x86-64" "$(old/usr/local/bin/sum)" "total 499498"
deployed new haswell ymm yes amd64 "$amd64"
"$XAAS" detect --cpu haswell -o haswell.json -q
"$XAAS" deploy oci:app:ir --system haswell.json --dry-run -q >chosen
expect_equal "by a description" "$(cat chosen)" isa=x86-64-v3

# In a registry: nothing of the other architecture moves, and the deployed image is found again.
start_registry log
at=docker://$registry
"$XAAS" merge oci:apart:x86_64 oci:apart:aarch64 -o "$at/sum:ir" -q --format json >merged.json
expect_equal "in a registry" "$(json merged.json .digest)" "$digest"
new_requests log >/dev/null
"$XAAS" deploy "$at/sum:ir" --cpu neoverse-v1 -o "$at/site:v1" --reuse "$at/site" -q >/dev/null
new_requests log >requests
for digest_of_blob in $(jq -r '.config.digest, .layers[].digest' "$(blob app "$amd64")"); do
  ! grep -q "^GET .*sum/blobs/$digest_of_blob" requests || fail "a blob for x86_64 was read: $(cat requests)"
done
grep -q "^GET .*sum/blobs/" requests || fail "no blob was read: $(cat requests)"
XAAS_CACHE_DIR=$PWD/cache-2 "$XAAS" deploy "$at/sum:ir" --cpu neoverse-v1 -o oci:out:again --reuse "$at/site" -q --format json >deployed.json
assert_json deployed.json '.reused != null and .modules.lowered == 0'
expect_equal "reused" "$(image_digest out again)" "$(image_digest out v1)"
"$XAAS" inspect "$at/sum:ir" -q --format json >remote.json
assert_json remote.json '.kind == "index" and .digest == "'"$digest"'"'
"$XAAS" merge "$at/sum:ir" part-1.tar -o oci:merged:remote -q --format json >merged.json
expect_equal "merged from a registry" "$(json merged.json .digest)" "$digest"

# Errors.
expect_error 2 "none of the ISA levels armv8-a is one of x86_64" "$XAAS" build src --platform linux/amd64,linux/arm64 --isa armv8-a -o oci:out:x -q
expect_error 2 "none of the given configurations is for aarch64" "$XAAS" build src --arch $both --config isa=x86-64 -o oci:out:x -q
expect_error 2 "nonsense" "$XAAS" build src --arch $both --config isa=nonsense -o oci:out:x -q
expect_error 2 "riscv64" "$XAAS" build src --arch x86_64,riscv64 -o oci:out:x -q
"$XAAS" build src --arch x86_64 --isa x86-64 -o oci:apart:other -q >/dev/null
sed -i 's/"sum",/"sum", "version": "3",/' src/xaas.json
"$XAAS" build src --arch aarch64 --isa armv8-a -o oci:apart:newer -q >/dev/null
expect_error 2 "versions of the application: oci:apart:other has 0, oci:apart:newer has 3" \
  "$XAAS" merge oci:apart:other oci:apart:newer -o oci:out:x -q
