#include <xaas/lower/lower.h>
#include <xaas/profile/profile.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace xaas::profile {

// runtime.c
std::string_view runtime_x86_64_ir();
std::string_view runtime_aarch64_ir();

Result<std::string> runtime_object(const target::Cpu& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic trouble;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      target.arch == "x86_64" ? runtime_x86_64_ir() : runtime_aarch64_ir(), trouble, context);
  if (!module)
    return make_error(ErrorKind::failed, "the run-time part of profiles: " + trouble.getMessage().str());
  lower::Job job;
  llvm::raw_string_ostream stream(job.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  job.unit.source = "xaas-profile-runtime";
  job.unit.module = digest_of(job.bitcode);
  job.unit.machine.cpu = target.arch == "x86_64" ? "x86-64" : "generic"; // it need not be fast
  job.options.text["triple"] = target::triple(target.arch);
  job.options.codegen["OptimizationLevel"] = 2;
  job.options.codegen["UseInitArray"] = 1; // of destructors, too
  XAAS_TRY(job.target, target::cpu_by_name(target.arch, target::isa_levels(target.arch).front()));
  XAAS_TRY(lower::Object object, lower::lower(job));
  return std::move(object.bytes);
}

} // namespace xaas::profile
