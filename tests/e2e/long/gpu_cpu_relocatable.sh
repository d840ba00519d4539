#!/bin/bash
# Relocatable device code on the CPU: kernels that call functions and use variables of other sources, in programs, archives and
# shared libraries, built by clang and in each way that nvcc links; beside code that is not linked; and what is refused.
source "$E2E/lib.sh"
needs jq make clang++-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"
export CUDA_PATH=$cuda

mkdir project
cat >project/common.h <<'END'
#include <cstdio>
#include <cuda_runtime.h>
template <class T> __global__ void add(T *a, T x) { a[threadIdx.x] += x; }
END
cat >project/a.cu <<'END'
#include "common.h"
extern __device__ float scale;
extern __constant__ float factors[2];
extern __shared__ float dynamic[];
__device__ float neighbour(float x);
__global__ void set_scale(float x);
static __device__ int launches;
static __global__ void kernel(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  dynamic[threadIdx.x] = out[i];
  float y = neighbour(expf(0.f));
  if (i < n) out[i] = y * scale + factors[1];
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
}
void in_b(float *a);
__attribute__((weak)) void in_c(float *a);
int run() {
  float *a, f[2] = {0, 0.5f}, now;
  int count;
  cudaMallocManaged(&a, 64 * sizeof *a);
  for (int i = 0; i < 64; ++i) a[i] = i;
  cudaMemcpyToSymbol(factors, f, sizeof f);
  kernel<<<2, 32, 32 * sizeof(float)>>>(a, 64);
  std::printf("%g %g\n", a[0], a[63]);
  set_scale<<<1, 1>>>(7);
  cudaMemcpyFromSymbol(&now, scale, sizeof now);
  cudaMemcpyFromSymbol(&count, launches, sizeof count);
  add<<<1, 64>>>(a, 100.f);
  in_b(a);
  if (in_c) in_c(a);
  std::printf("%g %d %g %s\n", now, count, a[63], cudaGetErrorName(cudaGetLastError()));
  return 0;
}
END
echo 'int run(); int main() { return run(); }' >project/main.cc
cat >project/b.cu <<'END'
#include "common.h"
__device__ float scale = 3;
__constant__ float factors[2];
extern __shared__ float dynamic[];
__device__ float neighbour(float x) {
  __syncthreads();
  return dynamic[(threadIdx.x + 1) % blockDim.x] + x;
}
__global__ void set_scale(float x) { scale = x; }
__global__ void differs(float *a) {
  if (threadIdx.x > 40) return;
  __syncthreads();
  a[threadIdx.x] = scale;
}
__global__ void parent() { set_scale<<<1, 1>>>(8); }
void in_b(float *a) {
  differs<<<1, 64>>>(a);
  add<<<1, 64>>>(a, 1000.f);
}
END
# Not relocatable, with a variable whose name others link.
cat >project/c.cu <<'END'
#include "common.h"
static __device__ float scale = 11;
static __global__ void alone(float *a) { a[threadIdx.x] += scale; }
void in_c(float *a) { alone<<<1, 64>>>(a); }
END
cat >project/Makefile <<'END'
CUDA = -O2 -x cuda -fPIC --offload-arch=sm_80
LIBRARIES = -L$(CUDA_PATH)/lib64 -lcudart_static -ldl -lrt -lpthread
all: by-clang by-nvcc at-once two-steps mixed of-library
by-clang:
	$(CXX) $(CUDA) -fgpu-rdc -c a.cu -o a.o
	$(CXX) $(CUDA) -fgpu-rdc -c b.cu -o b.o
	$(CXX) -c main.cc -o main.o
	$(AR) rcs libb.a b.o
	$(CXX) --offload-link main.o a.o libb.a -o $@ $(LIBRARIES)
by-nvcc: by-clang
	nvcc -O2 -dc -arch=sm_80 a.cu -o an.o
	nvcc -O2 -rdc=true -gencode arch=compute_80,code=sm_80 -c b.cu -o bn.o
	nvcc -lib bn.o -o libbn.a
	nvcc -arch=sm_80 main.o an.o libbn.a -o $@
at-once:
	nvcc -arch=sm_80 -rdc=true main.cc a.cu b.cu -o $@
two-steps: by-nvcc
	nvcc -arch=sm_80 -dlink an.o bn.o -o dlink.o
	$(CXX) -Wl,--gc-sections main.o an.o bn.o dlink.o -o $@ $(LIBRARIES)
mixed: by-clang
	$(CXX) $(CUDA) -c c.cu -o c.o
	$(CXX) --offload-link main.o a.o c.o libb.a -o $@ $(LIBRARIES)
libab.so: by-clang
	$(CXX) -shared a.o b.o -o $@ $(LIBRARIES)
of-library: libab.so
	$(CXX) main.o -o $@ -L. -lab -Wl,-rpath,'$$ORIGIN/../lib'
install: all
	mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib
	cp by-clang by-nvcc at-once two-steps mixed of-library $(DESTDIR)$(PREFIX)/bin
	cp libab.so libb.a $(DESTDIR)$(PREFIX)/lib
END
echo '{"name": "linked", "version": "1", "build": {"system": "make", "arguments": ["-j1"]}, "isa": ["x86-64-v3"], "gpu": ["sm_80"]}' >project/xaas.json
"$XAAS" build project -o oci:image:ir -q >/dev/null
deploy() { "$XAAS" deploy oci:image:ir --gpu cpu -o "rootfs:$1" --format json "${@:2}" >"$1.json" 2>"$1.err"; }

usual="6.5 99.5
7 2 1199.5 cudaSuccess"
check_programs() { # ROOT
  for program in by-clang by-nvcc at-once two-steps of-library; do
    expect_equal "$program" "$("$1/usr/local/bin/$program")" "$usual"
  done
  expect_equal "mixed" "$("$1/usr/local/bin/mixed")" "${usual/1199.5/1210.5}"
}
deploy cpu
check_programs cpu
# Programs link the same sources; each kernel is reported once, with the first source that defines it.
assert_json cpu.json '[.kernels[] | select(.source == "b.cu") | "\(.name) \(.form)"] | sort ==
  ["_Z6parentv refused", "_Z7differsPf masked", "_Z9set_scalef loops"]'
# A kernel that launches another is refused, by name.
assert_json cpu.json '.kernels[] | select(.form == "refused").reason | contains("GetParameterBuffer")'
assert_json cpu.json '[.kernels[] | select(.name == "_Z3addIfEvPT_S0_")] | length == 1'
assert_json cpu.json '[.kernels[] | select(.source == "a.cu") | select(.name | contains("kernel")).form] | unique == ["loops"]'
assert_json cpu.json '[.kernels[] | select(.source == "c.cu").form] == ["loops"]'
grep -q '/usr/local/lib/libb.a has no device code' cpu.err || fail "nothing is said of the archive: $(cat cpu.err)"

deploy again
expect_equal "digest" "$(json again.json .digest)" "$(json cpu.json .digest)"
assert_json again.json '.modules.lowered == 0'
deploy afresh --no-cache
expect_equal "digest without the cache" "$(json afresh.json .digest)" "$(json cpu.json .digest)"
deploy lto --lto
check_programs lto
"$XAAS" deploy oci:image:ir --gpu cpu -o oci:image:cpu -q >/dev/null
"$XAAS" check oci:image:cpu >/dev/null

# A variable that no source of a program defines is an error, as on a GPU.
mkdir incomplete
cat >incomplete/b.cu <<'END'
#include <cuda_runtime.h>
extern __device__ float missing;
__global__ void kernel(float *a) { *a = missing; }
int main() { kernel<<<1, 1>>>(nullptr); }
END
printf 'all:\n\tnvcc -arch=sm_80 -rdc=true b.cu -o program\n' >incomplete/Makefile
echo '{"name": "incomplete", "build": {"system": "make", "install": [{"from": "program", "to": "bin/program"}]}, "isa": [], "gpu": ["sm_80"]}' >incomplete/xaas.json
"$XAAS" build incomplete -o oci:undefined:ir -q >/dev/null
expect_error 1 "missing, which b.cu uses, is defined in no source" "$XAAS" deploy oci:undefined:ir --gpu cpu -o rootfs:never
