#!/bin/bash
# Kernels with checks (--check-kernels): a fault of each kind with its file and line, and a program without faults.
source "$E2E/lib.sh"
needs jq make clang++-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

mkdir src
cat >src/faults.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
__global__ void bounds(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    a[i] = i; // line 6
}
__global__ void freed(int *a) {
  atomicAdd(a, 1); // line 9
}
__global__ void host(int *a) {
  a[0] = 1; // line 12
}
__global__ void odd(char *a) {
  *(int *)(a + 2) = 1; // line 15
}
__global__ void unwritten(int *a) {
  __shared__ int s[64];
  if (threadIdx.x > 0) s[threadIdx.x] = 1;
  __syncthreads();
  a[threadIdx.x] = s[63 - threadIdx.x]; // line 21
}
__global__ void race(int *a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x]; // line 25
  a[threadIdx.x] = s[63 - threadIdx.x]; // line 26
}
__global__ void apart(int *a) {
  if (threadIdx.x < 32)
    __syncthreads(); // line 30
  a[threadIdx.x] = 1;
  __syncthreads(); // line 32
}
__global__ void lanes(int *a) {
  if (threadIdx.x < 16)
    __syncwarp(); // line 36
  __syncthreads();
  a[threadIdx.x] = 1;
}
int main() {
  int *a, *b, c;
  cudaMalloc(&a, 1000);
  cudaMalloc(&b, 4);
  cudaFree(b);
  bounds<<<2, 128>>>(a, 250);
  freed<<<1, 1>>>(b);
  host<<<1, 1>>>(&c);
  odd<<<1, 1>>>((char *)a);
  unwritten<<<1, 64>>>(a);
  race<<<1, 64>>>(a);
  apart<<<1, 64>>>(a);
  lanes<<<1, 32>>>(a);
  std::puts("end");
}
END
cat >src/clean.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
__constant__ float factor[2];
__device__ int blocks;
__device__ int last[32];
__global__ void sums(const float *in, float *out, int n, int *last_too) {
  __shared__ float s[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? __ldg(in + i) * factor[1] : 0;
  __syncthreads();
  for (unsigned w = blockDim.x / 2; w >= 32; w /= 2) {
    if (t < w) s[t] += s[t + w];
    __syncthreads();
  }
  if (t >= 32) return;
  float sum = s[t];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int d = 16; d > 0; d /= 2) {
    float other = t + d < 32 ? s[t + d] : 0;
    __syncwarp();
    s[t] += other;
    __syncwarp();
  }
  if (t == 0) out[blockIdx.x] = sum == s[0] ? sum : -1, atomicAdd(&blocks, 1);
  last_too[t] = t;
}
__global__ void heap(int *registered) {
  int *own = (int *)malloc(4 * sizeof *own);
  for (int i = 0; i < 4; ++i) own[i] = threadIdx.x + i;
  registered[threadIdx.x] = own[threadIdx.x % 4];
  free(own);
}
int main() {
  const int n = 1000;
  float *in, *out, factors[2] = {0, 2};
  static int registered[32];
  cudaMallocManaged(&in, n * sizeof *in), cudaMallocHost(&out, 8 * sizeof *out);
  for (int i = 0; i < n; ++i) in[i] = 1;
  cudaMemcpyToSymbol(factor, factors, sizeof factors);
  int *address, values[32];
  cudaGetSymbolAddress((void **)&address, last);
  sums<<<8, 128>>>(in, out, n, address);
  cudaMemcpyFromSymbol(values, last, sizeof values);
  cudaHostRegister(registered, sizeof registered, 0);
  heap<<<1, 32>>>(registered);
  int counted = 0;
  cudaMemcpyFromSymbol(&counted, blocks, sizeof counted);
  std::printf("%g %g %d %d %d\n", out[0], out[7], counted, values[31], registered[5]);
}
END
cat >src/Makefile <<END
all: faults clean
%: %.cu
	\$(CXX) -O2 -g \$< -o \$@ -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
END
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "faults", "to": "bin/faults"},
  {"from": "clean", "to": "bin/clean"}]}, "isa": [], "gpu": ["sm_80"]}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
says() { grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"; } # FILE TEXT
deploy() { "$XAAS" deploy oci:app:ir --gpu cpu -o "$1" --format json "${@:2}"; }

deploy rootfs:checked --check-kernels >checked.json 2>/dev/null
assert_json checked.json '.checked_kernels and ([.kernels[].form] | unique == ["masked"])'
deploy rootfs:planned --check-kernels --explain --dry-run --no-cache >planned.json 2>/dev/null
expect_equal "the kernels that a dry run explains" "$(jq -c .kernels planned.json)" "$(jq -c .kernels checked.json)"
XAAS_KERNEL_THREADS=1 checked/usr/local/bin/faults >out 2>err || fail "the program failed: $(cat err)"
expect_equal "output" "$(cat out)" "end"
says err "xaas: memcheck: faults.cu:6: write of 4 bytes of global memory at"
says err "0 bytes after an allocation of cudaMalloc() of 1000 bytes"
says err "  kernel bounds(int*, int), block (1,0,0), thread (122,0,0)"
says err "xaas: memcheck: faults.cu:9: atomic operation of 4 bytes of global memory at"
says err "in an allocation of cudaMalloc() of 4 bytes that was freed"
says err "xaas: memcheck: faults.cu:12: write of 4 bytes"
says err "in no memory that the device may access"
says err "xaas: memcheck: faults.cu:15: misaligned write of 4 bytes"
says err "xaas: initcheck: faults.cu:21: read of 4 bytes of shared memory (unwritten(int*)::s + 0), which no thread of the block wrote"
says err "xaas: racecheck: faults.cu:26: read after write (RAW) of 4 bytes of shared memory (race(int*)::s + 124), with no barrier between"
says err "  after the write by thread (31,0,0) at faults.cu:25"
says err "xaas: racecheck: faults.cu:25: write after read (WAR)"
says err "xaas: synccheck: faults.cu:30: divergent barrier"
says err "  thread (32,0,0) waits at faults.cu:32"
says err "xaas: synccheck: faults.cu:36: lanes 0xffff0000 of the mask 0xffffffff do not come"
says err "xaas: checks of kernels: 10 findings (memcheck 4, initcheck 2, racecheck 2, synccheck 2)"

# The exit status.
expect_exit 7 env XAAS_KERNEL_CHECKS_STATUS=7 checked/usr/local/bin/faults
expect_exit 7 env XAAS_KERNEL_CHECKS_STATUS=7 XAAS_KERNEL_CHECKS=abort checked/usr/local/bin/faults
expect_exit 134 env XAAS_KERNEL_CHECKS=abort checked/usr/local/bin/faults
expect_exit 2 env XAAS_KERNEL_CHECKS=maybe checked/usr/local/bin/faults
expect_exit 2 env XAAS_KERNEL_CHECKS_STATUS=-1 checked/usr/local/bin/faults

XAAS_KERNEL_CHECKS_STATUS=7 checked/usr/local/bin/clean >out 2>err || fail "findings in a program without faults: $(cat err)"
expect_equal "output of the program without faults" "$(cat out)" "256 208 8 31 6"
expect_equal "its findings" "$(cat err)" "xaas: checks of kernels: no findings"

# Without the option there are no checks; both are cached, each for itself, and give the same bytes again.
deploy rootfs:plain >plain.json 2>/dev/null
assert_json plain.json '.checked_kernels == false and .modules.lowered == 2'
plain/usr/local/bin/clean >out 2>err
expect_equal "output without checks" "$(cat out) $(cat err)" "256 208 8 31 6 "
deploy rootfs:again --check-kernels >again.json 2>/dev/null
assert_json again.json '.modules.lowered == 0'
expect_equal "digest" "$(json again.json .digest)" "$(json checked.json .digest)"
[ "$(json plain.json .digest)" != "$(json checked.json .digest)" ] || fail "the checks are not part of the image"

# The image says so, and is reused as what it is.
deploy oci:store:one --check-kernels --reuse oci:store >/dev/null 2>&1
"$XAAS" inspect oci:store:one --format json >inspect.json
assert_json inspect.json '.checked_kernels'
deploy oci:store:two --reuse oci:store >two.json 2>/dev/null
assert_json two.json '.reused == null and .checked_kernels == false'
deploy oci:store:three --check-kernels --reuse oci:store >three.json 2>/dev/null
assert_json three.json '.reused != null and .checked_kernels'
"$XAAS" inspect oci:store:two --format json >inspect.json
assert_json inspect.json '.checked_kernels == false'

# Device code of two sources that is linked: a finding has the line of its own source. A kernel whose threads wait for each other
# has no form with checks.
mkdir two
cat >two/a.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
extern __device__ void put(int *a, int i);
__global__ void outer(int *a) { put(a, 240 + threadIdx.x); }
__global__ void waits(volatile int *flag) {
  if (threadIdx.x < 32) while (*flag == 0) ;
  else *flag = 1;
}
int main() {
  int *a;
  cudaMalloc(&a, 1000);
  cudaMemset(a, 0, 1000);
  outer<<<1, 32>>>(a);
  waits<<<1, 64>>>(a);
  std::puts(cudaGetErrorName(cudaGetLastError()));
}
END
cat >two/b.cu <<'END'
__device__ void put(int *a, int i) {
  a[i] = 1; // line 2
}
END
cat >two/Makefile <<END
linked:
	\$(CXX) -O2 -g -x cuda -fgpu-rdc --offload-arch=sm_80 -c a.cu -o a.o
	\$(CXX) -O2 -g -x cuda -fgpu-rdc --offload-arch=sm_80 -c b.cu -o b.o
	\$(CXX) --offload-link a.o b.o -o \$@ -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
END
echo '{"name": "linked", "build": {"system": "make", "install": [{"from": "linked", "to": "bin/linked"}]}, "isa": [],
  "gpu": ["sm_80"]}' >two/xaas.json
"$XAAS" build two -o oci:linked:ir -q >/dev/null
"$XAAS" deploy oci:linked:ir --gpu cpu --check-kernels -o rootfs:both --format json >both.json 2>/dev/null
assert_json both.json '[.kernels[] | select(.source == "a.cu").form] | sort == ["masked", "refused"]'
assert_json both.json '[.kernels[] | select(.form == "refused").reason] == ["a loop in which a thread waits for another without a barrier; kernels with checks have no form for it"]'
both/usr/local/bin/linked >out 2>err || fail "the linked program failed: $(cat err)"
expect_equal "output of the linked program" "$(cat out)" "cudaErrorInvalidDeviceFunction"
says err "xaas: memcheck: b.cu:2: write of 4 bytes of global memory at"
says err "  kernel outer(int*), block (0,0,0), thread (10,0,0)"
says err "kernels with checks have no form for it"
says err "xaas: checks of kernels: 1 finding (memcheck 1, initcheck 0, racecheck 0, synccheck 0)"
"$XAAS" deploy oci:linked:ir --gpu cpu -o rootfs:unchecked --format json >unchecked.json 2>/dev/null
assert_json unchecked.json '[.kernels[].form] | sort == ["loops", "masked"]'
expect_equal "output without checks" "$(unchecked/usr/local/bin/linked 2>&1)" "cudaSuccess"

# Only kernels on the CPU can be checked.
for gpu in "" none sm_80; do
  code=0
  "$XAAS" deploy oci:app:ir ${gpu:+--gpu "$gpu"} --check-kernels -o rootfs:refused >/dev/null 2>err || code=$?
  expect_equal "exit status with --gpu '$gpu'" "$code" 2
  says err "--check-kernels needs --gpu cpu"
done
