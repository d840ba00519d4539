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
  CompileOutcome outcome = CompileOutcome::failed; // `captured`: the unit is stored; nothing else is written
  std::string source;                              // as the command names it
  std::string arch;                                // sm_90, gfx90a; ir::host_device
  Digest unit;                                     // of `captured`
  bool empty = false;                              // of `captured`: it defines nothing
  std::string reason;                              // of `carried`
};

// CUDA_VERSION of the toolkit's headers (13000); nothing where they do not say it.
std::optional<int64_t> cuda_version(const session::Session& session);

// True for a cc1 command that compiles for a device.
bool is_device_compile(const std::vector<std::string>& command);

// What the front end says of the source. It is dropped where the same compile says it, too.
enum class Messages { printed, dropped };

// Captures the compilation for a GPU that a cc1 command asks for. Its IR is all that is made: neither PTX nor
// machine code, so the build machine needs no assembler of the GPU's vendor.
// `assembler` are the arguments of the job that would call NVIDIA's; `host_module` is the file that the
// command names for the host's module of target regions, which is read instead.
DeviceResult capture_device(const session::Session& session, const WrittenMachine& written,
                            const std::vector<std::string>& command,
                            const std::vector<std::string>& assembler, const std::string& host_module = {},
                            Messages said = Messages::printed);

// What the front end puts into the host's module in the place of device code until the target is known. It
// has no entries, so that the program starts where the build runs it.
Result<fs::path> device_image_placeholder(const session::Session& session, ir::DeviceRuntime runtime);

} // namespace xaas::frontdoor
