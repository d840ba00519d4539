// Device code of one compilation: a source for one GPU architecture, or for the device that is the CPU.
#pragma once

#include "c/compile.h"

#include "device/units.h"

#include <xaas/ir/device_image.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

struct DeviceResult {
  CompileOutcome outcome =
      CompileOutcome::failed; // `captured`: the unit is stored, and nothing else is written
  std::string source;         // as in the command
  std::string arch;           // sm_90, gfx90a; ir::host_device
  Digest unit;                // for `captured`
  bool empty = false;         // for `captured`: it defines nothing
  std::string reason;         // for `carried`
};

// CUDA_VERSION of the toolkit's headers (13000); nothing if they do not define it.
std::optional<int64_t> cuda_version(const session::Session& session);

// True for a cc1 command that compiles for a device.
bool is_device_compile(const std::vector<std::string>& command);

// Whether the front end's messages are printed. They are dropped if another run of the same compile prints
// them.
enum class Messages { printed, dropped };

// Captures the compilation for a GPU that a cc1 command asks for. It makes only IR, neither PTX nor machine
// code, so the build machine needs no vendor's assembler. `assembler` are the arguments of the job that would
// call NVIDIA's assembler. `host_module`, if given, replaces the file with the host's module of target
// regions that the command names.
DeviceResult capture_device(const session::Session& session, const WrittenMachine& written,
                            const std::vector<std::string>& command,
                            const std::vector<std::string>& assembler, const std::string& host_module = {},
                            Messages said = Messages::printed);

// A file with the placeholder for device code in the host's module until the target is known. It has no
// entries, so the program starts when the build runs it.
Result<fs::path> device_image_placeholder(const session::Session& session, ir::DeviceRuntime runtime);

} // namespace xaas::frontdoor
