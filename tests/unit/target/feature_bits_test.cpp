// Where CPUs report features, compared with LLVM's tables and the kernel's header.
#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/target/cpu.h>
#include <xaas/target/feature_bits.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <llvm/TargetParser/AArch64TargetParser.h>

#include <map>
#include <regex>
#include <set>
#include <tuple>

namespace xaas::target {
namespace {

TEST(FeatureBits, AreSortedForQuestionsAndNamedByLlvm) {
  for (const char* arch : {"x86_64", "aarch64"}) {
    std::tuple<uint32_t, uint32_t> last{0, 0};
    for (const FeatureBit& bit : feature_bits(arch)) {
      const std::tuple<uint32_t, uint32_t> here{bit.leaf, bit.subleaf};
      EXPECT_LE(last, here) << bit.name;
      last = here;
      EXPECT_TRUE(is_feature(arch, bit.name)) << bit.name;
    }
  }
  EXPECT_TRUE(feature_bits("riscv64").empty());
}

// The features that no bit tells, with the reason.
std::set<std::string> without_bit() {
  std::set<std::string> names;
  for (const char* every : {"fp-armv8", "neon", "v8a"})
    names.insert(every);
  // Only intrinsics, assembly and attributes lead to their instructions; or only the system's own code can.
  const std::string intrinsic =
      "aes am amvs brbe bti btie ccdp ccidx ccpp chk clrbhb cmh cpa crypto d128 dit ecv ete "
      "f16f32dot f16f32mm f16mm f8f16mm f8f32mm fgt fp8 fp8dot2 fp8dot4 fp8fma fpac fprcvt gcie gcs "
      "hcx ite lor ls64 lscp lsui lut mec mops-go mpam mpamv2 mte mtetc nmi nv occmo pan pan-rwv "
      "pauth pauth-lr pcdphint perfmon poe2 pops predres prfm-slc-target rand ras rasv2 rme sb sel2 "
      "sha2 sm4 spe spe-eef specres2 specrestrict ssbs sve-aes sve-aes2 sve-b16mm sve-bfscale "
      "sve-bitperm sve-f16f32mm sve-sha3 sve-sm4 sve2-aes sve2-bitperm sve2-sha3 sve2-sm4 tev the "
      "tlb-rmi tlbid tlbiw tracev8.4 trbe uaops vh wfxt xs";
  for (const std::string& name : split(intrinsic, ' '))
    names.insert(name);
  names.insert("sve2p3"); // Linux reports it in no way yet
  names.insert("lse2");   // it adds no instruction
  return names;
}

TEST(FeatureBits, OfEveryAArch64ExtensionOrAReason) {
  std::set<std::string> known = without_bit();
  for (const FeatureBit& bit : feature_bits("aarch64"))
    EXPECT_TRUE(known.insert(bit.name).second) << bit.name;
  std::string unknown;
  for (const std::string& name : known)
    if (!is_feature("aarch64", name))
      unknown += "(no feature: " + name + ") ";
  for (const llvm::AArch64::ExtensionInfo& extension : llvm::AArch64::Extensions) {
    const std::string name = extension.PosTargetFeature.drop_front().str();
    const bool streaming = name.starts_with("sme") || name.starts_with("ssve");
    if (!known.contains(name) && !streaming)
      unknown += name + " ";
  }
  EXPECT_EQ(unknown, "");
}

TEST(FeatureBits, AreThoseOfTheKernelsHeader) {
  const Result<std::string> header = read_file("/usr/aarch64-linux-gnu/include/asm/hwcap.h");
  if (!header)
    GTEST_SKIP() << "no header of AArch64's kernel here (linux-libc-dev-arm64-cross)";
  const std::map<std::string, std::string> names = {
      {"crc", "HWCAP_CRC32"},        {"lse", "HWCAP_ATOMICS"},        {"fullfp16", "HWCAP_ASIMDHP"},
      {"rdm", "HWCAP_ASIMDRDM"},     {"jsconv", "HWCAP_JSCVT"},       {"complxnum", "HWCAP_FCMA"},
      {"rcpc", "HWCAP_LRCPC"},       {"dotprod", "HWCAP_ASIMDDP"},    {"sve", "HWCAP_SVE"},
      {"fp16fml", "HWCAP_ASIMDFHM"}, {"rcpc-immo", "HWCAP_ILRCPC"},   {"flagm", "HWCAP_FLAGM"},
      {"sve2", "HWCAP2_SVE2"},       {"altnzcv", "HWCAP2_FLAGM2"},    {"fptoint", "HWCAP2_FRINT"},
      {"f32mm", "HWCAP2_SVEF32MM"},  {"f64mm", "HWCAP2_SVEF64MM"},    {"i8mm", "HWCAP2_I8MM"},
      {"bf16", "HWCAP2_BF16"},       {"cssc", "HWCAP2_CSSC"},         {"sve2p1", "HWCAP2_SVE2P1"},
      {"mops", "HWCAP2_MOPS"},       {"hbc", "HWCAP2_HBC"},           {"rcpc3", "HWCAP2_LRCPC3"},
      {"lse128", "HWCAP2_LSE128"},   {"faminmax", "HWCAP2_FAMINMAX"}, {"sha3", "HWCAP_SHA3"},
      {"sve2p2", "HWCAP_SVE2P2"},    {"cmpbr", "HWCAP_CMPBR"},        {"sve-b16b16", "HWCAP2_SVE_B16B16"},
      {"lsfe", "HWCAP3_LSFE"}};
  std::map<std::string, uint32_t> macros;
  static const std::regex line(R"(#define\s+(HWCAP2?_\w+)\s+\(1(?:UL)? << (\d+)\))");
  for (std::sregex_iterator at(header->begin(), header->end(), line), end; at != end; ++at)
    macros[(*at)[1]] = static_cast<uint32_t>(std::stoul((*at)[2]));
  size_t compared = 0;
  for (const FeatureBit& bit : feature_bits("aarch64")) {
    ASSERT_TRUE(names.contains(bit.name)) << bit.name;
    const std::string& macro = names.at(bit.name);
    EXPECT_EQ(bit.leaf, macro.starts_with("HWCAP3")   ? 29u
                        : macro.starts_with("HWCAP2") ? 26u
                                                      : 16u)
        << bit.name;
    if (!macros.contains(macro)) { // newer than the header of Linux 6.1
      EXPECT_TRUE(bit.leaf == 29 || bit.bit >= (bit.leaf == 16 ? 32u : 34u)) << bit.name;
      continue;
    }
    EXPECT_EQ(macros.at(macro), bit.bit) << bit.name;
    ++compared;
  }
  EXPECT_GE(compared, 20u);
}

} // namespace
} // namespace xaas::target
