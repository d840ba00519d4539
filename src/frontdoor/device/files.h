// Kernels that a program loads as files: PTX, machine code, fat binaries, SPIR-V.
//
// Problem: such a file is the output of a compile, like an object, but nothing links it, most of its forms
// have no place for a note, and everything that copies or installs it treats it as data. It is also final: a
// build may read it, or put it into a header as text.
//
// Approach: the build's own command makes the file, and its source is captured as well. The file is
// recognized by its contents, wherever it was copied to. A file that was changed is carried as it is, and
// counted.
//
// Rejected: a comment in PTX and a note in a cubin. They would survive some changes of a file that deploying
// cannot repeat.
#pragma once

#include <xaas/link/installed.h>
#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// A compile for a GPU as Clang's driver asks for it.
struct DeviceCommand {
  std::vector<std::string> compile;   // of cc1, without "-cc1"
  std::vector<std::string> assembler; // for ptxas, if the driver would call it; else empty
  fs::path output;                    // of the last of these jobs
};

// True for a cc1 command that makes PTX, from any language.
bool makes_ptx(const std::vector<std::string>& compile);

// Captures the source of a finished file for each of the session's architectures that it compiles for, or for
// `archs` if the session has none. If nothing can be captured, the file is carried as it is, and the build's
// report says why.
void capture_device_file(const session::Session& session, const DeviceCommand& command,
                         const std::vector<std::string>& archs, link::DeviceFile::Form form,
                         const fs::path& file);

} // namespace xaas::frontdoor
