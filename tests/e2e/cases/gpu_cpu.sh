#!/bin/bash
# CUDA kernels that run on the CPU: what they compute, what is refused by name, and the run-time library in place of CUDA's.
source "$E2E/lib.sh"
needs jq make clang++-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

mkdir src
cat >src/app.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
__constant__ float factor[2];
__device__ int count;
struct Part { int n; float offset; };

__global__ void sums(const float *in, float *out, Part part) {
  __shared__ float s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < part.n ? expf(in[i]) * factor[1] + part.offset : 0;
  __syncthreads();
  for (unsigned w = blockDim.x / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  float whole = s[0];
  for (int d = 16; d > 0; d /= 2) whole += __shfl_xor_sync(~0u, whole, d);
  if (threadIdx.x == 0) { out[blockIdx.x] = whole / 32; atomicAdd(&count, 1); }
}
__global__ void early(int *a, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  __syncthreads();
  a[t] = __syncthreads_count(t % 2);
}
__global__ void says(int n) { if (threadIdx.x == 1) printf("thread %d of %d: %.1f %s\n", threadIdx.x, n, 0.5, "yes"); }
// One thread's own accesses through two pointers.
__global__ void order(float2 *a, float2 *b, float *out) {
  int i = threadIdx.x;
  a[i].x = 1;
  float u = b[i].x;
  a[i].y = 2;
  out[i] = u + 10 * b[i].y;
}
__global__ void refused(int *a) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

int main() {
  const int n = 1000;
  float in[n], factors[2] = {0, 2}, out[8], *dev_in, *dev_out;
  for (float &each : in) each = 0;
  cudaMemcpyToSymbol(factor, factors, sizeof factors);
  cudaMalloc(&dev_in, sizeof in), cudaMalloc(&dev_out, sizeof out);
  cudaMemcpy(dev_in, in, sizeof in, cudaMemcpyHostToDevice);
  sums<<<8, 128>>>(dev_in, dev_out, Part{n, 1});
  cudaMemcpy(out, dev_out, sizeof out, cudaMemcpyDeviceToHost);
  int counted = 0, *a;
  cudaMemcpyFromSymbol(&counted, count, sizeof counted);
  std::printf("%g %g %d\n", out[0], out[7], counted);
  cudaMallocManaged(&a, 64 * sizeof *a);
  early<<<1, 64>>>(a, 40);
  std::printf("%d %d\n", a[0], cudaDeviceSynchronize());
  float2 *both;
  float *sum;
  cudaMallocManaged(&both, 512 * sizeof *both), cudaMallocManaged(&sum, 512 * sizeof *sum);
  cudaMemset(both, 0, 512 * sizeof *both);
  order<<<1, 512>>>(both, both, sum);
  int wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += sum[i] != 21;
  std::printf("%d wrong\n", wrong);
  says<<<1, 2>>>(2);
  refused<<<1, 1>>>(a);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  sums<<<1, 2048>>>(dev_in, dev_out, Part{n, 1});
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  int *counts;
  cudaMallocManaged(&counts, 64 * sizeof *counts);
#if CUDART_VERSION >= 11080
  cudaLaunchAttribute one = {}, four = {};
  one.id = four.id = cudaLaunchAttributeClusterDimension;
  one.val.clusterDim = {1, 1, 1}, four.val.clusterDim = {4, 1, 1};
  for (cudaLaunchAttribute *attribute : {&one, &four}) {
    cudaLaunchConfig_t config = {1, 64, 0, nullptr, attribute, 1};
    std::printf("%d ", cudaLaunchKernelEx(&config, early, counts, 40));
  }
  std::printf("%d\n", counts[0]);
#else
  early<<<1, 64>>>(counts, 40);
  std::printf("0 801 %d\n", counts[0]);
#endif
#if CUDART_VERSION >= 11030
  cudaMemPool_t pool, first, now;
  cudaMemPoolProps wanted = {};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location = {cudaMemLocationTypeDevice, 0};
  void *some, *more;
  uint64_t used = 0, threshold = 1000, zero = 0;
  std::printf("%d ", cudaMemPoolCreate(&pool, &wanted));
  std::printf("%d ", cudaDeviceGetDefaultMemPool(&first, 0) + cudaDeviceSetMemPool(0, pool) + cudaDeviceGetMemPool(&now, 0));
  std::printf("%d ", now == pool && first != pool);
  std::printf("%d ", cudaMallocAsync(&some, 5000, 0) + cudaMallocFromPoolAsync(&more, 300, first, 0));
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  std::printf("%d ", int(used));
  cudaFreeAsync(some, 0);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  std::printf("%d ", int(used));
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used);
  std::printf("%d ", int(used));
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &used);
  std::printf("%d ", int(used));
  std::printf("%d ", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) +
    cudaMallocAsync(&some, 10, 0) + cudaMemPoolDestroy(pool) + cudaFreeAsync(some, 0) + cudaFreeAsync(more, 0));
  std::printf("%d ", cudaMemPoolDestroy(first));
  cudaDeviceGetMemPool(&now, 0);
  std::printf("%d\n", now == first);
#else
  std::puts("0 0 1 0 5000 0 5000 0 0 1 1");
#endif
  cudaGraph_t graph;
  std::printf("%d\n", cudaGraphCreate(&graph, 0));
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  std::printf("%s %d.%d %d\n", properties.name, properties.major, properties.minor, properties.warpSize);
}
END
cat >src/Makefile <<END
app: app.cu
	\$(CXX) -O2 app.cu -o app -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
END
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]}, "isa": [],
  "gpu": ["sm_80", "sm_90"]}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
says() { grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"; } # FILE TEXT
deploy() { "$XAAS" deploy oci:app:ir --gpu cpu -o "rootfs:$1" --format json "${@:2}" >"$1.json" 2>"$1.err"; }

deploy cpu
assert_json cpu.json '.target.gpu == ["cpu"] and .gpu_code == []'
assert_json cpu.json '[.kernels[] | "\(.name) \(.form)"] | sort == ["_Z4saysi loops", "_Z4sumsPKfPf4Part loops",
  "_Z5earlyPii masked", "_Z5orderP6float2S0_Pf loops", "_Z7refusedPi refused"]'
assert_json cpu.json '.kernels[] | select(.form == "refused").reason | contains("wgmma.fence")'
says cpu.err "kernel refused(int*) cannot run on the CPU"

for order in sequential reverse random:7 ""; do
  XAAS_BLOCK_ORDER=$order cpu/usr/local/bin/app >out 2>err || fail "the program failed: $(cat err)"
  expect_equal "output in the order '$order'" "$(cat out)" "384 312 8
20 0
0 wrong
thread 1 of 2: 0.5 yes
cudaErrorInvalidDeviceFunction
cudaErrorInvalidConfiguration
0 801 20
0 0 1 0 5000 0 5000 0 0 1 1
801
CPU 8.0 32"
done
says err "kernel _Z7refusedPi has no code for the CPU: inline assembly: wgmma.fence.sync.aligned"
says err "cudaGraphCreate() is not supported for kernels on the CPU"

# The same bytes again, with and without the cache.
deploy again
expect_equal "digest" "$(json again.json .digest)" "$(json cpu.json .digest)"
assert_json again.json '.modules.lowered == 0'
deploy afresh --no-cache
expect_equal "digest without the cache" "$(json afresh.json .digest)" "$(json cpu.json .digest)"
"$XAAS" deploy oci:app:ir --gpu cpu -o oci:app:cpu -q >/dev/null
"$XAAS" check oci:app:cpu >/dev/null

expect_exit 2 env XAAS_BLOCK_ORDER=backwards cpu/usr/local/bin/app
expect_exit 2 env XAAS_BLOCK_ORDER=random:seven cpu/usr/local/bin/app
expect_exit 2 env XAAS_KERNEL_THREADS=none cpu/usr/local/bin/app
XAAS_KERNEL_TIMES=$PWD/times cpu/usr/local/bin/app >/dev/null 2>&1
expect_equal "times of kernels" "$(cut -f2- times | sort)" "1	_Z4saysi
1	_Z4sumsPKfPf4Part
1	_Z5orderP6float2S0_Pf
2	_Z5earlyPii"

# For a CPU without masks for vectors, whose loops are others.
deploy plain --cpu x86-64-v2
plain/usr/local/bin/app >out 2>/dev/null || fail "the program for x86-64-v2 failed"
grep -qx "0 wrong" out || fail "wrong order of one thread's accesses: $(cat out)"

expect_exit 2 "$XAAS" deploy oci:app:ir --gpu cpu,sm_80 -o rootfs:both

# Sources with equal device code have variables of their own; half precision; two sources and a choice by the machine.
mkdir points
cat >points/shared.h <<'END'
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__constant__ float factor;
static __device__ int count;
static __global__ void scale(__half *a, int *calls) {
  a[threadIdx.x] = __hmul(a[threadIdx.x], __float2half(factor));
  if (threadIdx.x == 0) *calls = atomicAdd(&count, 1) + 1;
}
static float scaled(float by) {
  __half in = __float2half(1.5f), *a;
  int *calls;
  cudaMemcpyToSymbol(factor, &by, sizeof by);
  cudaMallocManaged(&a, sizeof in), cudaMallocManaged(&calls, sizeof *calls);
  *a = in;
  scale<<<1, 1>>>(a, calls);
  cudaDeviceSynchronize();
  return __half2float(*a) + *calls;
}
END
printf '#include "shared.h"\nfloat first() { return scaled(2); }\n' >points/first.cu
printf '#include "shared.h"\nfloat second() { return scaled(4); }\n' >points/second.cu
cat >points/main.cpp <<'END'
#include <cstdio>
#ifdef USE_GPU
float first(), second();
int main() { std::printf("%g %g\n", first(), second()); }
#else
int main() { std::puts("host"); }
#endif
END
cat >points/Makefile <<END
ifeq (\$(GPU),on)
app: main.cpp first.cu second.cu
	\$(CXX) -O2 -DUSE_GPU main.cpp first.cu second.cu -o app -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
else
app: main.cpp
	\$(CXX) -O2 main.cpp -o app
endif
END
cat >points/xaas.json <<'END'
{"name": "points", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]}, "isa": [], "gpu": ["sm_80"],
 "specializations": [{"name": "gpu", "category": "gpu", "values": [{"value": "off", "arguments": ["GPU=off"]},
   {"value": "on", "arguments": ["GPU=on"], "requires": {"gpu": {"vendor": "nvidia", "or": "cpu"}}}]}]}
END
"$XAAS" build points -o oci:choice:ir -q >/dev/null
"$XAAS" detect --format json | jq '.gpus = []' >system.json
"$XAAS" deploy oci:choice:ir --system system.json -o rootfs:or-cpu --format json --explain >or-cpu.json 2>or-cpu.err
assert_json or-cpu.json '.target.gpu == ["cpu"] and ([.kernels[].form] == ["loops", "loops"])'
expect_equal "output of kernels on the CPU" "$(or-cpu/usr/local/bin/app)" "4 7"
"$XAAS" deploy oci:choice:ir --system system.json --gpu none -o rootfs:none -q >/dev/null
expect_equal "output without GPU" "$(none/usr/local/bin/app)" "host"

# Only for machines without a GPU; a name for machines with one and without.
jq '.gpus = [{"vendor": "nvidia", "model": "A100", "arch": "sm_80"}]' system.json >a100.json
"$XAAS" deploy oci:choice:ir --system ./a100.json --system ./system.json --gpu auto,none -o oci:auto:none --format json -q >auto.json
assert_json auto.json '[.images[].target.gpu] == [[], ["sm_80"]]'
"$XAAS" deploy oci:choice:ir --system ./a100.json --system ./system.json --gpu auto,cpu -o oci:auto:cpu --format json -q >auto.json
assert_json auto.json '[.images[].target.gpu] == [["cpu"], ["sm_80"]]'
for system in system a100; do
  "$XAAS" check oci:auto:cpu --system ./$system.json --format json >checked-$system.json
done
expect_equal "images taken" "$(jq -r .digest checked-system.json checked-a100.json)" "$(jq -r '.images[].digest' auto.json)"
"$XAAS" deploy oci:choice:ir --system system.json --gpu auto -o oci:auto:here --format json -q >auto.json
assert_json auto.json '.target.gpu == ["cpu"]' # by the specialization point
expect_error 2 'after `auto`' "$XAAS" deploy oci:choice:ir --gpu auto,sm_80 -o oci:auto:x -q
expect_error 2 'stands alone' "$XAAS" deploy oci:choice:ir --gpu sm_80,auto -o oci:auto:x -q
