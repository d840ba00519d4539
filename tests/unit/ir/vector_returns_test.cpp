#include <xaas/ir/features.h>
#include <xaas/ir/vector_returns.h>
#include <xaas/target/cpu.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace xaas::ir {

namespace {

using ::testing::HasSubstr;

TargetAttributes plain(const std::string& cpu) {
  InstructionSet set;
  set.triple = "x86_64-pc-linux-gnu";
  set.cpu = cpu;
  return *FeatureResolver::create(set)->attributes("");
}

bool is_no_version(const llvm::Function&) {
  return false;
}

class VectorReturns : public ::testing::Test {
protected:
  // Functions of `text` without attributes get those of `cpu`.
  void parse(const std::string& text, const std::string& cpu = "x86-64") {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString("target triple = \"x86_64-pc-linux-gnu\"\n" + text, error, context_);
    ASSERT_TRUE(module_) << error.getMessage().str();
    cpu_ = cpu;
    set_cpu(cpu, false);
  }

  void set_cpu(const std::string& cpu, bool all) {
    const TargetAttributes attributes = plain(cpu);
    for (llvm::Function& function : *module_)
      if (!function.isIntrinsic() && (all || !function.hasFnAttribute("target-features"))) {
        function.addFnAttr("target-cpu", attributes.cpu);
        function.addFnAttr("target-features", attributes.features);
        function.addFnAttr("min-legal-vector-width", "2048");
      }
  }

  Result<unsigned> fix(const IsVersion& is_version = is_no_version) {
    const Result<unsigned> count = fix_vector_returns(*module_, plain(cpu_), is_version);
    std::string text;
    llvm::raw_string_ostream stream(text);
    EXPECT_FALSE(llvm::verifyModule(*module_, &stream)) << text;
    return count;
  }

  std::string type(const char* name) const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->getFunction(name)->getFunctionType()->print(stream);
    return text;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::string cpu_;
};

TEST_F(VectorReturns, PiecesAreTheRegistersOfTheLevel) {
  const std::string text = "declare <8 x float> @f()\n"
                           "define <16 x float> @g() { ret <16 x float> zeroinitializer }\n"
                           "define <32 x float> @memory(i32 %a) memory(none) { ret <32 x float> poison }\n"
                           "define <3 x double> @odd() { ret <3 x double> zeroinitializer }\n"
                           "define <4 x float> @narrow() { ret <4 x float> zeroinitializer }\n";
  parse(text);
  EXPECT_EQ(*fix(), 3u);
  EXPECT_EQ(type("f"), "{ <4 x float>, <4 x float> } ()");
  EXPECT_EQ(type("g"), "{ <4 x float>, <4 x float>, <4 x float>, <4 x float> } ()");
  EXPECT_EQ(type("memory"), "void (ptr, i32)");
  EXPECT_TRUE(module_->getFunction("memory")->hasParamAttribute(0, llvm::Attribute::StructRet));
  EXPECT_FALSE(module_->getFunction("memory")->doesNotAccessMemory()) << "it writes its result";
  EXPECT_EQ(type("odd"), "{ double, double, double } ()");
  EXPECT_EQ(type("narrow"), "<4 x float> ()");

  parse(text, "x86-64-v3");
  EXPECT_EQ(*fix(), 2u);
  EXPECT_EQ(type("f"), "<8 x float> ()");
  EXPECT_EQ(type("g"), "{ <8 x float>, <8 x float> } ()");
  EXPECT_EQ(type("memory"), "{ <8 x float>, <8 x float>, <8 x float>, <8 x float> } (i32)");
}

// A value that LLVM holds in one register stays in that register on every CPU with more features, so a second
// pass finds nothing to do on any CPU.
TEST_F(VectorReturns, NoFurtherFeatureMovesAPiece) {
  llvm::SmallVector<llvm::StringRef> cpus;
  llvm::X86::fillValidCPUArchList(cpus, true);
  ASSERT_GT(cpus.size(), 20u);
  std::string text;
  int names = 0;
  for (const char* element : {"i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", "ptr"})
    for (const int count : {3, 4, 6, 8, 16, 24, 32, 64, 128, 256})
      text +=
          "declare <" + std::to_string(count) + " x " + element + "> @f" + std::to_string(names++) + "()\n";
  for (const char* level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    parse(text, level);
    ASSERT_TRUE(fix());
    std::map<std::string, std::string> types;
    for (const llvm::Function& function : *module_)
      types[function.getName().str()] = type(function.getName().str().c_str());
    const auto needed = *target::features_of("x86_64", level);
    for (const llvm::StringRef cpu : cpus) {
      const auto features = target::features_of("x86_64", cpu.str());
      if (!features || !target::missing_features(needed, *features).empty())
        continue;
      cpu_ = cpu.str();
      set_cpu(cpu_, true);
      const Result<unsigned> again = fix();
      ASSERT_TRUE(again) << again.error().message;
      for (const auto& [name, before] : types)
        ASSERT_EQ(type(name.c_str()), before) << level << " on " << cpu_;
    }
  }
}

TEST_F(VectorReturns, WhatOnlyTheModuleCallsStays) {
  parse(
      "define internal <8 x float> @own() { ret <8 x float> zeroinitializer }\n"
      "define internal <8 x float> @taken() { ret <8 x float> zeroinitializer }\n"
      "define internal <8 x float> @mixed() { ret <8 x float> zeroinitializer }\n"
      "define linkonce_odr <8 x float> @inlined() alwaysinline { ret <8 x float> zeroinitializer }\n"
      "define internal <8 x float> @wide() \"target-features\"=\"+avx\" { ret <8 x float> zeroinitializer }\n"
      "define void @wider() \"target-features\"=\"+avx2\" {\n %a = call <8 x float> @wide()\n"
      " %b = call <8 x float> @inlined()\n ret void\n}\n"
      "define ptr @user(ptr %p) {\n %a = call <8 x float> @own()\n %b = call <8 x float> @mixed()\n"
      " store <8 x float> %a, ptr %p\n store <8 x float> %b, ptr %p\n ret ptr @taken\n}\n"
      "define void @other() \"target-features\"=\"+avx\" {\n %a = call <8 x float> @mixed()\n ret void\n}\n");
  EXPECT_EQ(*fix(), 2u);
  EXPECT_EQ(type("own"), "<8 x float> ()");
  EXPECT_EQ(type("inlined"), "<8 x float> ()");
  EXPECT_EQ(type("wide"), "<8 x float> ()") << "one register for all of its callers";
  EXPECT_EQ(type("taken"), "{ <4 x float>, <4 x float> } ()");
  EXPECT_EQ(type("mixed"), "{ <4 x float>, <4 x float> } ()");
}

TEST_F(VectorReturns, AFunctionOfItsOwnFeaturesAnswersBothKindsOfCallers) {
  const std::string text =
      "define <8 x float> @wide() \"target-features\"=\"+avx\" { ret <8 x float> zeroinitializer }\n"
      "define <16 x float> @two() \"target-features\"=\"+avx\" { ret <16 x float> zeroinitializer }\n"
      "define <16 x float> @without() \"target-features\"=\"-avx\" { ret <16 x float> zeroinitializer }\n";
  parse(text);
  EXPECT_EQ(*fix(), 3u);
  EXPECT_EQ(type("wide"), "{ <8 x float>, <4 x float> } ()");
  EXPECT_EQ(type("two"), "{ <8 x float>, <8 x float> } ()") << "called by others of its kind";

  parse(text);
  EXPECT_EQ(*fix([](const llvm::Function&) { return true; }), 3u);
  EXPECT_EQ(type("two"), "{ <4 x float>, <4 x float>, <4 x float>, <4 x float> } ()") << "chosen at start";

  parse(text, "x86-64-v3");
  EXPECT_EQ(*fix([](const llvm::Function&) { return true; }), 2u);
  EXPECT_EQ(type("wide"), "<8 x float> ()");
  EXPECT_EQ(type("without"), "{ <4 x float>, <4 x float>, <4 x float>, <4 x float> } ()")
      << "it has no register of the level's";
}

TEST_F(VectorReturns, AVersionBehindAnIfuncIsCalledAsTheUnitCalls) {
  parse("@chosen = ifunc <16 x float> (), ptr @pick\n"
        "define internal ptr @pick() { ret ptr @two }\n"
        "define internal <16 x float> @two() \"target-features\"=\"+avx\" { ret <16 x float> poison }\n"
        "define void @user() \"target-features\"=\"+avx\" {\n %a = call <16 x float> @chosen()\n ret "
        "void\n}\n");
  ASSERT_TRUE(fix());
  EXPECT_EQ(type("two"), "{ <4 x float>, <4 x float>, <4 x float>, <4 x float> } ()");
  const auto& call = llvm::cast<llvm::CallInst>(module_->getFunction("user")->getEntryBlock().front());
  EXPECT_EQ(call.getFunctionType(), module_->getFunction("two")->getFunctionType());
}

TEST_F(VectorReturns, WhatCannotBeWrittenOutIsSaid) {
  parse("define void @f(<8 x float> %a) { ret void }\n");
  const Result<unsigned> argument = fix();
  ASSERT_FALSE(argument);
  EXPECT_THAT(argument.error().message, HasSubstr("vector argument"));

  parse("declare <8 x float> @g()\n"
        "define <8 x float> @f() {\n %a = musttail call <8 x float> @g()\n ret <8 x float> %a\n}\n");
  const Result<unsigned> call = fix();
  ASSERT_FALSE(call);
  EXPECT_THAT(call.error().message, HasSubstr("tail call"));
}

} // namespace

} // namespace xaas::ir
