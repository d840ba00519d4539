#include <xaas/target/cpuid.h>

#include <array>

namespace xaas::target {

namespace {

// XCR0: SSE and AVX; also opmask and both halves of ZMM; the registers of APX.
constexpr uint32_t avx = 0x6, avx512 = 0xe6, apx = 1 << 19;

constexpr auto bits = std::to_array<CpuidBit>({
    {1, 0, CpuidWord::ecx, 0, 0, "sse3"},
    {1, 0, CpuidWord::ecx, 1, 0, "pclmul"},
    {1, 0, CpuidWord::ecx, 9, 0, "ssse3"},
    {1, 0, CpuidWord::ecx, 12, avx, "fma"},
    {1, 0, CpuidWord::ecx, 13, 0, "cx16"},
    {1, 0, CpuidWord::ecx, 19, 0, "sse4.1"},
    {1, 0, CpuidWord::ecx, 20, 0, "sse4.2"},
    {1, 0, CpuidWord::ecx, 22, 0, "movbe"},
    {1, 0, CpuidWord::ecx, 23, 0, "popcnt"},
    {1, 0, CpuidWord::ecx, 28, avx, "avx"},
    {1, 0, CpuidWord::ecx, 29, avx, "f16c"},
    {7, 0, CpuidWord::ebx, 3, 0, "bmi"},
    {7, 0, CpuidWord::ebx, 5, avx, "avx2"},
    {7, 0, CpuidWord::ebx, 8, 0, "bmi2"},
    {7, 0, CpuidWord::ebx, 16, avx512, "avx512f"},
    {7, 0, CpuidWord::ebx, 17, avx512, "avx512dq"},
    {7, 0, CpuidWord::ebx, 21, avx512, "avx512ifma"},
    {7, 0, CpuidWord::ebx, 28, avx512, "avx512cd"},
    {7, 0, CpuidWord::ebx, 30, avx512, "avx512bw"},
    {7, 0, CpuidWord::ebx, 31, avx512, "avx512vl"},
    {7, 0, CpuidWord::ecx, 1, avx512, "avx512vbmi"},
    {7, 0, CpuidWord::ecx, 6, avx512, "avx512vbmi2"},
    {7, 0, CpuidWord::ecx, 8, 0, "gfni"},
    {7, 0, CpuidWord::ecx, 10, avx, "vpclmulqdq"},
    {7, 0, CpuidWord::ecx, 11, avx512, "avx512vnni"},
    {7, 0, CpuidWord::ecx, 12, avx512, "avx512bitalg"},
    {7, 0, CpuidWord::ecx, 14, avx512, "avx512vpopcntdq"},
    {7, 0, CpuidWord::edx, 23, avx512, "avx512fp16"},
    {7, 1, CpuidWord::eax, 4, avx, "avxvnni"},
    {7, 1, CpuidWord::eax, 5, avx512, "avx512bf16"},
    {7, 1, CpuidWord::eax, 7, 0, "cmpccxadd"},
    {7, 1, CpuidWord::eax, 23, avx, "avxifma"},
    {7, 1, CpuidWord::edx, 4, avx, "avxvnniint8"},
    {7, 1, CpuidWord::edx, 5, avx, "avxneconvert"},
    {7, 1, CpuidWord::edx, 10, avx, "avxvnniint16"},
    {7, 1, CpuidWord::edx, 19, avx512, "avx10.1"},
    {7, 1, CpuidWord::edx, 21, apx, "egpr"}, // of APX, whose features exist only together
    {0x80000001, 0, CpuidWord::ecx, 0, 0, "sahf"},
    {0x80000001, 0, CpuidWord::ecx, 5, 0, "lzcnt"},
    {0x80000001, 0, CpuidWord::ecx, 6, 0, "sse4a"},
    {0x80000001, 0, CpuidWord::ecx, 11, avx, "xop"},
    {0x80000001, 0, CpuidWord::ecx, 16, avx, "fma4"},
    {0x80000001, 0, CpuidWord::ecx, 21, 0, "tbm"},
});

} // namespace

std::span<const CpuidBit> cpuid_bits() {
  return bits;
}

} // namespace xaas::target
