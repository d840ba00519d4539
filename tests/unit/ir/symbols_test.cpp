#include "ir/testing.h"

#include <xaas/ir/symbols.h>

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <llvm/Support/raw_ostream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::ir {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

const char* const program =
    "target datalayout = "
    "\"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
    "@table = common global [4 x i32] zeroinitializer\n"
    "@hidden = internal global i32 0\n"
    "module asm \".globl from_asm\"\n"
    "module asm \"from_asm: jmp in_asm\"\n"
    "declare void @callee()\n"
    "declare void @llvm.trap()\n"
    "define linkonce_odr void @inlined() { ret void }\n"
    "define available_externally void @elsewhere() { ret void }\n"
    "define void @\"\\01renamed\"() { call void @callee() ret void }\n";

TEST(Symbols, OfAModule) {
  llvm::LLVMContext context;
  const auto module = module_of(program, context);
  const std::optional<Symbols> symbols = symbols_of(*module);
  ASSERT_TRUE(symbols);
  EXPECT_THAT(symbols->defined, ElementsAre("from_asm", "inlined", "renamed", "table"));
  EXPECT_THAT(symbols->wanted, ElementsAre("callee", "elsewhere", "in_asm", "table"));
}

TEST(Symbols, ThatAnotherFileMayReplace) {
  llvm::LLVMContext context;
  const auto module = module_of("@table = common global [4 x i32] zeroinitializer\n"
                                "@own = hidden global i32 0\n"
                                "@data = global i32 0\n"
                                "@alias = alias i32, ptr @own\n"
                                "declare void @callee()\n"
                                "define linkonce_odr void @inlined() { ret void }\n"
                                "define weak void @overridden() { ret void }\n"
                                "define available_externally void @elsewhere() { ret void }\n"
                                "define internal void @local() { ret void }\n"
                                "define void @\"\\01read@@V1\"() { call void @callee() ret void }\n",
                                context);
  for (const char* name : {"data", "alias", "overridden", "read"})
    EXPECT_TRUE(exports_any(*module, {"other", name})) << name;
  EXPECT_FALSE(exports_any(*module, {"table", "own", "callee", "inlined", "elsewhere", "local", "other"}));
  EXPECT_FALSE(exports_any(*module, {}));
}

TEST(Symbols, OfBitcode) {
  llvm::LLVMContext context;
  const auto module = module_of(program, context);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  const Result<Symbols> symbols = symbols_of(llvm::MemoryBufferRef(bitcode, "file"));
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_THAT(symbols->defined, ElementsAre("from_asm", "inlined", "renamed", "table"));
}

TEST(Symbols, AssemblyInAFunctionMayDefineOthers) {
  llvm::LLVMContext context;
  EXPECT_TRUE(
      symbols_of(*module_of("define void @f() { call void asm \"rdtsc\", \"\"() ret void }", context)));
  const std::optional<Symbols> symbols = symbols_of(*module_of(
      "declare void @h()\n"
      "define void @f() { call void asm \".globl g\\0Ag: nop; ${0:c} = 1\", \"i\"(ptr @h) ret void }",
      context));
  ASSERT_TRUE(symbols);
  EXPECT_THAT(symbols->defined, IsSupersetOf({"f", "g", "h"}));
  EXPECT_THAT(symbols->wanted, IsSupersetOf({"g", "h"}));
  EXPECT_FALSE(symbols_of(*module_of(
      "define void @f() { call void asm \".macro m n\\0A\\5Cn: nop\\0A.endm\", \"\"() ret void }", context)));
}

TEST(Symbols, DamagedFiles) {
  for (const std::string bytes : {"", "ELF", "\177ELF\2\1\1", "!<arch>\nx", "BC\xc0\xde what"}) {
    const Result<Symbols> symbols = symbols_of(llvm::MemoryBufferRef(bytes, "some file"));
    ASSERT_FALSE(symbols) << bytes;
    EXPECT_EQ(symbols.error().kind, ErrorKind::integrity);
    EXPECT_THAT(symbols.error().message, testing::HasSubstr("some file"));
  }
}

TEST(Symbols, RuntimeFunctions) {
  EXPECT_THAT(runtime_functions("x86_64-unknown-linux-gnu"),
              IsSupersetOf({"memcpy", "__udivti3", "sincos", "puts"}));
  EXPECT_THAT(runtime_functions("x86_64-unknown-linux-gnu"), Not(Contains("")));
}

} // namespace

} // namespace xaas::ir
