// ELF files: origin notes, dynamic section, content digest, and disassembly.
#include "fuzz.h"

#include "audit.h"

#include <xaas/link/note.h>
#include <xaas/loader/dynamic.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  static const target::Cpu cpu = *target::cpu_by_name("x86_64", "x86-64");
  const std::string_view elf(reinterpret_cast<const char*>(data), size);
  if (!link::is_elf(elf))
    return 0;
  const auto check = [](const auto& result) {
    require(result || result.error().kind == ErrorKind::integrity, "kind of error");
  };
  check(link::read_notes(elf));
  check(loader::read_dynamic(elf));
  check(link::read_finish(elf));
  check(link::content_digest(elf));
  check(check::instructions_beyond(elf, cpu));
  return 0;
}
