#!/bin/bash
# Relocatable device code: units call each other's device functions, and deploying links them for the GPU. With clang, with
# each way that nvcc links, and with CMake.
source "$E2E/lib.sh"
needs jq make cmake clang++-22 objcopy od
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"
export CUDA_PATH=$cuda

mkdir project
cat >project/a.cu <<'END'
#include <cstdio>
extern __device__ float scale;
__device__ float twice(float x);
static __device__ int launches; // which the host names only later
__global__ void kernel(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) launches += 1;
  if (i < n) out[i] = twice(out[i]) * scale + sinf(out[i]);
}
int main() {
  float *values = nullptr;
  cudaMalloc(&values, 64 * sizeof(float));
  kernel<<<1, 64>>>(values, 64);
  int count = 0;
  const cudaError_t error = cudaMemcpyFromSymbol(&count, launches, sizeof count);
  if (error == cudaSuccess) return count == 1 ? 0 : 1;
  std::printf("%s\n", cudaGetErrorString(error));
  return 77;
}
END
cat >project/b.cu <<'END'
__device__ float scale = 3;
__device__ float twice(float x) { return 2 * x; }
__global__ void other(float *out) { out[threadIdx.x] = twice(out[0]) / scale; }
END
cat >project/Makefile <<'END'
CUDA = -O2 -x cuda -fgpu-rdc --offload-arch=sm_80
LIBRARIES = -L$(CUDA_PATH)/lib64 -lcudart_static -ldl -lrt -lpthread
all: by-clang by-nvcc at-once two-steps libshared.so
by-clang:
	$(CXX) $(CUDA) -c a.cu -o a.o
	$(CXX) $(CUDA) -c b.cu -o b.o
	$(AR) rcs libb.a b.o
	$(CXX) --offload-link a.o libb.a -o $@ $(LIBRARIES)
by-nvcc:
	nvcc -O2 -dc -arch=sm_80 a.cu -o an.o
	nvcc -O2 -rdc=true -gencode arch=compute_80,code=sm_80 -c b.cu -o bn.o
	nvcc -lib bn.o -o libbn.a
	nvcc -arch=sm_80 an.o libbn.a -o $@
at-once:
	nvcc -arch=sm_80 -rdc=true a.cu b.cu -o $@
two-steps: by-nvcc
	nvcc -arch=sm_80 -dlink an.o bn.o -o dlink.o
	$(CXX) -Wl,--gc-sections an.o bn.o dlink.o -o $@ $(LIBRARIES)
libshared.so: by-clang
	$(CXX) $(CUDA) -fPIC -c b.cu -o bs.o
	$(CXX) -shared bs.o -o $@ $(LIBRARIES)
install: all
	mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib
	cp by-clang by-nvcc at-once two-steps $(DESTDIR)$(PREFIX)/bin
	cp libshared.so libb.a $(DESTDIR)$(PREFIX)/lib
END
echo '{"name": "linked", "version": "1", "build": {"system": "make", "arguments": ["-j1"]}, "isa": ["x86-64-v3"], "gpu": ["sm_75", "sm_80", "sm_90"]}' >project/xaas.json

programs="by-clang by-nvcc at-once two-steps"
"$XAAS" build project -o oci:image:ir --format json >build.json
valid_bundle image ir
"$XAAS" inspect oci:image:ir --format json >image.json
assert_json image.json '.configurations[0].native_objects == 0'
for gpus in sm_75 sm_80,sm_90; do
  "$XAAS" deploy oci:image:ir --gpu $gpus -o "rootfs:$gpus" --format json >$gpus.json 2>notes
  want=$(for gpu in ${gpus//,/ }; do echo "elf ${gpu#sm_}"; done)
  for program in $programs; do
    expect_equal "$program for $gpus" "$(fat_binary "$gpus/usr/local/bin/$program")" "$want"
    starts "$gpus/usr/local/bin/$program"
  done
  expect_equal "library for $gpus" "$(fat_binary "$gpus/usr/local/lib/libshared.so")" "$want"
done
grep -q '/usr/local/lib/libb.a has no device code' notes || fail "nothing is said of the archive: $(cat notes)"
# One module for the GPU: no calls and no external symbols are left.
"$XAAS" deploy oci:image:ir --gpu sm_90 --ptxas none -o rootfs:text --format json >text.json
for program in $programs; do
  expect_equal "$program as PTX" "$(fat_binary "text/usr/local/bin/$program")" "ptx 90"
  objcopy -O binary --only-section=.nv_fatbin "text/usr/local/bin/$program" ptx
  grep -aq '\.visible \.entry _Z6kernelPfi' ptx || fail "$program has no kernel"
  ! grep -aqE 'call|\.extern' ptx || fail "$program's kernel calls what is elsewhere: $(grep -aE 'call|\.extern' ptx)"
done
# Without code for a GPU, with LTO of the host's side, and the same twice.
"$XAAS" deploy oci:image:ir --gpu none -o rootfs:none
! objdump -h none/usr/local/bin/by-clang | finds nv_fatbin || fail "--gpu none leaves device code"
starts none/usr/local/bin/by-clang
"$XAAS" deploy oci:image:ir --gpu sm_90 --lto -o rootfs:lto
expect_equal "with LTO" "$(fat_binary lto/usr/local/bin/at-once)" "elf 90"
"$XAAS" deploy oci:image:ir --gpu sm_90 -o oci:deployed:a --format json >a.json
"$XAAS" deploy oci:image:ir --gpu sm_90 -o oci:deployed:b --format json --no-cache >b.json
expect_equal "digest" "$(json a.json .digest)" "$(json b.json .digest)"

# CMake links device code by itself, with the toolkit's tools.
mkdir by-cmake
cp project/*.cu by-cmake
cat >by-cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(linked LANGUAGES CXX CUDA)
add_library(b STATIC b.cu)
add_executable(program a.cu)
set_target_properties(b program PROPERTIES CUDA_SEPARABLE_COMPILATION ON POSITION_INDEPENDENT_CODE ON)
target_link_libraries(program b)
install(TARGETS program)
END
echo '{"name": "linked", "version": "1", "build": {"system": "cmake"}, "isa": ["x86-64-v3"], "gpu": ["sm_80", "sm_90"]}' >by-cmake/xaas.json
"$XAAS" build by-cmake -o oci:cmake:ir
"$XAAS" inspect oci:cmake:ir --format json >cmake.json
assert_json cmake.json '.configurations[0].native_objects == 0'
"$XAAS" deploy oci:cmake:ir --gpu sm_90 -o rootfs:cmake-root
expect_equal "by CMake" "$(fat_binary cmake-root/usr/local/bin/program)" "elf 90"

# Assembling reports an undefined symbol with the program's name.
sed -i 's/^__device__ float twice.*//; s/twice(out\[0\])/out[0]/' project/b.cu
"$XAAS" build project -o oci:incomplete:ir
expect_error 1 twice "$XAAS" deploy oci:incomplete:ir --gpu sm_90 -o rootfs:never
grep -qE 'by-clang|by-nvcc|at-once|two-steps' stderr || fail "the program is not named: $(cat stderr)"
