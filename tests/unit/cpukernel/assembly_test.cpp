// PTX in inline assembly.
#include "cpukernel/testing.h"

namespace xaas::cpukernel {

namespace {

// Instructions of PTX against the same in C; rounding of conversions at ties and limits.
TEST_F(CpuKernel, InlineAssembly) {
  auto kernels = make(R"(
extern "C" __global__ void assembly(uint* o, const uint* a, const float* f) {
  uint t = threadIdx.x, x = a[t], y = a[t + 1], r;
  unsigned short h, g;
  float s;
  uint* out = o + t * 24;
  // As CUB scans a warp.
  asm volatile("{ .reg .s32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %1, %2, %3, %5; @p add.s32 r0, r0, %4; mov.s32 %0, r0; }"
      : "=r"(r) : "r"(t), "r"(1), "r"(0), "r"(t), "r"(-1));
  if (r != (t == 0 ? 0 : 2 * t - 1)) o[32 * 24 + 3] = 1;
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 28; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(t));
  if (r != 7u << 29) o[32 * 24 + 3] = 1;
  // As CUB finds the lanes with an equal bit.
  asm volatile("{ .reg .pred p; and.b32 %0, %1, %2; setp.ne.u32 p, %0, 0; vote.ballot.sync.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
      : "=r"(r) : "r"(t), "r"(1));
  if (r != (t & 1 ? 0xaaaaaaaa : 0x55555555)) o[32 * 24 + 3] = 1;
  asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], %2;" : "=r"(r) : "l"(o + 32 * 24), "r"(2) : "memory");
  asm volatile("red.max.s32 [%0], %1;" ::"l"(o + 32 * 24 + 1), "r"(t) : "memory");
  asm volatile("atom.cas.b32 %0, [%1], 0, 9;" : "=r"(r) : "l"(o + 32 * 24 + 2) : "memory");
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(t));
  if (r != (t ? 31 - __builtin_clz(t) : ~0u)) o[32 * 24 + 3] = 1;
  asm("add.u32 %0, %1, %2;" : "=r"(out[0]) : "r"(x), "r"(y));
  asm("{ .reg .b32 q; mul.hi.u32 q, %1, %2; xor.b32 %0, q, -1; }" : "=r"(out[1]) : "r"(x), "r"(y));
  asm("lop3.b32 %0, %1, %2, 255, 0xe8;" : "=r"(out[2]) : "r"(x), "r"(y));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(out[3]) : "r"(x), "r"(y), "r"(t));
  asm("bfe.s32 %0, %1, 5, 7;" : "=r"(out[4]) : "r"(x));
  asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(out[5]) : "r"(x), "r"(y));
  asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, 1, 2, p; @p add.s32 %0, %0, 10; }" : "=r"(out[6]) : "r"(x), "r"(y));
  asm("mov.b32 {%0, %1}, %2;" : "=h"(h), "=h"(g) : "r"(x));
  out[7] = h * 3u + g;
  asm("shl.b32 %0, %1, %2;" : "=r"(out[8]) : "r"(x), "r"(t * 8));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f[t]));
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(g) : "f"(f[t]));
  out[9] = h | g << 16;
  asm("cvt.f32.f16 %0, %1;" : "=f"(s) : "h"(h));
  out[10] = (uint)s;
  asm("cvt.rp.f16.f32 %0, %1;" : "=h"(h) : "f"(f[t]));
  asm("cvt.rm.f16.f32 %0, %1;" : "=h"(g) : "f"(f[t]));
  out[11] = h | g << 16;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(out[12]) : "f"(f[t]));
  asm("{ cvt.rn.f16x2.f32 %0, %2, %1; }" : "=r"(r) : "f"(f[t]), "f"(2.0f));
  asm("{ fma.rn.f16x2 %0, %1, %1, %1; }" : "=r"(out[13]) : "r"(r));
  asm("mov.u32 %0, %%laneid;" : "=r"(out[14]));
  asm("{ mov.u32 %0, WARP_SZ; }" : "=r"(out[15]));
  asm volatile("ld.global.cg.u32 %0, [%1+4];" : "=r"(out[16]) : "l"(a + t));
  asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(out + 17), "r"(t + 5) : "memory");
  asm("max.f32 %0, %1, %2;" : "=f"(s) : "f"(__builtin_nanf("")), "f"(3.0f));
  out[18] = (uint)s;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out[19]) : "r"(x), "r"(y), "r"(7));
  asm("{ add.f32 %0, %0, %1; }" : "+f"(s) : "f"(1.5f));
  out[20] = (uint)(s * 2);
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(out[21]) : "r"(t));
  asm("set.gt.f32.f32 %0, %1, %2;" : "=r"(out[22]) : "f"(f[t]), "f"(1.0f));
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(s) : "f"(1e-39f), "f"(1e-39f));
  out[23] = s == 0;
})");
  EXPECT_EQ(kernels["assembly"].form, Form::loops) << kernels["assembly"].reason;
  EXPECT_EQ(run(R"(
#include <math.h>
static uint32_t half(float x) { _Float16 h = (_Float16)x; uint16_t b; memcpy(&b, &h, 2); return b; }
static float whole(uint32_t h) { uint16_t b = h; _Float16 f; memcpy(&f, &b, 2); return f; }
static uint32_t zero(float x) { uint32_t h = half(x); return fabsf(whole(h)) > fabsf(x) ? h - 1 : h; }
#define CHECK(n, should) if (o[t * 24 + n] != (uint32_t)(should)) printf("%d of %u: %x, not %x; ", n, t, o[t * 24 + n], (uint32_t)(should))
int main(void) {
  static uint32_t a[34], o[33 * 24], *pa = a, *po = o;
  static float f[32] = {0, 1, 2049, 2051, -2049, 65504, 65519, 65520, 1e9f, -1e9f, 1e-8f, -1e-8f, 6e-8f, 0.5f, 1.5f, 2.5f};
  float* pf = f;
  for (int i = 0; i < 34; ++i) a[i] = i * 2654435761u + 12345;
  for (int i = 16; i < 32; ++i) f[i] = (i - 20) * 0.3337f;
  void* arguments[] = {&po, &pa, &pf};
  launch("assembly", 1, 1, 32, 1, 1, 0, arguments);
  if (o[32 * 24] != 64 || o[32 * 24 + 1] != 31 || o[32 * 24 + 2] != 9 || o[32 * 24 + 3]) printf("atomic; ");
  for (unsigned t = 0; t < 32; ++t) {
    const uint32_t x = a[t], y = a[t + 1];
    CHECK(0, x + y);
    CHECK(1, ~(uint32_t)((uint64_t)x * y >> 32));
    CHECK(2, (x & y) | (x & 255) | (y & 255));
    CHECK(3, ((((uint64_t)y << 32 | x) << (t & 31)) >> 32));
    CHECK(4, (int32_t)(x << 20) >> 25);
    CHECK(5, (y & ~0xfff00u) | (x << 8 & 0xfff00));
    CHECK(6, (int32_t)x < (int32_t)y ? 11 : 2);
    CHECK(7, (x & 65535) * 3 + (x >> 16));
    CHECK(8, t * 8 > 31 ? 0 : x << t * 8);
    const uint32_t h = half(f[t]);
    CHECK(9, h | zero(f[t]) << 16);
    if (whole(h) >= 0) CHECK(10, isinf(whole(h)) ? o[t * 24 + 10] : (uint32_t)whole(h));
    CHECK(12, f[t] >= 2147483648.0f ? INT32_MAX : (int32_t)rintf(f[t]));
    const float up = whole(o[t * 24 + 11] & 65535), down = whole(o[t * 24 + 11] >> 16);
    if (!(up >= f[t] && down <= f[t]) || half(up) != (o[t * 24 + 11] & 65535)) printf("11 of %u; ", t);
    const double d = whole(h);
    CHECK(13, half((float)(d * d + d)) | half(6) << 16);
    CHECK(14, t);
    CHECK(15, 32);
    CHECK(16, y);
    CHECK(17, t + 5);
    CHECK(18, 3);
    uint32_t sum = 7;
    for (int k = 0; k < 4; ++k) sum += (x >> 8 * k & 255) * (int8_t)(y >> 8 * k);
    CHECK(19, sum);
    CHECK(20, 9);
    CHECK(21, t ^ 1);
    CHECK(22, f[t] > 1 ? 0x3f800000 : 0);
    CHECK(23, 1);
  }
})",
                machine_.best + " -ffp-contract=off"),
            "");
}

// A thread ends within a function, as CUB's do; masks of bits.
TEST_F(CpuKernel, AssemblyEndsThreads) {
  auto kernels = make(R"(
__device__ __attribute__((noinline)) void leave(uint t) { if (t % 3 == 1) asm volatile("exit;"); }
extern "C" __global__ void ends(uint* o, uint* masks) {
  __shared__ uint s[64];
  uint t = threadIdx.x, r;
  s[t] = t;
  __nvvm_bar_sync(0);
  leave(t);
  o[t] = s[63 - t] + 1;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(t), "r"(t / 2));
  masks[2 * t] = r;
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(r) : "r"(t), "r"(t / 2));
  masks[2 * t + 1] = r;
}
)");
  EXPECT_NE(kernels["ends"].form, Form::refused) << kernels["ends"].reason;
  EXPECT_EQ(run(R"(
static uint32_t mask(uint32_t a, uint32_t b) { return a > 31 ? 0 : (b > 31 ? ~0u : (1u << b) - 1) << a; }
int main(void) {
  static uint32_t o[64], masks[128], *po = o, *pm = masks;
  void* arguments[] = {&po, &pm};
  launch("ends", 1, 1, 64, 1, 1, 0, arguments);
  for (unsigned t = 0; t < 64; ++t) {
    if (o[t] != (t % 3 == 1 ? 0 : 64 - t)) printf("%u: %u; ", t, o[t]);
    if (t % 3 != 1 && (masks[2 * t] != mask(t, t / 2) || masks[2 * t + 1] != mask(t & 31, t / 2 & 31)))
      printf("masks of %u: %x %x; ", t, masks[2 * t], masks[2 * t + 1]);
  }
})"),
            "");
}

// Scopes, octal numbers, operands with two names; subnormal and other special numbers.
TEST_F(CpuKernel, InlineAssemblyCorners) {
  auto kernels = make(R"(
extern "C" __global__ void corners(uint* o, uint x) {
  uint r;
  unsigned short h;
  asm("add.u32 %0, %1, 010;" : "=r"(o[0]) : "r"(x));
  asm("{ mov.u32 %0, %1; add.u32 %0, %1, 1; }" : "=r"(r) : "0"(x));
  o[1] = r;
  asm("{ fma.rn.relu.f16 %0, %1, %1, %1; }" : "=h"(h) : "h"((unsigned short)0x7e00));
  o[2] = h;
  asm("add.ftz.f16 %0, %1, %1;" : "=h"(h) : "h"((unsigned short)1));
  o[3] = h;
  asm("{ fma.rn.bf16 %0, %1, %2, %3; }" : "=h"(h) : "h"((unsigned short)0x3f80), "h"((unsigned short)0x4000), "h"((unsigned short)0x3b80));
  o[4] = h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(1.00390625f));
  o[5] = h;
}
extern "C" __global__ void hides(uint* o, uint x) {
  asm("{ .reg .u32 t; mov.u32 t, 100; { .reg .u32 t; mov.u32 t, 5; } add.u32 %0, t, 1; }" : "=r"(o[0]));
}
extern "C" __global__ void divides(uint* o, uint x) {
  asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov.u32 %0, 9; @p div.u32 %0, 8, %1; }" : "=r"(o[0]) : "r"(x));
  asm("rem.s32 %0, %1, %2;" : "=r"(o[1]) : "r"(8), "r"(x));
})");
  EXPECT_EQ(kernels["corners"].form, Form::loops) << kernels["corners"].reason;
  EXPECT_EQ(kernels["hides"].form, Form::refused);
  EXPECT_EQ(kernels["divides"].form, Form::loops) << kernels["divides"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  static unsigned o[6], *po = o;
  unsigned x = 7;
  void* arguments[] = {&po, &x};
  launch("corners", 1, 1, 1, 1, 1, 0, arguments);
  printf("%u %u %d %u %x %x", o[0], o[1], (o[2] & 0x7c00) == 0x7c00 && (o[2] & 0x3ff), o[3], o[4], o[5]);
  for (x = 0; x < 2; ++x) {
    launch("divides", 1, 1, 1, 1, 1, 0, arguments);
    printf(" %u %d", o[0], o[1]);
  }
})"),
            "15 8 1 0 4000 3f80 9 -1 8 0");
}

// Integers of 8 and of 16 bits in 32, as in CUDA's SIMD intrinsics, against the same in C.
TEST_F(CpuKernel, VideoInstructions) {
  struct Operation {
    const char *instruction, *value; // of elements a and b in C
  };
  const Operation operations[] = {
      {"vadd#.u32.u32.u32", "a + b"},
      {"vadd#.s32.s32.s32.sat", "saturated(a + b, width, 1)"},
      {"vadd#.u32.u32.u32.sat", "saturated(a + b, width, 0)"},
      {"vsub#.u32.u32.u32", "a - b"},
      {"vsub#.s32.s32.s32.sat", "saturated(a - b, width, 1)"},
      {"vsub#.u32.u32.u32.sat", "saturated(a - b, width, 0)"},
      {"vavrg#.s32.s32.s32", "(a + b + (a + b >= 0)) >> 1"},
      {"vavrg#.u32.u32.u32", "(a + b + 1) >> 1"},
      {"vabsdiff#.s32.s32.s32", "abs(a - b)"},
      {"vabsdiff#.u32.u32.u32", "abs(a - b)"},
      {"vabsdiff#.s32.s32.s32.sat", "saturated(abs(a - b), width, 1)"},
      {"vabsdiff#.s32.s32.s32.add", "abs(a - b)"},
      {"vabsdiff#.u32.u32.u32.add", "abs(a - b)"},
      {"vmin#.s32.s32.s32", "a < b ? a : b"},
      {"vmin#.u32.u32.u32", "a < b ? a : b"},
      {"vmax#.s32.s32.s32", "a > b ? a : b"},
      {"vmax#.u32.u32.u32", "a > b ? a : b"},
      {"vset#.u32.u32.eq", "a == b"},
      {"vset#.u32.u32.ne", "a != b"},
      {"vset#.s32.s32.ge", "a >= b"},
      {"vset#.s32.s32.le", "a <= b"},
      {"vset#.u32.u32.lt", "a < b"},
      {"vset#.u32.u32.gt", "a > b"},
      {"vset#.s32.s32.gt.add", "a > b"},
  };
  std::string kernel, checks;
  int number = 0;
  for (const char count : {'2', '4'})
    for (const Operation& operation : operations) {
      std::string instruction = operation.instruction;
      instruction[instruction.find('#')] = count;
      kernel += "  asm(\"" + instruction + " %0, %1, %2, %3;\" : \"=r\"(out[" + std::to_string(number) +
                "]) : \"r\"(x), \"r\"(y), \"r\"(7));\n";
      const bool is_signed = instruction.find(".s32") != std::string::npos;
      const bool adds = instruction.ends_with(".add");
      checks += std::string("    { enum { width = ") + (count == '4' ? "8" : "16") + " };\n" +
                "      uint32_t packed = 0, sum = 7;\n" + "      for (int k = 0; k < 32; k += width) {\n" +
                "        int a = element(x, k, width, " + (is_signed ? "1" : "0") +
                "), b = element(y, k, width, " + (is_signed ? "1" : "0") + "), v = " + operation.value +
                ";\n" + "        packed |= ((uint32_t)v & ((1u << width) - 1)) << k, sum += v; }\n" +
                "      uint32_t should = " + (adds ? "sum" : "packed") + ";\n" + "      if (o[t * 64 + " +
                std::to_string(number) + "] != should) printf(\"" + instruction +
                " of %x and %x: %x, not %x; \", x, y, o[t * 64 + " + std::to_string(number) +
                "], should); }\n";
      ++number;
    }
  auto kernels = make("extern \"C\" __global__ void video(uint* o, const uint* a) {\n"
                      "  uint t = threadIdx.x, x = a[t], y = a[t + 1];\n  uint* out = o + t * 64;\n" +
                      kernel + "}\n");
  EXPECT_EQ(kernels["video"].form, Form::loops) << kernels["video"].reason;
  EXPECT_EQ(run(R"(
#include <stdlib.h>
static int element(uint32_t x, int from, int width, int is_signed) {
  return is_signed ? (int32_t)(x << (32 - width - from)) >> (32 - width) : (int)(x >> from & ((1u << width) - 1));
}
static int saturated(int v, int width, int is_signed) {
  const int last = (1 << (width - is_signed)) - 1, first = is_signed ? -last - 1 : 0;
  return v < first ? first : v > last ? last : v;
}
int main(void) {
  static uint32_t a[257], o[256 * 64], *pa = a, *po = o;
  for (uint32_t i = 0; i < 257; ++i) a[i] = i < 200 ? i * 2654435761u ^ i << 7 : i % 2 ? 0x80ff7f01 : 0x7f0180ff + i;
  void* arguments[] = {&po, &pa};
  launch("video", 1, 1, 256, 1, 1, 0, arguments);
  for (int t = 0; t < 256; ++t) {
    uint32_t x = a[t], y = a[t + 1];
)" + checks + "  }\n}\n"),
            "");
}

} // namespace

} // namespace xaas::cpukernel
