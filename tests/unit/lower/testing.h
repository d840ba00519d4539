// Helpers for tests of the lower module: modules from text, and jobs for them.
#pragma once

#include "ir/testing.h"

#include <xaas/lower/lower.h>

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <string>

namespace xaas::lower {

inline std::string bitcode_of(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = ir::module_of(text, context);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  if (module)
    llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

inline Job job_of(const std::string& text) {
  Job job;
  job.bitcode = bitcode_of(text);
  job.unit.source = "a.c";
  job.unit.module = digest_of(job.bitcode);
  job.options.text["triple"] = "x86_64-pc-linux-gnu";
  job.options.codegen["OptimizationLevel"] = 2;
  job.target = *target::cpu_by_name("x86_64", "haswell");
  return job;
}

} // namespace xaas::lower
