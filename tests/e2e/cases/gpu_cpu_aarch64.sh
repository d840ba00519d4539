#!/bin/bash
# CUDA kernels on CPUs of AArch64, with SVE and without: an image for two architectures, whose programs print the same bits on
# both. The kernels compute without contraction, which would differ with the instructions of a CPU.
source "$E2E/lib.sh"
needs jq make clang-22 clang++-22 llvm-ar-22 llvm-objdump-22 qemu-aarch64
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"
[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] && [ -e /usr/lib/gcc-cross/aarch64-linux-gnu ] ||
  skip "no C library for AArch64 here (libc6-dev-arm64-cross, libstdc++-12-dev-arm64-cross)"
[ "$(uname -m)" = x86_64 ] || skip "this machine is no other architecture"

# A toolkit for x86-64 has no run-time library for AArch64. The deploy replaces it in any case, so the build links functions with
# its names.
mkdir -p cudart/aarch64 cudart/x86_64 src
ln -s "$(realpath "$cuda"/lib*/libcudart_static.a | head -n 1)" cudart/x86_64/
for name in __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction __cudaRegisterVar \
  __cudaPushCallConfiguration __cudaPopCallConfiguration cudaLaunchKernel cudaMallocManaged cudaMemcpyToSymbol \
  cudaMemcpyFromSymbol cudaDeviceSynchronize cudaGetDeviceProperties cudaDeviceGetAttribute cudaEventCreate cudaEventRecord \
  cudaEventElapsedTime; do
  echo "int $name(void) { return 999; }"
done >cudart/stand-in.c
clang-22 --target=aarch64-linux-gnu -fPIC -c cudart/stand-in.c -o cudart/stand-in.o
llvm-ar-22 rc cudart/aarch64/libcudart_static.a cudart/stand-in.o

cat >src/app.cu <<'END'
#include <cstdio>
#include <cstring>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__constant__ float factor[2];
__device__ unsigned count, last;
constexpr int n = 1000, blocks = 8;

__global__ void sums(const float *in, float *out) {
  __shared__ float s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? sqrtf(in[i]) * factor[1] + fmaf(in[i], 0.3f, 1 / (in[i] + 1)) : 0;
  __syncthreads();
  for (unsigned w = blockDim.x / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  float whole = s[0];
  for (int d = 16; d > 0; d /= 2) whole += __shfl_xor_sync(~0u, whole, d) * 0.1f;
  if (threadIdx.x == 0) out[blockIdx.x] = whole;
  atomicAdd(&count, 3u);
  atomicMax(&last, (unsigned)i);
}
__global__ void early(int *a, int live) {
  int t = threadIdx.x;
  if (t >= live) return;
  __syncthreads();
  a[t] = __syncthreads_count(t % 2) + (int)__ballot_sync(~0u, t % 3 == 0);
}
// Conversions that saturate, integers, half precision.
__global__ void numbers(const float *in, long long *out) {
  int t = threadIdx.x;
  float x = (in[t] - 400) * 1e7f;
  __half h = __float2half(in[t] / 7);
  out[t] = __float2int_rz(x) ^ ((long long)__float2uint_rn(x) << 20) ^ __float2ll_rd(x);
  out[t] += __half_as_ushort(__hadd(__hmul(h, h), h)) + __mulhi(t * 77777, 12345678) + __popc(t) + __clz(t) + (-t >> 3) + t / 7 % 5;
  out[t] ^= (signed char)(t * 5) < 0 ? 1 << 30 : 0;
}
__global__ void says(float *out) {
  if (threadIdx.x == 1) printf("%d %u %.3f %s %lld %Lf %5.2e\n", -1, 7u, 0.5, "yes", 1ll << 40, (long double)1.5, (double)out[0] * 0 + 2);
}
__global__ void waits(unsigned long long *taken) {
  unsigned long long start = clock64();
  while (clock64() - start < 1000) {}
  *taken = clock64() - start;
}

template <class T> void print(const char *name, const T *values, int size) {
  unsigned long long sum = 1469598103934665603ull;
  for (int i = 0; i < (int)(size * sizeof(T)); ++i) sum = (sum ^ ((const unsigned char *)values)[i]) * 1099511628211ull;
  std::printf("%s %llx\n", name, sum);
}
int main(int argc, char **) {
  float factors[2] = {0, 2}, *in, *out;
  int *a;
  long long *numbers_out;
  unsigned long long *taken;
  unsigned counted[2] = {0};
  cudaMallocManaged(&in, 4096 * sizeof *in), cudaMallocManaged(&out, blocks * sizeof *out), cudaMallocManaged(&a, 96 * sizeof *a);
  cudaMallocManaged(&numbers_out, 1024 * sizeof *numbers_out), cudaMallocManaged(&taken, sizeof *taken);
  for (int i = 0; i < 4096; ++i) in[i] = i * 0.77f;
  std::memset(a, 0, 96 * sizeof *a);
  cudaMemcpyToSymbol(factor, factors, sizeof factors);
  sums<<<blocks, 128>>>(in, out);
  early<<<1, 96>>>(a, 70);
  numbers<<<1, 1024>>>(in, numbers_out);
  says<<<1, 2>>>(out);
  waits<<<1, 1>>>(taken);
  cudaDeviceSynchronize();
  print("sums", out, blocks), print("early", a, 96), print("numbers", numbers_out, 1024);
  cudaMemcpyFromSymbol(&counted[0], count, sizeof count), cudaMemcpyFromSymbol(&counted[1], last, sizeof last);
  cudaDeviceProp properties;
  int cache = -1;
  cudaGetDeviceProperties(&properties, 0), cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0);
  std::printf("%u %u %d %s %d.%d %d\n", counted[0], counted[1], *taken >= 1000, properties.name, properties.major, properties.minor,
              cache >= 0 && cache == properties.l2CacheSize);
}
END
cat >src/Makefile <<END
machine := \$(firstword \$(subst -, ,\$(shell \$(CXX) -dumpmachine)))
app: app.cu
	\$(CXX) -O2 -ffp-contract=off app.cu -o app -L$PWD/cudart/\$(machine) -lcudart_static -ldl -lrt -lpthread
END
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]}, "isa": [], "gpu": ["sm_80"]}' \
  >src/xaas.json
"$XAAS" build src --arch x86_64,aarch64 -o oci:app:ir -q >/dev/null

"$XAAS" deploy oci:app:ir --gpu cpu --cpu x86-64-v3 -o rootfs:x86 -q --format json >x86.json
assert_json x86.json '[.kernels[].form] | sort == ["loops", "loops", "loops", "loops", "masked"]'
x86/usr/local/bin/app >expected || fail "the program for x86-64 failed"
says_there=$(sed -n 1p expected)
expect_equal "printf of a kernel" "$says_there" "-1 7 0.500 yes 1099511627776 1.500000 2.00e+00"
expect_equal "counts" "$(sed -n '$p' expected)" "3072 1023 1 CPU 8.0 1"

registers() { llvm-objdump-22 -d --mattr=+all "$1/usr/local/bin/app" | grep -c "$2" || true; } # TREE PATTERN
for cpu in armv8-a cortex-a72 neoverse-v1; do
  "$XAAS" deploy oci:app:ir --gpu cpu --cpu $cpu -o rootfs:$cpu -q --format json >$cpu.json
  expect_equal "forms for $cpu" "$(jq -c '.kernels' $cpu.json)" "$(jq -c '.kernels' x86.json)"
  for order in "" reverse; do
    XAAS_BLOCK_ORDER=$order qemu-aarch64 -cpu max -L $cpu $cpu/usr/local/bin/app >out || fail "the program for $cpu failed"
    expect_equal "output for $cpu in the order '$order'" "$(cat out)" "$(cat expected)"
  done
done
[ "$(registers neoverse-v1 'z[0-9]*\.s')" -gt 0 ] || fail "no SVE for neoverse-v1"
expect_equal "SVE for armv8-a" "$(registers armv8-a 'z[0-9]*\.s')" 0
# Atomic operations of Armv8.1 where the CPU has them, none that a library would choose at run time.
[ "$(registers neoverse-v1 '\bldaddal\b')" -gt 0 ] || fail "no atomic addition for neoverse-v1"
[ "$(registers armv8-a '\bldaxr\b')" -gt 0 ] || fail "no load-exclusive for armv8-a"
expect_equal "cortex-a72 there" "$(qemu-aarch64 -cpu cortex-a72 -L cortex-a72 cortex-a72/usr/local/bin/app)" "$(cat expected)"
"$XAAS" deploy oci:app:ir --gpu cpu --cpu neoverse-v1 -o oci:app:cpu -q >/dev/null
"$XAAS" check oci:app:cpu --cpu neoverse-v1 -q >/dev/null
"$XAAS" deploy oci:app:ir --gpu cpu --cpu neoverse-v1 --no-cache -o oci:app:again -q >/dev/null
expect_equal "digest without the cache" "$(image_digest app again)" "$(image_digest app cpu)"
