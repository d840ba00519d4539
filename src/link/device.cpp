#include <xaas/link/device.h>

#include "linker_process.h"

#include <xaas/link/note.h>
#include <xaas/link/replay.h>

namespace xaas::link {

Result<std::string> link_code_object(const std::vector<std::string>& objects) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  std::vector<std::string> arguments = {"ld.lld",
                                        "--color-diagnostics=never",
                                        "--no-demangle",
                                        "--threads=1",
                                        "--no-dependent-libraries",
                                        "-melf64_amdgpu",
                                        "--no-undefined",
                                        "-shared",
                                        "-oout"};
  std::vector<VettedInput> inputs;
  for (const std::string& object : objects) {
    if (!is_elf(object))
      return make_error(ErrorKind::integrity, "an object for a GPU is not an ELF file");
    const std::string name = std::to_string(inputs.size()) + ".o";
    XAAS_CHECK(write_file(directory.path() / name, object, 0600, /*durable=*/false));
    inputs.push_back({name, name});
    arguments.push_back(name);
  }
  constexpr double cpu_seconds = 600; // such a link takes milliseconds
  XAAS_TRY([[maybe_unused]] const std::string messages,
           run_linker({directory.path()}, arguments, inputs, {}, {cpu_seconds, ReplayOptions().max_bytes})
               .in("linking a code object"));
  return read_file(directory.path() / "out");
}

} // namespace xaas::link
