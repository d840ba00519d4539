#include <xaas/base/text.h>
#include <xaas/target/cpu.h>
#include <xaas/target/feature_bits.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace xaas::target {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

using Names = std::vector<std::string>;

Names without(Names features, const Names& hidden) {
  std::erase_if(features, [&](const std::string& name) { return std::ranges::count(hidden, name) > 0; });
  return features;
}

std::map<std::string, bool> detection(const std::string& name, const Names& off) {
  std::map<std::string, bool> detected;
  const Cpu cpu = *cpu_by_name("x86_64", name);
  for (const std::string& feature : cpu.features)
    if (feature != "x87") // LLVM does not look at it
      detected[feature] = true;
  for (const std::string& feature : off)
    detected[feature] = false;
  return detected;
}

TEST(Cpu, LevelsOfKnownCpus) {
  const std::map<std::string, std::string> levels = {{"generic", "x86-64"},
                                                     {"k8", "x86-64"},
                                                     {"core2", "x86-64"},
                                                     {"nehalem", "x86-64-v2"},
                                                     {"sandybridge", "x86-64-v2"},
                                                     {"haswell", "x86-64-v3"},
                                                     {"znver1", "x86-64-v3"},
                                                     {"znver3", "x86-64-v3"},
                                                     {"skylake-avx512", "x86-64-v4"},
                                                     {"znver4", "x86-64-v4"},
                                                     {"knl", "x86-64-v3"},
                                                     {"sapphirerapids", "x86-64-v4"}};
  for (const auto& [name, level] : levels)
    EXPECT_EQ(isa_level("x86_64", cpu_by_name("x86_64", name)->features), level) << name;
  const std::map<std::string, std::string> arm = {
      {"generic", "armv8-a"},     {"cortex-a57", "armv8-a"},        {"neoverse-n1", "armv8-a"},
      {"a64fx", "armv8.2-a+sve"}, {"neoverse-v1", "armv8.2-a+sve"}, {"neoverse-v2", "armv9-a"},
      {"grace", "armv9-a"}};
  for (const auto& [name, level] : arm)
    EXPECT_EQ(isa_level("aarch64", cpu_by_name("aarch64", name)->features), level) << name;
}

TEST(Cpu, EveryLevelIsItsOwnLevelAndHasAllOfTheOneBelow) {
  for (const std::string arch : {"x86_64", "aarch64"}) {
    Names below;
    EXPECT_THAT(isa_levels(arch), ::testing::Contains(common_level(arch)));
    for (const std::string& level : isa_levels(arch)) {
      const Result<Cpu> cpu = cpu_by_name(arch, level);
      ASSERT_TRUE(cpu) << level;
      EXPECT_EQ(isa_level(arch, cpu->features), level);
      EXPECT_EQ(missing_features(below, cpu->features), Names()) << level;
      EXPECT_TRUE(std::ranges::is_sorted(cpu->features));
      EXPECT_EQ(usable_features(arch, cpu->features), cpu->features) << level;
      below = cpu->features;
    }
  }
  EXPECT_EQ(isa_levels("riscv64"), Names());
  EXPECT_EQ(common_level("riscv64"), "");
  EXPECT_EQ(isa_level("riscv64", {}), "");
}

TEST(Cpu, LevelsNeedAllTheirFeatures) {
  const Names v3 = *features_of("x86_64", "x86-64-v3");
  for (const char* one : {"avx512f", "avx512bw", "avx512vl", "avx512vnni"}) {
    Names features = v3;
    features.push_back(one);
    EXPECT_EQ(isa_level("x86_64", features), "x86-64-v3") << one;
  }
  EXPECT_EQ(isa_level("x86_64", without(v3, {"movbe"})), "x86-64-v2");
  EXPECT_EQ(isa_level("x86_64", without(v3, {"cx16"})), "x86-64");
  // A hidden feature below others counts as hidden.
  EXPECT_EQ(isa_level("x86_64", without(*features_of("x86_64", "x86-64-v4"), {"avx2"})), "x86-64-v2");
  EXPECT_EQ(isa_level("aarch64", without(*features_of("aarch64", "neoverse-v2"), {"sve2"})), "armv8.2-a+sve");
}

TEST(Cpu, LevelsDoNotAskForWhatDetectionCannotSee) {
  const Names v3 = *features_of("x86_64", "x86-64-v3");
  EXPECT_EQ(isa_level("x86_64",
                      without(v3, {"x87", "fxsr", "cmov", "cx8", "mmx", "sse", "sse2", "crc32", "xsave"})),
            "x86-64-v3");
  EXPECT_EQ(isa_level("aarch64", {"neon", "fp-armv8", "crc", "lse", "sve"}), "armv8.2-a+sve");
  Names shuffled = v3;
  std::ranges::reverse(shuffled);
  EXPECT_EQ(isa_level("x86_64", shuffled), "x86-64-v3");
}

TEST(Cpu, NamesAreThoseOfTheBackEnd) {
  EXPECT_THAT(
      cpu_by_name("x86_64", "znver4")->features,
      IsSupersetOf({"sse2", "sse4.1", "sse4.2", "avx", "avx2", "fma", "avx512f", "crc32", "cx16", "x87"}));
  EXPECT_THAT(cpu_by_name("x86_64", "haswell")->features, Not(Contains("fma4")));
  EXPECT_THAT(cpu_by_name("aarch64", "armv8.2-a+sve")->features,
              IsSupersetOf({"v8a", "v8.2a", "sve", "lse"}));
  EXPECT_THAT(cpu_by_name("aarch64", "neoverse-v2")->features,
              IsSupersetOf({"v9a", "v8.5a", "sve2", "bti", "i8mm"}));
  EXPECT_EQ(cpu_by_name("aarch64", "armv9-a")->name, "generic"); // LLVM has no such CPU
  EXPECT_EQ(cpu_by_name("x86_64", "x86-64-v3")->name, "x86-64-v3");
  for (const char* good : {"sse4.1", "avx512vl", "amx-tile", "x87", "f16c", "avx10.1"})
    EXPECT_TRUE(is_feature("x86_64", good)) << good;
  for (const char* bad : {"sse4_1", "AVX2", "+avx2", "", "neon", "avx5124fmaps", "x86-64-v3"})
    EXPECT_FALSE(is_feature("x86_64", bad)) << bad;
  for (const char* good : {"neon", "sve2", "v8.2a", "fp-armv8", "i8mm"})
    EXPECT_TRUE(is_feature("aarch64", good)) << good;
  for (const char* bad : {"avx2", "asimd", "armv9-a", ""})
    EXPECT_FALSE(is_feature("aarch64", bad)) << bad;
  EXPECT_FALSE(is_feature("riscv64", "v"));
}

TEST(Cpu, AllNamedFeaturesAreFeaturesAndAllNamesAreNames) {
  for (const std::string arch : {"x86_64", "aarch64"})
    for (const std::string& name : cpu_names(arch)) {
      const Result<Cpu> cpu = cpu_by_name(arch, name);
      ASSERT_TRUE(cpu) << name;
      for (const std::string& feature : cpu->features)
        EXPECT_TRUE(is_feature(arch, feature)) << name << ' ' << feature;
      EXPECT_EQ(usable_features(arch, cpu->features), cpu->features) << name;
    }
  EXPECT_THAT(cpu_names("x86_64"), IsSupersetOf({"znver5", "x86-64-v4", "generic"}));
}

TEST(Cpu, NamesOfTheSameCpu) {
  EXPECT_EQ(names_of_same_cpu("x86_64", "skx"), (Names{"skx", "skylake-avx512"}));
  EXPECT_EQ(names_of_same_cpu("x86_64", "znver4"), Names{"znver4"});
  EXPECT_EQ(names_of_same_cpu("x86_64", "x86-64-v3"), Names{"x86-64-v3"});
  EXPECT_EQ(names_of_same_cpu("aarch64", "cobalt-100"), (Names{"cobalt-100", "neoverse-n2"}));
  EXPECT_EQ(names_of_same_cpu("aarch64", "neoverse-n2"), (Names{"neoverse-n2", "cobalt-100"}));
  for (const char* name : {"generic", "", "no-such-cpu", "armv8-a"})
    EXPECT_EQ(names_of_same_cpu("aarch64", name), Names{name}) << name;
  EXPECT_EQ(names_of_same_cpu("riscv64", "rocket"), Names{"rocket"});
}

TEST(Cpu, UnknownNamesAreUsageErrorsWithASuggestion) {
  const Result<Cpu> typo = cpu_by_name("x86_64", "haswel");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().kind, ErrorKind::usage);
  EXPECT_THAT(typo.error().message, HasSubstr("haswel"));
  EXPECT_THAT(typo.error().hint, HasSubstr("haswell"));
  for (const char* bad : {"", "native", "pentium4", "i686", "neoverse-v2", "x86-64-v5", "haswell,+avx512f"})
    EXPECT_EQ(cpu_by_name("x86_64", bad).error().kind, ErrorKind::usage) << bad;
  for (const char* bad :
       {"", "+", "armv8.2-a+", "armv8.2-a+nothing", "armv8-r", "haswell", "armv7-a", "x86-64"})
    EXPECT_FALSE(cpu_by_name("aarch64", bad)) << bad;
  EXPECT_THAT(cpu_by_name("vax", "haswell").error().message, HasSubstr("vax"));
  EXPECT_FALSE(features_of("x86_64", "nonsense"));
}

TEST(Cpu, DetectionKeepsOnlyWhatLlvmCanUse) {
  const Cpu plain = cpu_from_detection("x86_64", "skylake-avx512", detection("skylake-avx512", {}));
  EXPECT_EQ(plain, *cpu_by_name("x86_64", "skylake-avx512"));
  // A virtual machine hides fma: AVX-512 would bring it back.
  const Cpu hidden = cpu_from_detection("x86_64", "skylake-avx512", detection("skylake-avx512", {"fma"}));
  EXPECT_EQ(hidden.name, "skylake-avx512");
  EXPECT_THAT(hidden.features, Contains("avx2"));
  EXPECT_THAT(hidden.features, Not(Contains("avx512f")));
  EXPECT_EQ(isa_level("x86_64", hidden.features), "x86-64-v2");
  const Names llvm = signed_features(hidden);
  EXPECT_THAT(llvm, IsSupersetOf({"+avx2", "-fma", "-avx512f"}));
  EXPECT_THAT(llvm, Not(Contains("-avx2")));
  EXPECT_EQ(signed_features(*cpu_by_name("x86_64", "x86-64")).front(), "+cmov");
  // A name that LLVM does not know costs nothing but the name.
  const Cpu unnamed = cpu_from_detection("x86_64", "someday", detection("haswell", {}));
  EXPECT_EQ(unnamed.name, "generic");
  EXPECT_EQ(isa_level("x86_64", unnamed.features), "x86-64-v3");
}

TEST(Cpu, DetectionOnAarch64CorrectsTheName) {
  const std::map<std::string, bool> v1 = {{"neon", true}, {"fp-armv8", true}, {"crc", true}, {"lse", true},
                                          {"sve", true},  {"aes", true},      {"sha2", true}};
  const Cpu known = cpu_from_detection("aarch64", "neoverse-v1", v1);
  EXPECT_THAT(known.features, IsSupersetOf({"sve", "bf16", "v8.4a"}));
  std::map<std::string, bool> no_sve = v1;
  no_sve.erase("sve");
  const Cpu hidden = cpu_from_detection("aarch64", "neoverse-v1", no_sve);
  EXPECT_THAT(hidden.features, Not(Contains("sve")));
  EXPECT_THAT(hidden.features, Contains("bf16"));
  EXPECT_EQ(isa_level("aarch64", hidden.features), "armv8-a");
  const Cpu unnamed = cpu_from_detection("aarch64", "", v1);
  EXPECT_EQ(unnamed.name, "generic");
  EXPECT_EQ(isa_level("aarch64", unnamed.features), "armv8.2-a+sve");
}

// An emulator's CPU has no name. Its level is one that selection finds satisfied, too.
TEST(Cpu, AnUnnamedAarch64HasTheFeaturesOfItsLevel) {
  std::map<std::string, bool> shown;
  for (const FeatureBit& bit : feature_bits("aarch64"))
    shown[bit.name] = false;
  for (const std::string& level : isa_levels("aarch64")) {
    const Names features = *features_of("aarch64", level);
    for (const std::string& feature : guarded_features("aarch64", features))
      shown[feature] = true;
    for (const char* feature : {"neon", "fp-armv8"})
      shown[feature] = true;
    const Cpu cpu = cpu_from_detection("aarch64", "generic", shown);
    EXPECT_EQ(isa_level("aarch64", cpu.features), level);
    EXPECT_EQ(missing_features(features, cpu.features), Names()) << level;
  }
  shown["fullfp16"] = false; // a hypervisor hides it, and what depends on it is off
  const Cpu cpu = cpu_from_detection("aarch64", "generic", shown);
  EXPECT_THAT(cpu.features, Not(testing::AnyOf(Contains("fullfp16"), Contains("sve"))));
  EXPECT_EQ(isa_level("aarch64", cpu.features), "armv8-a");
}

TEST(Cpu, HostIsConsistent) {
  const Cpu cpu = host_cpu();
  EXPECT_EQ(cpu.arch, host_arch());
  EXPECT_FALSE(cpu.features.empty());
  EXPECT_EQ(usable_features(cpu.arch, cpu.features), cpu.features);
  EXPECT_EQ(missing_features(*features_of(cpu.arch, isa_levels(cpu.arch).front()), cpu.features), Names());
}

TEST(Cpu, ImpliedAndMissingFeatures) {
  EXPECT_THAT(with_implied("x86_64", {"avx2"}),
              IsSupersetOf({"avx", "sse4.2", "sse2", "crc32", "xsave", "avx2"}));
  EXPECT_THAT(with_implied("x86_64", {"future"}), Contains("future"));
  EXPECT_THAT(with_implied("aarch64", {"sve2"}), IsSupersetOf({"sve", "sve2", "neon"}));
  EXPECT_THAT(usable_features("x86_64", {"future", "64bit"}),
              Not(testing::AnyOf(Contains("future"), Contains("64bit"))));
  EXPECT_EQ(missing_features({"fma", "avx2", "avx"}, {"avx2"}), (Names{"fma", "avx"}));
}

TEST(Cpu, TriplesAndOciNames) {
  EXPECT_EQ(triple("x86_64"), "x86_64-pc-linux-gnu");
  EXPECT_EQ(triple("aarch64"), "aarch64-unknown-linux-gnu");
  EXPECT_EQ(oci_architecture("x86_64"), "amd64");
  EXPECT_EQ(oci_architecture("aarch64"), "arm64");
}

} // namespace
} // namespace xaas::target
