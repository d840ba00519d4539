// Profiles: how often each block of an application ran, for deploys that optimize by it.
//
// Sources: llvm/ProfileData/InstrProfData.inc (raw format), llvm/docs/InstrProfileFormat.rst (indexed
// format).
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/registry/images.h>
#include <xaas/target/cpu.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace xaas::profile {

// In LLVM's indexed format. The same counts in the same files give the same bytes, in whichever order they
// are read.
struct Profile {
  std::shared_ptr<const std::string> bytes;
  Digest digest;          // of `bytes`
  uint64_t functions = 0; // with counts, be they zero
  uint64_t ran = 0;       // of them that ran
  uint64_t most = 0;      // the highest count
};

// Reads and merges profiles of instrumented programs, raw or indexed. Each path is a file, or a directory,
// all files of which count. Files are untrusted, so a worker reads them: call it from a process with one
// thread. Errors: not_found for a path that does not exist and for a directory without files; integrity, with
// the file, for one that is no profile, is damaged, or was made by another LLVM or by another kind of
// instrumentation than that of deploying.
Result<Profile> read_profile(const std::vector<fs::path>& paths);

// The type of a profile that is attached to an IR image, as an artifact that refers to it.
inline constexpr const char* media_type = "application/vnd.xaas.profile.v1";
// Attaches a profile to the image for this architecture, in a registry or a layout. Returns the digest of the
// artifact's manifest.
Result<Digest> attach(const oci::Reference& image, const std::string& architecture, const Profile& profile,
                      const registry::Access& access);
// The profiles that are attached to it, merged. not_found if there is none.
Result<Profile> attached_profile(const oci::Reference& image, const std::string& architecture,
                                 const registry::Access& access);

// One function of a profile.
struct FunctionCounts {
  std::string name;  // "SOURCE;NAME" for one that its source alone can see
  uint64_t most = 0; // of its blocks: how often the one ran that ran most
};
// Those that ran, the hottest first. Runs in a worker, too.
Result<std::vector<FunctionCounts>> functions_of(const Profile& profile);

// The object that every instrumented program and library is linked with: it writes the counts to
// $LLVM_PROFILE_FILE when that ends (src/profile/runtime.c).
Result<std::string> runtime_object(const target::Cpu& target);

} // namespace xaas::profile
