// Shared by both programs: checked calls, a device clock, reproducible numbers.
#pragma once

#ifdef __HIP__
#include "hip_names.h"
#else
#include <cuda_runtime.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) check((call), #call)

inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

// Exits with 77 if there is no GPU.
inline void need_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0)
    return;
  std::fprintf(stderr, "no GPU: %s\n", cudaGetErrorString(error));
  std::exit(77);
}

// A well-mixed number for each i (splitmix64).
__host__ __device__ inline uint64_t mixed(uint64_t i) {
  i += 0x9e3779b97f4a7c15;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9;
  i = (i ^ (i >> 27)) * 0x94d049bb133111eb;
  return i ^ (i >> 31);
}

class Clock {
public:
  Clock() {
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }
  void start() { CHECK(cudaEventRecord(begin_)); }
  float milliseconds() {
    float elapsed = 0;
    CHECK(cudaEventRecord(end_));
    CHECK(cudaEventSynchronize(end_));
    CHECK(cudaEventElapsedTime(&elapsed, begin_, end_));
    return elapsed;
  }

private:
  cudaEvent_t begin_{}, end_{};
};

template <typename T> T* on_device(size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}
