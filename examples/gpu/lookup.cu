// Bound by table look-ups: each particle searches for its energy in a sorted grid and interpolates between two entries, as
// neutron transport codes do. Almost all of the time is spent waiting for memory at unpredictable addresses.
#include "common.h"

#include <cmath>
#include <vector>

constexpr int channels = 5;
struct Entry {
  double energy;
  float values[channels];
};

__host__ __device__ inline double energy_of(uint64_t particle) {
  return static_cast<double>(mixed(particle) >> 11) * 0x1p-53;
}

__host__ __device__ inline uint32_t position(const Entry* grid, uint32_t size, double energy) {
  uint32_t low = 0;
  for (uint32_t step = size / 2; step > 0; step /= 2)
    if (grid[low + step].energy <= energy)
      low += step;
  return low;
}

__host__ __device__ inline float interpolated(const Entry* grid, uint32_t size, uint64_t particle) {
  const double energy = energy_of(particle);
  const uint32_t at = position(grid, size, energy);
  const Entry& a = grid[at];
  const Entry& b = grid[at + 1 < size ? at + 1 : at];
  const float part = b.energy > a.energy ? static_cast<float>((energy - a.energy) / (b.energy - a.energy)) : 0;
  float sum = 0;
  for (int channel = 0; channel < channels; ++channel)
    sum += a.values[channel] + part * (b.values[channel] - a.values[channel]);
  return sum;
}

__global__ void look_up(const Entry* __restrict__ grid, uint32_t size, float* __restrict__ result, uint32_t particles) {
  const uint32_t particle = blockIdx.x * blockDim.x + threadIdx.x;
  if (particle < particles)
    result[particle] = interpolated(grid, size, particle);
}

int main() {
  need_gpu();
  constexpr uint32_t size = 1 << 20, particles = 1 << 24, block = 256;
  std::vector<Entry> grid(size);
  for (uint32_t i = 0; i < size; ++i) {
    grid[i].energy = (i + 0x1p-32 * (mixed(i) & 0xffffffff)) / size;
    for (int channel = 0; channel < channels; ++channel)
      grid[i].values[channel] = static_cast<float>(mixed(i * channels + channel) >> 40) * 0x1p-24f;
  }
  auto* device_grid = on_device<Entry>(size);
  auto* device_result = on_device<float>(particles);
  CHECK(cudaMemcpy(device_grid, grid.data(), size * sizeof(Entry), cudaMemcpyHostToDevice));
  Clock clock;
  float best = INFINITY;
  for (int round = 0; round < 20; ++round) {
    clock.start();
    look_up<<<particles / block, block>>>(device_grid, size, device_result, particles);
    CHECK(cudaGetLastError());
    best = std::fmin(best, clock.milliseconds());
  }
  std::vector<float> result(particles);
  CHECK(cudaMemcpy(result.data(), device_result, particles * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (uint32_t i = 0; i < particles; ++i)
    sum += result[i];
  for (uint32_t i = 0; i < particles; i += 4099)
    if (const float expected = interpolated(grid.data(), size, i); std::fabs(result[i] - expected) > 1e-5f) {
      std::fprintf(stderr, "particle %u: %g, and the CPU says %g\n", i, result[i], expected);
      return 1;
    }
  std::printf("checksum %.3f\n", sum / particles);
  std::printf("kernel %.4f ms\n", best);
}
