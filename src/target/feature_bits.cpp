#include <xaas/target/feature_bits.h>

#include <array>
#include <set>

namespace xaas::target {

namespace {

// XCR0: SSE and AVX; also opmask and both halves of ZMM; the registers of APX.
constexpr uint32_t avx = 0x6, avx512 = 0xe6, apx = 1 << 19;

constexpr auto of_x86_64 = std::to_array<FeatureBit>({
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

// Linux, include/uapi/linux/auxvec.h.
constexpr uint32_t hwcap = 16, hwcap2 = 26, hwcap3 = 29;

constexpr FeatureBit in(uint32_t type, uint32_t bit, const char* name) {
  return {type, 0, CpuidWord::eax, bit, 0, name};
}

// Left out although code generation may use them: hints, which older CPUs ignore (bti, pauth); memory
// tagging, which only `-fsanitize` asks for; streaming mode (sme), which only functions with its attributes
// enter; and lse2, which adds no instruction and which emulators do not report.
constexpr auto of_aarch64 = std::to_array<FeatureBit>({
    in(hwcap, 7, "crc"),
    in(hwcap, 8, "lse"),
    in(hwcap, 10, "fullfp16"),
    in(hwcap, 12, "rdm"),
    in(hwcap, 13, "jsconv"),
    in(hwcap, 14, "complxnum"),
    in(hwcap, 15, "rcpc"),
    in(hwcap, 17, "sha3"), // EOR3 and XAR; the hashes of SHA-512, which it also
                           // means, are intrinsics alone
    in(hwcap, 20, "dotprod"),
    in(hwcap, 22, "sve"),
    in(hwcap, 23, "fp16fml"),
    in(hwcap, 26, "rcpc-immo"),
    in(hwcap, 27, "flagm"),
    in(hwcap, 33, "cmpbr"),
    in(hwcap, 41, "sve2p2"),
    in(hwcap2, 1, "sve2"),
    in(hwcap2, 7, "altnzcv"),
    in(hwcap2, 8, "fptoint"),
    in(hwcap2, 10, "f32mm"),
    in(hwcap2, 11, "f64mm"),
    in(hwcap2, 13, "i8mm"),
    in(hwcap2, 14, "bf16"),
    in(hwcap2, 34, "cssc"),
    in(hwcap2, 36, "sve2p1"),
    in(hwcap2, 43, "mops"),
    in(hwcap2, 44, "hbc"),
    in(hwcap2, 45, "sve-b16b16"),
    in(hwcap2, 46, "rcpc3"),
    in(hwcap2, 47, "lse128"),
    in(hwcap2, 50, "faminmax"),
    in(hwcap3, 2, "lsfe"),
});

// The features with a bit that a version of AArch64's architecture adds to its predecessors. Lists of
// features name the version instead.
struct VersionFeatures {
  const char* version;
  std::vector<std::string> features;
};
const std::vector<VersionFeatures>& of_versions() {
  static const std::vector<VersionFeatures> table = {
      {"v8.1a", {"crc", "lse", "rdm"}},
      {"v8.3a", {"complxnum", "jsconv", "rcpc"}},
      {"v8.4a", {"dotprod", "flagm", "rcpc-immo"}},
      {"v8.5a", {"altnzcv", "fptoint"}},
      {"v8.6a", {"bf16", "i8mm"}},
      {"v8.8a", {"hbc", "mops"}},
      {"v8.9a", {"cssc"}},
      {"v9.6a", {"cmpbr"}},
      {"v9.7a", {"fullfp16", "sve", "sve2", "sve2p1", "sve2p2"}}};
  return table;
}

} // namespace

std::span<const FeatureBit> feature_bits(const std::string& arch) {
  if (arch == "x86_64")
    return of_x86_64;
  return arch == "aarch64" ? std::span<const FeatureBit>(of_aarch64) : std::span<const FeatureBit>();
}

std::vector<std::string> guarded_features(const std::string& arch, const std::vector<std::string>& features) {
  std::set<std::string> all(features.begin(), features.end());
  if (arch == "aarch64")
    for (const VersionFeatures& version : of_versions())
      if (all.contains(version.version))
        all.insert(version.features.begin(), version.features.end());
  std::vector<std::string> guarded;
  for (const FeatureBit& bit : feature_bits(arch))
    if (all.contains(bit.name))
      guarded.emplace_back(bit.name);
  return guarded;
}

} // namespace xaas::target
