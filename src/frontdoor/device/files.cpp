#include "device/files.h"
#include "arguments.h"
#include "c/compile.h"
#include "device/compile.h"

#include <xaas/base/json.h>
#include <xaas/harvest/device_file.h>
#include <xaas/link/note.h>
#include <xaas/session/log.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

using Form = link::DeviceFile::Form;

// Why a command cannot be captured; empty if it can.
std::string obstacle(const std::vector<std::string>& compile) {
  if (!word_after(compile, "-triple").value_or("").starts_with("nvptx64-"))
    return "device code in a file of its own, for other GPUs than NVIDIA's";
  return word_after(compile, "-target-cpu") ? "" : "device code that names no GPU architecture (-march)";
}

// The same compile for another architecture. Such commands of Clang's driver differ in nothing else.
std::vector<std::string> for_arch(std::vector<std::string> compile, const std::string& arch) {
  for (size_t i = 0; i + 1 < compile.size(); ++i)
    if (compile[i] == "-target-cpu")
      compile[i + 1] = arch;
  return compile;
}

} // namespace

bool makes_ptx(const std::vector<std::string>& compile) {
  const std::optional<std::string> triple = word_after(compile, "-triple"),
                                   output = word_after(compile, "-o");
  return triple && triple->starts_with("nvptx64-") && output && *output != "-" && has_word(compile, "-S");
}

void capture_device_file(const session::Session& session, const DeviceCommand& command,
                         const std::vector<std::string>& archs, Form form, const fs::path& file) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) // not a pipe or /dev/null
    return;
  link::DeviceFile device{form, {}};
  std::string reason = obstacle(command.compile);
  const bool possible = reason.empty();
  for (const std::string& arch : session.gpus.empty() ? archs : session.gpus) {
    if (!possible)
      break;
    const DeviceResult result = capture_device(session, {}, for_arch(command.compile, arch),
                                               command.assembler, {}, Messages::dropped);
    if (result.outcome == CompileOutcome::captured)
      device.units[arch] = result.unit;
    else
      reason = result.reason.empty() ? "it does not compile for " + arch : result.reason;
  }
  if (!device.units.empty())
    if (const Result<void> remembered = harvest::remember_device_file(session, file, device); !remembered) {
      reason = remembered.error().message;
      device.units.clear();
    }
  if (device.units.empty())
    note_native_object(session, file, reason);
}

} // namespace xaas::frontdoor
