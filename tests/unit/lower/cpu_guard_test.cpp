// tests/e2e/cases/emulated_cpu.sh runs the guard on other CPUs.
#include <xaas/lower/cpu_guard.h>
#include <xaas/target/feature_bits.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/AArch64TargetParser.h>

namespace xaas::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CpuGuard, NamesTheTargetAndItsFeatures) {
  const auto guard = cpu_guard(*target::cpu_by_name("x86_64", "haswell"), GuardedFile::program);
  ASSERT_TRUE(guard) << guard.error().message;
  for (const char* text : {"avx2", "bmi2", "haswell", ".preinit_array", ".note.xaas.isa"})
    EXPECT_THAT(*guard, HasSubstr(text));
  for (const char* text : {"avx512f", ".init_array.0"})
    EXPECT_THAT(*guard, Not(HasSubstr(text)));
}

TEST(CpuGuard, OfAArch64) {
  const auto guard = cpu_guard(*target::cpu_by_name("aarch64", "neoverse-v1"), GuardedFile::program);
  ASSERT_TRUE(guard) << guard.error().message;
  for (const char* text : {"sve", "dotprod", "neoverse-v1", ".preinit_array", ".note.gnu.property"})
    EXPECT_THAT(*guard, HasSubstr(text));
  for (const char* text : {"sve2", ".note.xaas.isa", "memset"})
    EXPECT_THAT(*guard, Not(HasSubstr(text)));
}

// Lists of features name versions of the architecture, which imply features in LLVM's back end.
TEST(CpuGuard, VersionsOfAArch64ImplyWhatTheBackEndThinks) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargetMCs();
  std::string why;
  const llvm::Triple triple("aarch64-unknown-linux-gnu");
  const llvm::Target* const backend = llvm::TargetRegistry::lookupTarget(triple, why);
  ASSERT_TRUE(backend) << why;
  for (const llvm::AArch64::ArchInfo* version : llvm::AArch64::ArchInfos) {
    if (version->Profile != llvm::AArch64::AProfile)
      continue;
    const std::string name = version->getSubArch().str();
    const std::unique_ptr<llvm::MCSubtargetInfo> info(
        backend->createMCSubtargetInfo(triple, "generic", "+" + name));
    std::vector<std::string> features = {name}, expected;
    for (const llvm::AArch64::ArchInfo* earlier : llvm::AArch64::ArchInfos)
      if (version->implies(*earlier))
        features.push_back(earlier->getSubArch().str());
    for (const target::FeatureBit& bit : target::feature_bits("aarch64"))
      if (info->checkFeatures("+" + std::string(bit.name)))
        expected.emplace_back(bit.name);
    EXPECT_EQ(target::guarded_features("aarch64", features), expected) << name;
  }
}

TEST(CpuGuard, OfALibraryRunsFirst) {
  const auto guard = cpu_guard(*target::cpu_by_name("x86_64", "haswell"), GuardedFile::library);
  ASSERT_TRUE(guard) << guard.error().message;
  EXPECT_THAT(*guard, HasSubstr(".init_array.0"));
  EXPECT_THAT(*guard, Not(HasSubstr(".preinit_array")));
}

TEST(CpuGuard, NothingToGuardOnTheLeastCpu) {
  EXPECT_EQ(*cpu_guard(*target::cpu_by_name("x86_64", "x86-64"), GuardedFile::program), "");
  EXPECT_EQ(*cpu_guard(*target::cpu_by_name("aarch64", "armv8-a"), GuardedFile::program), "");
}

// It needs no other symbol, and keeps the control-flow protection of the other inputs.
TEST(CpuGuard, BringsNothingAlong) {
  for (const char* name : {"x86-64-v2", "x86-64-v4", "znver5", "diamondrapids", "bdver4"}) {
    const auto cpu = target::cpu_by_name("x86_64", name);
    ASSERT_TRUE(cpu) << name;
    const auto guard = cpu_guard(*cpu, GuardedFile::library);
    ASSERT_TRUE(guard) << name << ": " << guard.error().message;
    if (guard->empty())
      continue;
    EXPECT_THAT(*guard, HasSubstr(".note.gnu.property")) << name;
    for (const char* symbol : {"memset", "strlen", "__stack_chk_fail"})
      EXPECT_THAT(*guard, Not(HasSubstr(symbol))) << name;
  }
  for (const char* name : {"neoverse-v2", "apple-m4", "armv9.6-a"})
    for (const GuardedFile file : {GuardedFile::program, GuardedFile::library}) {
      const auto guard = cpu_guard(*target::cpu_by_name("aarch64", name), file);
      ASSERT_TRUE(guard) << name << ": " << guard.error().message;
      EXPECT_THAT(*guard, HasSubstr(".note.gnu.property")) << name;
      for (const char* symbol : {"memset", "strlen", "__stack_chk_fail"})
        EXPECT_THAT(*guard, Not(HasSubstr(symbol))) << name;
    }
}

} // namespace
} // namespace xaas::lower
