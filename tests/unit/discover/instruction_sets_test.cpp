// specs/instruction-sets.json against LLVM's own tables of CPU features.
#include "instruction_sets.h"
#include "knowledge.h"

#include <gmock/gmock.h>

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <fnmatch.h>
#include <memory>

#define TARGETS(EACH)                                                                                        \
  EACH(X86)                                                                                                  \
  EACH(AArch64)                                                                                              \
  EACH(RISCV)                                                                                                \
  EACH(PowerPC)                                                                                              \
  EACH(SystemZ)                                                                                              \
  EACH(LoongArch)                                                                                            \
  EACH(ARM)                                                                                                  \
  EACH(Mips)                                                                                                 \
  EACH(Sparc)                                                                                                \
  EACH(WebAssembly)                                                                                          \
  EACH(Hexagon)                                                                                              \
  EACH(VE)

#define DECLARE(TARGET)                                                                                      \
  extern "C" void LLVMInitialize##TARGET##TargetInfo();                                                      \
  extern "C" void LLVMInitialize##TARGET##TargetMC();
TARGETS(DECLARE)

namespace xaas::discover {
namespace {

using ::testing::ElementsAre;

using Features = std::set<std::string>;

Features features_of(const std::string& architecture) {
#define INITIALIZE(TARGET)                                                                                   \
  LLVMInitialize##TARGET##TargetInfo();                                                                      \
  LLVMInitialize##TARGET##TargetMC();
  TARGETS(INITIALIZE)
  std::string error;
  const llvm::Triple triple(architecture + "-unknown-unknown");
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(triple, error);
  EXPECT_TRUE(target) << architecture << ": " << error;
  Features features;
  if (!target)
    return features;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures())
    features.insert(feature.Key);
  return features;
}

bool is_other(const InstructionSets::Architecture& architecture, const std::string& feature) {
  return std::any_of(architecture.other.begin(), architecture.other.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), feature.c_str(), 0) == 0;
  });
}

class InstructionSetsTest : public ::testing::Test {
protected:
  static const SimdEntry* find(const std::string& name) {
    return InstructionSets::get().find(Knowledge::words_of(name));
  }
};

// If this fails with a new LLVM: add the feature to `vector` or `scalar`, or a pattern for it to `other`.
TEST_F(InstructionSetsTest, EveryFeatureOfLlvmHasAPlace) {
  EXPECT_EQ(InstructionSets::get().architectures().size(), 12u);
  for (const InstructionSets::Architecture& architecture : InstructionSets::get().architectures()) {
    const Features features = features_of(architecture.name);
    EXPECT_FALSE(features.empty()) << architecture.name;
    for (const std::string& feature : features) {
      const size_t listed = architecture.vector.count(feature) + architecture.scalar.count(feature);
      EXPECT_TRUE(listed == 1 || (listed == 0 && is_other(architecture, feature)))
          << architecture.name << ": " << feature;
    }
  }
}

TEST_F(InstructionSetsTest, EveryNameIsAFeatureOfLlvm) {
  for (const InstructionSets::Architecture& architecture : InstructionSets::get().architectures()) {
    const Features features = features_of(architecture.name);
    for (const Features& names : {architecture.vector, architecture.scalar, architecture.with_word})
      for (const std::string& name : names)
        EXPECT_TRUE(features.count(name)) << architecture.name << ": " << name;
    for (const std::string& pattern : architecture.other)
      EXPECT_TRUE(std::any_of(
          features.begin(), features.end(),
          [&](const std::string& feature) { return fnmatch(pattern.c_str(), feature.c_str(), 0) == 0; }))
          << architecture.name << ": " << pattern;
  }
}

// By its own name, in any spelling; beside a word of its architecture even if the name is ambiguous.
TEST_F(InstructionSetsTest, EveryFeatureIsRecognized) {
  for (const InstructionSets::Architecture& architecture : InstructionSets::get().architectures())
    for (const bool vector : {true, false})
      for (const std::string& name : vector ? architecture.vector : architecture.scalar) {
        const SimdEntry* const alone = find(name);
        EXPECT_TRUE(alone || architecture.with_word.count(name)) << architecture.name << ": " << name;
        const SimdEntry* const beside = find(*architecture.words.begin() + "_" + name);
        ASSERT_TRUE(beside) << architecture.name << ": " << name;
        EXPECT_EQ(beside->is_vector, alone ? alone->is_vector : vector) << name;
      }
}

TEST_F(InstructionSetsTest, NamesAndSpellings) {
  for (const char* name : {"SSE4_2", "sse42", "SSE4.2", "x86-sse4.2"}) {
    ASSERT_TRUE(find(name)) << name;
    EXPECT_THAT(find(name)->features, ElementsAre("sse4.2"));
    EXPECT_EQ(find(name)->arch, "x86_64");
  }
  EXPECT_THAT(find("AVX512_VBMI")->features, ElementsAre("avx512vbmi"));
  EXPECT_THAT(find("AMX_TILE")->features, ElementsAre("amx-tile"));
  EXPECT_FALSE(find("BMI2")->is_vector);
  EXPECT_EQ(find("NEON")->arch, "aarch64");
  EXPECT_EQ(find("LASX")->arch, "loongarch64");
  EXPECT_EQ(find("IBM_VSX")->arch, "powerpc64le");
  EXPECT_EQ(find("VXE")->arch, "s390x");
  EXPECT_THAT(find("RVV")->features, ElementsAre("v"));
  EXPECT_THAT(find("RV_ZFH")->features, ElementsAre("zfh"));
  EXPECT_THAT(find("riscv_v")->features, ElementsAre("v"));
  for (const char* other : {"v", "vector", "crypto", "fp16", "slow-lea", "tagged-globals", "relax", ""})
    EXPECT_FALSE(find(other)) << other;
}

} // namespace
} // namespace xaas::discover
