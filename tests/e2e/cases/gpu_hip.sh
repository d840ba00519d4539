#!/bin/bash
# HIP device code: captured for each architecture, stored once where it is equal, and compiled for the requested AMD GPU.
source "$E2E/lib.sh"
needs jq make cmake clang++-22 clang-offload-bundler-22 llvm-objdump-22 objcopy
bitcode=$(hip_device_libraries) || skip "no HIP (libamdhip64-dev) or no device libraries for it (rocm-device-libs)"
[ -n "$(find /usr/lib/llvm-22/lib/clang -name 'libclang_rt.builtins*')" ] || skip "Clang has no clang_rt.builtins (libclang-rt-22-dev)"

code_objects() { # PROGRAM: architectures of its code objects, from the bundler's own list
  objcopy -O binary --only-section=.hip_fatbin "$1" fat
  clang-offload-bundler-22 --list --type=o --input=fat | sed -n 's/^hipv4-amdgcn-amd-amdhsa--//p' | sort | tr '\n' ' '
}
code_object() { # PROGRAM GPU FILE
  objcopy -O binary --only-section=.hip_fatbin "$1" fat
  clang-offload-bundler-22 --unbundle --type=o --targets="hipv4-amdgcn-amd-amdhsa--$2" --input=fat --output="$3"
}
deploy() { # GPUS DIRECTORY OPTION...
  "$XAAS" deploy oci:image:ir --gpu "$1" -o "rootfs:$2" --format json "${@:3}" >"$2.json"
}
starts() { # PROGRAM: must start, and either find no GPU or work on it
  local code=0
  "$1" >output 2>&1 || code=$?
  [ $code -eq 77 ] || [ $code -eq 0 ] || fail "$1 ends with $code: $(cat output)"
}

"$XAAS" build "$REPO/examples/gpu/hip.json" -o oci:image:ir --format json >build.json
"$XAAS" inspect oci:image:ir --format json >image.json
# Two programs, each with one unit for the host and four for GPUs; neither depends on the GPU.
assert_json image.json '.configurations[0].units == 10 and .configurations[0].modules == 4 and .configurations[0].native_objects == 0'
assert_json image.json '.specializations[] | select(.name == "gpu") | [.values[].value] == ["gfx906", "gfx908", "gfx90a", "gfx1030"]'

for gpu in gfx906 gfx90a gfx1030; do
  deploy $gpu $gpu
  assert_json $gpu.json ".target.gpu == [\"$gpu\"] and .gpu_code == [{gpu: \"$gpu\", arch: \"$gpu\", code_object: \"5\"}]"
  for program in lookup stream; do
    expect_equal "$program for $gpu" "$(code_objects $gpu/usr/local/bin/$program)" "$gpu "
    starts $gpu/usr/local/bin/$program
  done
done
deploy gfx90a,gfx908,gfx90a two
expect_equal "code for two GPUs" "$(code_objects two/usr/local/bin/lookup)" "gfx908 gfx90a "
deploy none none
assert_json none.json '.target.gpu == [] and .gpu_code == []'
expect_equal "code for no GPU" "$(code_objects none/usr/local/bin/stream; echo end)" end
starts none/usr/local/bin/stream

# The same image again, from the cache and without it.
deploy gfx90a again
expect_equal "digest" "$(json again.json .digest)" "$(json gfx90a.json .digest)"
assert_json again.json '.modules.lowered == 0'
deploy gfx90a afresh --no-cache
expect_equal "digest without the cache" "$(json afresh.json .digest)" "$(json gfx90a.json .digest)"

# A makefile with code for single architectures; the instructions are those of Clang's own compile. hipcc is the front door, too.
mkdir src
cat >src/own.cpp <<'END_OF_SOURCE'
#include <hip/hip_runtime.h>
__constant__ float factors[16];
__device__ int counter;
__global__ void scale(float *values) {
#ifdef __gfx90a__
  values[threadIdx.x] *= 9;
#else
  values[threadIdx.x] = sinf(values[threadIdx.x]) * factors[threadIdx.x];
#endif
  __shared__ double sums[64];
  sums[threadIdx.x % 64] = pow(double(values[threadIdx.x]), 1.5) + erf(double(threadIdx.x));
  __syncthreads();
  values[blockIdx.x] += static_cast<float>(sums[(threadIdx.x + 1) % 64]) + __shfl_xor(values[0], 1);
  atomicAdd(&counter, 1);
}
int twice(int);
int main() {
  int count = 0;
  if (hipGetDeviceCount(&count) == hipSuccess && count > 0)
    scale<<<1, 1>>>(nullptr);
  return twice(0);
}
END_OF_SOURCE
echo 'int twice(int i) { return 2 * i; }' >src/plain.cpp
cat >src/Makefile <<'END_OF_MAKEFILE'
own: own.o plain.o
	hipcc own.o plain.o -o own $(filter -fgpu-rdc --offload-arch=%,$(ASKED))
%.o: %.cpp
	hipcc -O2 -c $< -o $@ $(ASKED)
END_OF_MAKEFILE
echo '{"name": "own", "build": {"system": "make", "install": [{"from": "own", "to": "bin/own"}]}, "isa": [],
  "gpu": ["gfx906", "gfx908", "gfx90a", "gfx1030"]}' >src/xaas.json
"$XAAS" build src -o oci:own:ir -q >/dev/null
"$XAAS" inspect oci:own:ir --format json >own.json
# Equal for gfx906 and gfx908; plain.cpp is HIP, too, and has nothing for GPUs.
assert_json own.json '.configurations[0].native_objects == 0 and .configurations[0].units == 6 and .configurations[0].modules == 5'
library=() # of HIP before version 6, which its headers call
[ ! -e "$bitcode/hip.bc" ] || library=(-Xclang -mlink-builtin-bitcode -Xclang "$bitcode/hip.bc")
as_clang() { # GPU FLAG...: what is deployed of oci:own:ir has the instructions and descriptors of Clang's own code
  local gpu=$1 size=64 file
  rm -rf own-root
  "$XAAS" deploy oci:own:ir --gpu "$gpu" -o rootfs:own-root -q >/dev/null
  code_object own-root/usr/local/bin/own "$gpu" ours.co
  [ "$gpu" != gfx1030 ] || size=32
  clang++-22 -x hip -O2 "${@:2}" --offload-arch="$gpu" --no-offload-new-driver --rocm-path=/usr --rocm-device-lib-path="$bitcode" \
    -mcode-object-version=5 -D__HIP_PLATFORM_AMD__=1 -D__AMDGCN_WAVEFRONT_SIZE=$size --cuda-device-only --no-gpu-bundle-output \
    "${library[@]}" src/own.cpp -o clang.co
  for file in ours clang; do
    llvm-objdump-22 -d --no-show-raw-insn $file.co | sed -e '/file format/d' >$file.s
    llvm-objdump-22 -s -j .rodata $file.co | sed -e '/file format/d' >>$file.s # the kernels' descriptors
  done
  grep -q 's_endpgm' ours.s || fail "no code for $gpu: $(head ours.s)"
  cmp ours.s clang.s || fail "for $gpu with ${*:2} other code than Clang's"
}
for gpu in gfx906 gfx908 gfx90a gfx1030; do
  as_clang $gpu
done
asked() { jq --arg asked "ASKED=$1" 'del(.gpu) | .build.arguments = [$asked]' src/xaas.json >asked.json; }
asked '--offload-arch=gfx90a -ffast-math -fgpu-flush-denormals-to-zero'
"$XAAS" build asked.json --source src -o oci:own:ir -q >/dev/null
as_clang gfx90a -ffast-math -fgpu-flush-denormals-to-zero
"$XAAS" build src -o oci:own:ir --gpu gfx90a,sm_90 -q >/dev/null # of both vendors, each source takes its own
"$XAAS" inspect oci:own:ir --format json >own.json
assert_json own.json '.specializations[] | select(.name == "gpu") | [.values[].value] == ["gfx90a"]'

# Compiled and linked in one command, and run by the build. In a program that also has CUDA, a GPU gets its vendor's code.
mkdir one
cp src/*.cpp one
cat >one/Makefile <<'END_OF_MAKEFILE'
own: own.cpp plain.cpp $(MORE)
	hipcc own.cpp plain.cpp $(MORE) -o own $(LIBRARIES)
	./own
more.o: more.cu
	$(CXX) -c more.cu -o more.o
END_OF_MAKEFILE
cp src/xaas.json one
"$XAAS" build one -o oci:image:one -q >/dev/null
"$XAAS" deploy oci:image:one --gpu gfx906 -o rootfs:one-root -q >/dev/null
expect_equal "code of one command" "$(code_objects one-root/usr/local/bin/own)" "gfx906 "
if cuda=$(cuda_toolkit); then
  echo '__global__ void fill(float *values) { *values = 1; } void more() { fill<<<1, 1>>>(nullptr); }' >one/more.cu
  jq --arg cuda "$cuda" '.gpu = ["sm_90", "gfx90a"] | .build.arguments = ["MORE=more.o",
    "LIBRARIES=-L\($cuda)/lib64 -lcudart_static -ldl -lrt -lpthread"]' src/xaas.json >one/xaas.json
  sed -i 's/^  return twice/  void more();\n  if (count > 0)\n    more();\n  return twice/' one/own.cpp
  "$XAAS" build one -o oci:image:both -q >/dev/null
  for gpu in sm_90 gfx90a; do
    "$XAAS" deploy oci:image:both --gpu $gpu -o rootfs:both-$gpu --format json >both.json
    assert_json both.json ".target.gpu == [\"$gpu\"] and [.gpu_code[].gpu] == [\"$gpu\"]"
  done
  expect_equal "code of both for AMD's" "$(code_objects both-gfx90a/usr/local/bin/own)" "gfx90a "
  expect_equal "code of both for NVIDIA's" "$(code_objects both-sm_90/usr/local/bin/own; echo end)" end
else
  echo "not run: a program of HIP and CUDA: there is no CUDA toolkit"
fi

# Code for one setting of a GPU is compiled by Clang and counted.
asked '--offload-arch=gfx90a:xnack+'
"$XAAS" build asked.json --source src -o oci:own:native -q >/dev/null
"$XAAS" inspect oci:own:native --format json >native.json
assert_json native.json '[.native_objects[] | select(.reason | contains("xnack"))] | length > 0'
# Separately linked code is IR.
asked '--offload-arch=gfx90a -fgpu-rdc'
"$XAAS" build asked.json --source src -o oci:own:linked -q >/dev/null
"$XAAS" inspect oci:own:linked --format json >linked.json
assert_json linked.json '.configurations[0].native_objects == 0'
"$XAAS" deploy oci:own:linked --gpu gfx90a -o rootfs:linked-root -q >/dev/null
expect_equal "code that is linked by itself" "$(code_objects linked-root/usr/local/bin/own)" "gfx90a "

# Errors.
expect_error 3 'this system has no GPU' "$XAAS" deploy oci:image:ir -o oci:image:x --system <("$XAAS" detect --format json | jq '.gpus = []')
grep -q -e '--gpu' stderr || fail "no way out is named: $(cat stderr)"
expect_error 3 'code for AMD GPUs' "$XAAS" deploy oci:image:ir -o oci:image:x --gpu sm_90
expect_error 3 'gfx1100' "$XAAS" deploy oci:image:ir -o oci:image:x --gpu gfx1100
expect_error 2 'gfx90f' "$XAAS" deploy oci:image:ir -o oci:image:x --gpu gfx90f
expect_error 2 'gfx90f' "$XAAS" build "$REPO/examples/gpu/hip.json" -o oci:image:x --gpu gfx90f
mkdir -p hip/include
ln -s /usr/include/hip hip/include/hip
expect_error 1 'device libraries' env -u HIP_DEVICE_LIB_PATH ROCM_PATH="$PWD/hip" "$XAAS" build src -o oci:own:x -q

# Whether it runs there: another GPU, none, a damaged code object.
"$XAAS" deploy oci:image:ir --gpu gfx90a -o oci:image:gfx90a -q >/dev/null
"$XAAS" inspect oci:image:gfx90a --format json >inspected.json
assert_json inspected.json '.target.gpu == ["gfx90a"] and .gpu_code[0].code_object == "5"'
"$XAAS" detect --format json | jq '.gpus = [{vendor: "amd", model: "MI250X", arch: "gfx90a", memory_bytes: 0, driver: "", runtime: "",
  evidence: "test"}]' >system.json
"$XAAS" check oci:image:gfx90a --system system.json
expect_error 3 '1 problem' "$XAAS" check oci:image:gfx90a --system <(jq '.gpus[0].arch = "gfx908"' system.json)
expect_error 3 '1 problem' "$XAAS" check oci:image:gfx90a --system <(jq '.gpus = []' system.json)

# Nodes with the same CPU and different GPUs, under one name.
jq '.gpus[0].arch = "gfx906"' system.json >older.json
"$XAAS" deploy oci:image:ir --system ./older.json --system ./system.json -o oci:out:both --format json -q >both.json
assert_json both.json '[.images[].target.gpu] == [["gfx906"], ["gfx90a"]]'
taken_for() { # SYSTEM
  "$XAAS" check oci:out:both --system "$1" --format json | jq -r .digest
}
expect_equal "the image for gfx906" "$(taken_for older.json)" "$(jq -r '.images[0].digest' both.json)"
expect_equal "the image for gfx90a" "$(taken_for system.json)" "$(jq -r '.images[1].digest' both.json)"
expect_error 3 '1 problem' "$XAAS" check oci:out:both --system <(jq '.gpus[0].arch = "gfx908"' system.json)
