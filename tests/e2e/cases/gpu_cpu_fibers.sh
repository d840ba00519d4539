#!/bin/bash
# CUDA kernels on the CPU whose threads have stacks of their own: calls through pointers, recursion; and threads that
# wait for each other.
source "$E2E/lib.sh"
needs jq make clang++-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

mkdir src
cat >src/app.cu <<'END'
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <new>

typedef int (*Step)(int);
__shared__ int values[256];
__device__ int next(int a) { values[threadIdx.x] = a; __syncthreads(); return values[(threadIdx.x + 1) % blockDim.x]; }
__device__ int own(int a) { return a + threadIdx.x; }
__device__ Step steps[] = {next, own};
__global__ void pointers(int *out, int which) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = steps[which](blockIdx.x * 1000 + threadIdx.x);
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float a;
  __device__ Square(float a) : a(a) {}
  __device__ float area() const override { return a * a; }
};
struct Strip : Shape {
  float a;
  __device__ Strip(float a) : a(a) {}
  __device__ float area() const override { return a * threadIdx.x; }
};
__global__ void make(Shape **shapes) {
  if (threadIdx.x % 2) shapes[threadIdx.x] = new Strip(2);
  else shapes[threadIdx.x] = new Square(threadIdx.x);
}
__global__ void areas(Shape **shapes, float *out) { out[threadIdx.x] = shapes[threadIdx.x]->area(); }

__device__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 + (threadIdx.x == 1000) : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__global__ void recursion(int *out) { out[threadIdx.x] = ackermann(2, threadIdx.x); }
__device__ int deep(int n) { volatile int a[64]; a[n % 64] = n + threadIdx.x; return n ? deep(n - 1) + a[n % 64] - a[n % 64] : a[0]; }
__global__ void stacks(int *out, int n) { out[threadIdx.x] = deep(n); }

// Warp 0 waits for warp 1, which comes after it.
__global__ void wait(int *out) {
  __shared__ volatile int flag;
  __shared__ int data[32];
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    while (!flag) ;
    __threadfence_block();
    out[blockIdx.x * 32 + threadIdx.x] = data[threadIdx.x];
  } else {
    data[threadIdx.x - 32] = threadIdx.x * 10;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 32) flag = 1;
  }
}
__global__ void plain(int *out) { out[threadIdx.x] = threadIdx.x; }

int main(int count, char **arguments) {
  int *out, sum = 0;
  float *area;
  Shape **shapes;
  cudaMallocManaged(&out, 10000 * sizeof *out), cudaMallocManaged(&area, 64 * sizeof *area);
  cudaMallocManaged(&shapes, 64 * sizeof *shapes);
  if (count > 1) {
    if (count > 2) cudaDeviceSetLimit(cudaLimitStackSize, std::atoi(arguments[2]));
    stacks<<<1, 64>>>(out, std::atoi(arguments[1]));
    std::printf("%d %s\n", out[63], cudaGetErrorName(cudaGetLastError()));
    return 0;
  }
  for (int which = 0; which < 2; ++which) {
    pointers<<<16, 256>>>(out, which);
    for (int i = 0; i < 16 * 256; ++i) sum += out[i];
    std::printf("%d %d %d\n", out[0], out[300], sum);
  }
  make<<<1, 64>>>(shapes);
  areas<<<1, 64>>>(shapes, area);
  std::printf("%g %g %g\n", area[2], area[3], area[63]);
  recursion<<<1, 64>>>(out);
  std::printf("%d %d\n", out[0], out[63]);
  wait<<<20, 64>>>(out);
  std::printf("%d %d\n", out[0], out[20 * 32 - 1]);
  plain<<<1, 64>>>(out);
  std::printf("%d\n", out[63]);
}
END
cat >src/Makefile <<END
app: app.cu
	\$(CXX) -O2 app.cu -o app -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
END
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]}, "isa": [],
  "gpu": ["sm_80"]}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
deploy() { "$XAAS" deploy oci:app:ir --gpu cpu -o "rootfs:$1" --format json "${@:2}" >"$1.json" 2>"$1.err"; }
deploy cpu
assert_json cpu.json '[.kernels[] | "\(.name) \(.form)"] | sort == ["_Z4makePP5Shape loops", "_Z4waitPi masked",
  "_Z5areasPP5ShapePf fibers", "_Z5plainPi loops", "_Z6stacksPii fibers", "_Z8pointersPii fibers", "_Z9recursionPi fibers"]'
assert_json cpu.json '[.kernels[] | select(.form == "fibers").reason] | all(. != "")'
assert_json cpu.json '.kernels[] | select(.name == "_Z4waitPi").reason | contains("waits for another")'

expected="1 1045 31242240
0 1088 63006720
4 6 126
3 129
320 630
63"
for threads in 1 4; do
  XAAS_KERNEL_THREADS=$threads timeout 60 cpu/usr/local/bin/app >out 2>err || fail "the program failed: $(cat err)"
  expect_equal "output with $threads threads" "$(cat out)" "$expected"
done

# A stack that is too small ends the program with a message; the program and its user can ask for more.
status=0
cpu/usr/local/bin/app 1000 >out 2>err || status=$?
expect_equal "exit code without enough stack" "$status" 139
grep -q "a thread of a kernel needs more than its 64 KiB of stack; XAAS_KERNEL_STACK" err || fail "no message: $(cat err)"
expect_equal "output with a larger stack" "$(XAAS_KERNEL_STACK=1024 cpu/usr/local/bin/app 1000)" "63 cudaSuccess"
expect_equal "output with a larger limit" "$(cpu/usr/local/bin/app 1000 400000)" "63 cudaSuccess"
expect_equal "output with a limit that is too large" "$(cpu/usr/local/bin/app 10 4000000)" "63 cudaErrorInvalidValue"
expect_exit 2 env XAAS_KERNEL_STACK=much cpu/usr/local/bin/app

# The same bytes again.
deploy again --no-cache
expect_equal "digest" "$(json again.json .digest)" "$(json cpu.json .digest)"
