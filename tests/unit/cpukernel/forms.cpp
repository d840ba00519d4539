// Prints the form of every kernel of a module, for tools/bench/cpu_kernels.sh: kernel_forms [--masked |
// --fibers] FILE.bc [MADE.bc]. Writes the module for the CPU to the second file. The options force a form.
#include <xaas/cpukernel/cpukernel.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <iostream>

int main(int argc, char** argv) {
  xaas::cpukernel::Options options;
  for (; argc > 1 && llvm::StringRef(argv[1]).starts_with("--"); --argc, ++argv)
    (llvm::StringRef(argv[1]) == "--fibers" ? options.fibers : options.masked) = true;
  llvm::LLVMContext context;
  const auto file = llvm::MemoryBuffer::getFile(argc > 1 ? argv[1] : "-");
  if (!file)
    return 2;
  auto module = llvm::parseBitcodeFile((*file)->getMemBufferRef(), context);
  if (!module)
    return 2;
  const auto kernels = xaas::cpukernel::make_cpu_module(**module, "x86_64", "image", options);
  if (!kernels) {
    std::cout << "error\t\t" << kernels.error().message << "\n";
    return 1;
  }
  for (const xaas::cpukernel::Kernel& kernel : *kernels)
    std::cout << xaas::cpukernel::name(kernel.form) << "\t" << kernel.name << "\t" << kernel.reason << "\n";
  if (argc > 2) {
    std::error_code trouble;
    llvm::raw_fd_ostream made(argv[2], trouble);
    llvm::WriteBitcodeToFile(**module, made);
  }
  return 0;
}
