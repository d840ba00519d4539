// Bound by memory bandwidth: a triad over arrays larger than any cache (McCalpin's STREAM).
#include "common.h"

#include <cmath>
#include <vector>

__global__ void fill(float* b, float* c, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    b[i] = static_cast<float>(mixed(i) >> 40) * 0x1p-24f;
    c[i] = static_cast<float>(mixed(~uint64_t(i)) >> 40) * 0x1p-24f;
  }
}

__global__ void triad(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float factor,
                      uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    a[i] = b[i] + factor * c[i];
}

int main() {
  need_gpu();
  constexpr uint32_t count = 1 << 26, block = 256;
  constexpr float factor = 3;
  auto* a = on_device<float>(count);
  auto* b = on_device<float>(count);
  auto* c = on_device<float>(count);
  fill<<<count / block, block>>>(b, c, count);
  CHECK(cudaGetLastError());
  Clock clock;
  float best = INFINITY;
  for (int round = 0; round < 20; ++round) {
    clock.start();
    triad<<<count / block, block>>>(a, b, c, factor, count);
    CHECK(cudaGetLastError());
    best = std::fmin(best, clock.milliseconds());
  }
  std::vector<float> result(count);
  CHECK(cudaMemcpy(result.data(), a, count * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    sum += result[i];
  std::printf("checksum %.3f\n", sum / count);
  std::printf("kernel %.4f ms\n", best);
  std::printf("bandwidth %.1f GB/s\n", 3e-6 * count * sizeof(float) / best);
}
