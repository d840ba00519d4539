#!/bin/bash
# The forms of CUDA kernels on the CPU are known before a deploy, and afterwards by the deployed image.
source "$E2E/lib.sh"
needs jq make clang++-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

mkdir src
cat >src/app.cu <<'END2'
#include <cuda_runtime.h>
__global__ void fast(int *a) { a[threadIdx.x] = 1; }
__global__ void early(int *a, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  __syncthreads();
  a[t] = __syncthreads_count(t % 2);
}
#ifdef EXTRA
__global__ void refused(int *a) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
#endif
int main() {
  fast<<<1, 1>>>(nullptr);
  early<<<1, 1>>>(nullptr, 0);
#ifdef EXTRA
  refused<<<1, 1>>>(nullptr);
#endif
}
END2
cat >src/Makefile <<END2
app: app.cu
	\$(CXX) -O2 \$(FLAGS) app.cu -o app -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
END2
cat >src/xaas.json <<'END2'
{"name": "app", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]}, "isa": [], "gpu": ["sm_80"],
 "specializations": [{"name": "kernels", "category": "other", "default": "all",
   "values": [{"value": "all", "arguments": ["FLAGS=-DEXTRA"]}, {"value": "some", "arguments": ["FLAGS="]}]}]}
END2
"$XAAS" build src -o oci:app:ir -q >/dev/null
says() { grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"; } # FILE TEXT
forms='[.kernels[] | "\(.source) \(.name) \(.demangled) \(.form)"] == ["app.cu _Z4fastPi fast(int*) loops",
  "app.cu _Z5earlyPii early(int*, int) masked", "app.cu _Z7refusedPi refused(int*) refused"]'

# An IR image, of all configurations. Nothing is read without the option.
"$XAAS" inspect oci:app:ir --format json >plain.json
assert_json plain.json '.kernels == null and .kernel_forms == null and .kernel_obstacles == null'
"$XAAS" inspect oci:app:ir --kernels --format json >inspect.json
assert_json inspect.json "$forms and .kernel_obstacles == []"
assert_json inspect.json '.kernel_forms == {"loops": 1, "masked": 1, "refused": 1}'
assert_json inspect.json '[.kernels[].configurations | length] == [2, 2, 1] and .kernels[2].configurations == ["kernels=all"]'
assert_json inspect.json '.kernels[2].reason | contains("wgmma.fence")'
"$XAAS" inspect oci:app:ir --kernels >inspect.txt
says inspect.txt "kernels on the CPU: 1 loops, 1 masked, 1 refused"
says inspect.txt "  masked   app.cu: early(int*, int): threads may come to different barriers"
says inspect.txt "  refused  app.cu: refused(int*): inline assembly: wgmma.fence"
! grep -q 'fast(int' inspect.txt || fail "a fast kernel is listed: $(cat inspect.txt)"
"$XAAS" inspect oci:app:ir --kernels -v >verbose.txt
says verbose.txt "  loops    app.cu: fast(int*)"
expect_error 2 "--kernels needs an IR or deployed image" "$XAAS" inspect src --kernels
expect_exit 2 "$XAAS" inspect oci:app:ir --kernels --sbom

# One configuration, without an image.
explain() { "$XAAS" deploy oci:app:ir --gpu cpu --dry-run "$@"; }
explain --explain --format json >explain.json
assert_json explain.json "$forms and .digest == null"
explain --explain --no-cache --format json >afresh.json
expect_equal "kernels without the cache" "$(jq -c .kernels afresh.json)" "$(jq -c .kernels explain.json)"
explain --explain >explain.txt
says explain.txt "  refused  app.cu: refused(int*): inline assembly: wgmma.fence"
explain --explain --set kernels=some --format json >some.json
assert_json some.json '[.kernels[].form] == ["loops", "masked"]'
explain --format json >dry.json
assert_json dry.json '.kernels == []'
expect_equal "a dry run" "$(explain)" "kernels=all"
[ "$(jq '.manifests | length' app/index.json)" = 1 ] || fail "a dry run wrote an image"

# A deployed image records them. The same again is found, with its kernels.
deploy() { "$XAAS" deploy oci:app:ir --gpu cpu --reuse oci:app --format json "$@"; }
deploy -o oci:app:cpu >deploy.json 2>deploy.err
assert_json deploy.json "$forms and .reused == null"
expect_equal "the kernels of the deploy" "$(jq -c .kernels deploy.json)" "$(jq -c .kernels explain.json)"
says deploy.err "app.cu: kernel refused(int*) cannot run on the CPU: inline assembly: wgmma.fence"
deploy -o oci:copy:cpu >reused.json
assert_json reused.json "$forms and .reused != null"
expect_equal "digest" "$(json reused.json .digest)" "$(json deploy.json .digest)"
"$XAAS" deploy oci:app:ir --gpu cpu -o oci:app:text --explain -q >deploy.txt
says deploy.txt "  masked   app.cu: early(int*, int): threads may come to different barriers"

"$XAAS" inspect oci:app:cpu --format json >deployed.json
assert_json deployed.json "$forms and .target.gpu == [\"cpu\"]"
assert_json deployed.json '.kernel_forms == {"loops": 1, "masked": 1, "refused": 1}'
"$XAAS" inspect oci:app:cpu --kernels >deployed.txt
says deployed.txt "  refused  app.cu: refused(int*): inline assembly: wgmma.fence"
"$XAAS" deploy oci:app:ir --gpu none -o oci:app:none -q >/dev/null
"$XAAS" inspect oci:app:none --format json >none.json
assert_json none.json '.kernels == null and .kernel_forms == null and .target.gpu == []'

# `check` warns.
"$XAAS" check oci:app:cpu --format json >check.json 2>check.err
assert_json check.json '.runs and .problems == [] and [.warnings[] | "\(.kind) \(.file)"] == ["cuda-kernel app.cu"]'
says check.err "warning: app.cu: kernel refused(int*) cannot run on the CPU: inline assembly: wgmma.fence"
expect_exit 3 "$XAAS" check oci:app:cpu --all-kernels --format json >strict.json 2>strict.err
assert_json strict.json '(.runs | not) and [.problems[].kind] == ["cuda-kernel"] and .warnings == []'
"$XAAS" deploy oci:app:ir --gpu cpu --set kernels=some -o oci:app:some -q >/dev/null
"$XAAS" check oci:app:some --all-kernels -q >/dev/null

# Device code that is linked has its kernels, too.
sed -i 's/-O2/-O2 -fgpu-rdc/' src/Makefile
"$XAAS" build src -o oci:linked:ir -q --config kernels=some >/dev/null
"$XAAS" inspect oci:linked:ir --kernels --format json >linked.json
assert_json linked.json '[.kernels[] | "\(.source) \(.form)"] == ["app.cu loops", "app.cu masked"] and .kernel_obstacles == []'
"$XAAS" deploy oci:linked:ir --gpu cpu -o rootfs:linked-cpu --format json -q >linked-deploy.json
expect_equal "the kernels of a link" "$(jq -c '[.kernels[] | del(.configurations)]' linked.json)" \
  "$(jq -c .kernels linked-deploy.json)"

# A configuration that cannot be deployed like that.
mkdir src/prebuilt
echo 'int cufftDestroy(int p) { return p; }' | clang-22 -x c -shared -fPIC -Wl,-soname,libcufft.so.12 - -o src/prebuilt/libcufft.so.12
ln -s libcufft.so.12 src/prebuilt/libcufft.so
sed -i 's/-lrt/-lrt -Lprebuilt -lcufft/' src/Makefile
"$XAAS" build src -o oci:fft:ir -q --config kernels=some >/dev/null
"$XAAS" inspect oci:fft:ir --kernels --format json >fft.json
assert_json fft.json '.kernels == [] and .kernel_obstacles[0].configurations == ["kernels=some"]'
"$XAAS" inspect oci:fft:ir --kernels >fft.txt
says fft.txt "not on the CPU  kernels=some: app is linked with libcufft.so (cuFFT)"

# From a registry, only the layers with device code are read.
if command -v docker-registry >/dev/null; then
  start_registry registry.log
  "$XAAS" copy oci:app:ir "docker://$registry/app:ir" --tls-verify=false -q >/dev/null
  new_requests registry.log >/dev/null
  XAAS_CACHE_DIR=$PWD/empty "$XAAS" inspect "docker://$registry/app:ir" --tls-verify=false --kernels --format json >remote.json
  assert_json remote.json "$forms"
  layers=$(jq -r '.layers[] | select(.role == "kit" or .role == "runtime" or .role == "tree").digest' remote.json)
  [ -n "$layers" ] || fail "the image has no other layers"
  new_requests registry.log >requests
  for layer in $layers; do
    ! grep -q "GET .*$layer" requests || fail "$layer was read: $(cat requests)"
  done
fi
