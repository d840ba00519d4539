#include "vet.h"

#include "bitcode.h"
#include "script.h"

#include <xaas/ir/canonical.h>
#include <xaas/link/note.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/Archive.h>
#include <llvm/Support/MemoryBuffer.h>

namespace xaas::link {
namespace {

Error bad_bitcode(const std::string& name, const std::string& why) {
  return make_error(ErrorKind::integrity, name + ": " + why);
}

// Lowering produces only such bitcode, but a compromised worker may have returned something else.
Result<void> vet_bitcode(const llvm::MemoryBufferRef& bitcode, const std::string& name) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile(bitcode, context);
  if (!module)
    return bad_bitcode(name, "damaged LLVM bitcode: " + llvm::toString(module.takeError()));
  if (!ir::only_instructions(**module))
    return bad_bitcode(name, "LLVM bitcode with inline assembly that is more than instructions");
  return {};
}

// A damaged archive is left to lld, which reports what is wrong with it.
Result<void> vet_archive(const llvm::MemoryBuffer& file, const std::string& name, bool may_have_bitcode) {
  auto archive = llvm::object::Archive::create(file.getMemBufferRef());
  if (!archive) {
    llvm::consumeError(archive.takeError());
    return {};
  }
  if ((*archive)->isThin())
    return bad_bitcode(name, "a thin archive");
  llvm::Error error = llvm::Error::success();
  Result<void> vetted;
  for (const llvm::object::Archive::Child& child : (*archive)->children(error)) {
    auto bytes = child.getBuffer();
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
    } else if (is_bitcode({bytes->data(), bytes->size()})) {
      vetted = may_have_bitcode ? vet_bitcode(llvm::MemoryBufferRef(*bytes, name), name)
                                : bad_bitcode(name, "an archive of LLVM bitcode, expected machine code");
      if (!vetted)
        break;
    }
  }
  llvm::consumeError(std::move(error));
  return vetted;
}

} // namespace

Result<void> vet_input(const fs::path& path, const std::string& name, bool script, bool bitcode) {
  auto file = llvm::MemoryBuffer::getFile(path.string(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return make_error(ErrorKind::failed, "reading " + name + ": " + file.getError().message());
  const std::string_view content((*file)->getBufferStart(), (*file)->getBufferSize());
  if (!script && is_elf(content))
    return {};
  if (!script && is_archive(content))
    return vet_archive(**file, name, bitcode);
  if (!script && bitcode && is_bitcode(content))
    return vet_bitcode((*file)->getMemBufferRef(), name);
  if (!script && is_bitcode(content))
    return bad_bitcode(name, "LLVM bitcode, expected machine code");
  if (const auto command = file_command(content))
    return bad_bitcode(name, "a linker script with the command " + *command + ", which names files");
  return {};
}

} // namespace xaas::link
