// Kernels that a program loads as files: PTX, machine code, fat binaries, SPIR-V.
//
// Problem: such a file is the output of a compile, as an object is, but nothing links it, most forms of it
// have no place for a note, and it is data to everything that copies or installs it. It is also finished: a
// build may read it, or put it into a header as text.
//
// Approach: the build's own command makes the file, as it does without us, and what it holds is captured
// beside it. The file is known again by its contents, wherever it was copied to. One that was changed is
// carried as it is, and counted.
//
// Rejected: a comment in PTX and a note in a cubin. They would survive some changes of a file, which
// deploying could then not repeat.
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
  std::vector<std::string> assembler; // ptxas, where the driver would call it; else empty
  fs::path output;                    // of the last of them
};

// True for a cc1 command that makes PTX, of whatever language.
bool makes_ptx(const std::vector<std::string>& compile);

// Captures what the finished file was made of: for each of the session's architectures that the source
// compiles for, or for `archs` where the session has none. What cannot be captured is said in the build's
// report, and the file is carried as it is.
void capture_device_file(const session::Session& session, const DeviceCommand& command,
                         const std::vector<std::string>& archs, link::DeviceFile::Form form,
                         const fs::path& file);

} // namespace xaas::frontdoor
