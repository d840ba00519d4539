// Rows of threads that are cut where integer quotients change give the results of plain ones.
#include "cpukernel/testing.h"

namespace xaas::cpukernel {

namespace {

// Rows are cut where quotients change; with divisors of any size and sign, zero, dividends that are negative
// or wrap, shifts and masks.
TEST_F(CpuKernel, RowsAreCutAtQuotients) {
  make(R"(
struct Box { unsigned long from; unsigned long size; };
extern "C" __global__ void plane(const int* a, int* b, int n, int m, int count, int start) {
  int i = start + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) b[i] = a[(i % n) + (i / n) * m] + 1000 * (i / n);
}
extern "C" __global__ void space(int* b, uint nx, uint ny, Box box) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  uint x = i % nx, y = i / nx % ny, z = i / (nx * ny);
  unsigned long far = box.from + i % box.size;
  b[i] = x + 1000 * y + 100000 * z + 7 * (int)far;
}
extern "C" __global__ void bits(int* b, uint start, long first) {
  uint i = start + threadIdx.x;
  long k = first + threadIdx.x;
  unsigned char c = threadIdx.x;
  b[threadIdx.x] = (i >> 6) + 10 * (i & 127) + 1000 * (int)(k >> 5) + 100000 * (int)(k & 63) + (c >> 5);
}
extern "C" __global__ void loop(const int* a, int* b, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  int column = i % n, row = i / n;
  for (int k = 0; k < m; ++k) sum += a[k * n + column] * (k + row);
  b[i] = sum;
}
extern "C" __global__ void choice(uint* b, uint n, bool one) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  uint d = n < 100 ? 1 : n;
  int f = one ? 1 : 100;
  b[i] = i / d + 1000 * (i / (one ? 1 : 70)) + (int)i / f;
}
struct Numbers { int n, m; };
extern "C" __global__ void blocks(int* b, Numbers p, short s, unsigned char c) {
  if (p.m < 0) p.n = 45;
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  int i = (z * blockDim.y + y) * gridDim.x * blockDim.x + x;
  b[i] = x % p.n + 100 * (x / p.n) + 1000 * (short)((short)x / s) + 10000 * (unsigned char)((unsigned char)x % c) +
         i % p.m;
}
extern "C" __global__ void grid(const int* a, int* b, int n, int m, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    b[i] = a[i % n + i / n * m] + i / n;
})");
  EXPECT_EQ(run(R"(
static int a[1 << 16], b[1 << 16], *pa = a, *pb = b, bad;
static int quotient(int x, int y) { return y == 0 ? -1 : y == -1 ? (int)-(unsigned)x : x / y; }
static int remainder_of(int x, int y) { return y == 0 ? -1 : y == -1 ? 0 : x % y; }
int main(void) {
  for (int i = 0; i < 1 << 16; ++i) a[i] = i * 37 % 101;
  for (int n = -40; n < 400; n += n < 70 ? 1 : 29) {
    if (n < 1 && n > -33) continue; // reads outside of a
    int m = n + 3, count = 700, start = 0;
    void* arguments[] = {&pa, &pb, &n, &m, &count, &start};
    if (n > 0) launch("plane", 4, 1, 200, 1, 1, 0, arguments);
    for (int i = 0; n > 0 && i < count; ++i) bad += b[i] != a[i % n + i / n * m] + 1000 * (i / n);
    unsigned nx = n, ny = n / 2;
    struct { unsigned long from, size; } box = {3, n % 3 ? n + 100 : (1ul << 40)};
    void* more[] = {&pb, &nx, &ny, &box};
    launch("space", 7, 1, 130, 1, 1, 0, more);
    for (unsigned i = 0; i < 7 * 130; ++i) {
      unsigned q = nx ? i / nx : -1u;
      unsigned wanted = (nx ? i % nx : -1u) + 1000 * (ny ? q % ny : -1u) + 100000 * (nx * ny ? i / (nx * ny) : -1u) +
                        7 * (unsigned)(box.from + i % box.size);
      bad += (unsigned)b[i] != wanted;
    }
  }
  unsigned starts[] = {0, 1, 63, 1000, 0xffffffc0u, 0x7fffffc0u};
  long firsts[] = {0, -1, -64, 31, 1l << 40, -(1l << 40), 0x7fffffffffffffc0l};
  for (int s = 0; s < 6; ++s)
    for (int f = 0; f < 7; ++f) {
      void* arguments[] = {&pb, &starts[s], &firsts[f]};
      launch("bits", 1, 1, 300, 1, 1, 0, arguments);
      for (unsigned t = 0; t < 300; ++t) {
        unsigned i = starts[s] + t;
        long k = (long)((unsigned long)firsts[f] + t);
        bad += (unsigned)b[t] != (i >> 6) + 10 * (i & 127) + 1000 * (unsigned)(k >> 5) + 100000 * (unsigned)(k & 63) +
                                     ((unsigned char)t >> 5);
      }
    }
  for (int n = 20; n < 150; n += 23) {
    int m = 40;
    void* arguments[] = {&pa, &pb, &n, &m};
    launch("loop", 3, 1, 100, 1, 1, 0, arguments);
    for (int i = 0; i < 300; ++i) {
      int sum = 0;
      for (int k = 0; k < m; ++k) sum += a[k * n + i % n] * (k + i / n);
      bad += b[i] != sum;
    }
  }
  for (int n = 20; n < 150; n += 23) {
    int m = n + 2, count = 1000;
    void* arguments[] = {&pa, &pb, &n, &m, &count};
    launch("grid", 2, 1, 96, 1, 1, 0, arguments);
    for (int i = 0; i < count; ++i) bad += b[i] != a[i % n + i / n * m] + i / n;
  }
  for (unsigned n = 50; n < 300; n += 50)
    for (int one = 0; one < 2; ++one) {
      unsigned char flag = one;
      void* arguments[] = {&pb, &n, &flag};
      launch("choice", 1, 1, 256, 1, 1, 0, arguments);
      for (unsigned i = 0; i < 256; ++i)
        bad += (unsigned)b[i] != i / (n < 100 ? 1 : n) + 1000 * (i / (one ? 1 : 70)) + i / (one ? 1 : 100);
    }
  for (int k = 0; k < 3; ++k) {
    struct { int n, m; } p = {40 + 30 * k, k == 1 ? -60 : 60};
    short s = 33 + k;
    unsigned char c = 35 + 40 * k;
    void* arguments[] = {&pb, &p, &s, &c};
    launch("blocks", 3, 1, 100, 3, 2, 0, arguments);
    for (int i = 0; i < 1800; ++i) {
      int x = i % 300, n = p.m < 0 ? 45 : p.n;
      bad += b[i] != x % n + 100 * (x / n) + 1000 * (short)(x / s) + 10000 * ((unsigned char)x % c) + i % p.m;
    }
  }
  // Negative dividends, and divisors of 0 and -1.
  int n = 50, m = 50, count = 0x7fffffff, start = -90;
  int* middle = a + 30000;
  void* arguments[] = {&middle, &pb, &n, &m, &count, &start};
  pb = b + 30000;
  launch("plane", 1, 1, 256, 1, 1, 0, arguments);
  for (int i = start; i < start + 256; ++i)
    bad += pb[i] != middle[i % n + i / n * m] + 1000 * (i / n);
  m = 1, start = 0;
  for (n = -1; n < 1; ++n) {
    launch("plane", 1, 1, 256, 1, 1, 0, arguments);
    for (int i = 0; i < 256; ++i)
      bad += pb[i] != middle[remainder_of(i, n) + quotient(i, n)] + 1000 * quotient(i, n);
  }
  printf("%d", bad);
})"),
            "0");
}

// Segments have no divisions of the threads' own; a row is not cut for a small constant.
TEST_F(CpuKernel, SegmentsAreMadeWhereTheyPay) {
  const auto has_segments = [&](const std::string& body) {
    make("extern \"C\" __global__ void k(int* b, const int* a, int n) {"
         "int i = blockIdx.x * blockDim.x + threadIdx.x;" +
         body + "}");
    llvm::LLVMContext context;
    return made(context)->getFunction("llvm.umin.i64") != nullptr;
  };
  EXPECT_TRUE(has_segments("b[i] = a[i % n];"));
  EXPECT_TRUE(has_segments("b[i] = a[i / 100];"));
  EXPECT_TRUE(has_segments("b[i] = a[(long)i % n];"));
  EXPECT_TRUE(has_segments("b[i] = a[i >> 7];"));
  EXPECT_FALSE(has_segments("b[i] = a[i] + (i & 127);"));
  EXPECT_TRUE(has_segments("for (; i < 1000; i += gridDim.x * blockDim.x) b[i] = a[i % n];"));
  EXPECT_FALSE(has_segments("b[i] = a[i % 3];"));
  EXPECT_FALSE(has_segments("b[i] = a[i & 15];"));
  EXPECT_FALSE(has_segments("b[i] = a[i + n];"));
}

// LLVM 22 reads table[i % 8] as table[i] where another index may wrap, without cmake/llvm/wrap_predicate.cpp.
TEST_F(CpuKernel, LowBitsOfAnIndex) {
  make(R"(
extern "C" __global__ void low(int* o, int* const* head, uint row) {
  uint t = threadIdx.x;
  o[row + t] = (*head)[t % 8] + (*head)[(int)t % 8] + (*head)[(unsigned char)(t * 9) & 15] + (*head)[t << 29 >> 29] +
               (*head)[t - t / 8 * 8] + (*head)[t ^ (t & ~7)];
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static int table[4096], o[256], *p = table, *po = o, **head = &p;
  unsigned row = 0, bad = 0;
  for (int i = 0; i < 4096; ++i) table[i] = i;
  void* arguments[] = {&po, &head, &row};
  launch("low", 1, 1, 256, 1, 1, 0, arguments);
  for (int i = 0; i < 256; ++i) bad += o[i] != i % 8 * 5 + (i * 9 & 15);
  printf("%u", bad);
})"),
            "0");
}

} // namespace

} // namespace xaas::cpukernel
