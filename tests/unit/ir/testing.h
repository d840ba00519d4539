// Helpers of the tests of ir.
#pragma once

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace xaas::ir {

inline std::unique_ptr<llvm::Module> module_of(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString("target triple = \"x86_64-pc-linux-gnu\"\n" + text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return module;
}

} // namespace xaas::ir
