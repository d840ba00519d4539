#include "ir/testing.h"

#include <xaas/ir/canonical.h>
#include <xaas/ir/features.h>
#include <xaas/ir/prepared.h>
#include <xaas/ir/retarget.h>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::ir {

namespace {

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

TEST(Prepared, RetargetingIsUndone) {
  llvm::LLVMContext context;
  const auto module = module_of("define void @f() { ret void }\n"
                                "define void @g() \"xaas-target\"=\"target:fma\" { ret void }\n"
                                "define void @h() \"xaas-plain\" { ret void }\n"
                                "define void @v() vscale_range(1,2) { ret void }\n"
                                "define void @w() vscale_range(1,2) \"xaas-plain\" { ret void }\n"
                                "define void @fixed() \"target-cpu\"=\"haswell\" { ret void }\n",
                                context);
  module->setSourceFileName(""); // which retarget() sets
  const std::string before = text_of(*module);
  UnitOptions options;
  options.text["triple"] = "x86_64-pc-linux-gnu";
  const InstructionSet set = instruction_set({}, options, *target::cpu_by_name("x86_64", "x86-64"));
  note_targets(*module);
  ASSERT_TRUE(retarget(*module, set, false, ""));
  EXPECT_EQ(module->getFunction("f")->getFnAttribute("target-cpu").getValueAsString(), "x86-64");

  // What passes do: copy a function, declare one of the library.
  llvm::ValueToValueMapTy values;
  llvm::CloneFunction(module->getFunction("g"), values)->setName("g.copy");
  module->getOrInsertFunction("puts", llvm::Type::getVoidTy(context));

  restore_targets(*module);
  EXPECT_EQ(module->getFunction("g.copy")->getAttributes(), module->getFunction("g")->getAttributes());
  EXPECT_TRUE(module->getFunction("puts")->hasFnAttribute(no_target_attribute));
  module->getFunction("g.copy")->eraseFromParent();
  module->getFunction("puts")->eraseFromParent();
  EXPECT_EQ(text_of(*module), before);
}

TEST(Prepared, TheLevelSuitsFeaturesAndVectorsOfFunctions) {
  const auto level_of = [](const std::string& text) {
    llvm::LLVMContext context;
    const auto cpu = preparation_cpu(*module_of(text, context), "x86_64");
    return cpu ? cpu->name : cpu.error().message;
  };
  EXPECT_EQ(level_of("define i32 @f(i32 %a) { ret i32 %a }"), "x86-64-v3");
  EXPECT_EQ(level_of("define <8 x float> @f(<8 x float> %a) { ret <8 x float> %a }"), "x86-64-v3");
  EXPECT_EQ(level_of("declare void @g(<16 x float>)\n"
                     "define void @f() { call void @g(<16 x float> zeroinitializer) ret void }"),
            "x86-64-v4");
  // Features of a function must not reach others by inlining.
  const std::string own = " \"xaas-target\"=\"target:fma\"";
  EXPECT_EQ(level_of("define i32 @f(i32 %a)" + own + " { ret i32 %a }"), "x86-64");
  EXPECT_EQ(level_of("define <4 x float> @f(<4 x float> %a)" + own + " { ret <4 x float> %a }"), "x86-64");
  EXPECT_EQ(level_of("define i32 @f(i32 %a) \"target-cpu\"=\"haswell\" { ret i32 %a }"), "x86-64");
  EXPECT_EQ(level_of("define <8 x float> @f(<8 x float> %a)" + own + " { ret <8 x float> %a }"), "x86-64-v3");
  EXPECT_EQ(level_of("define i32 @f(i32 %a) alwaysinline" + own + " { ret i32 %a }"), "x86-64-v3");
  EXPECT_EQ(level_of("declare i32 @f(i32 %a)" + own), "x86-64-v3");
  llvm::LLVMContext context;
  const auto none = preparation_cpu(*module_of("", context), "vax");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::integrity);
}

} // namespace

} // namespace xaas::ir
