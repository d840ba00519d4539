// Will this image run there: from the files of a deployed image alone, nothing of it is run.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/provenance/signature.h>
#include <xaas/registry/images.h>
#include <xaas/select/select.h>
#include <xaas/system/system.h>
#include <xaas/target/cpu.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::check {

// A reason why the image does not run.
struct Problem {
  enum class Kind {
    architecture,   // of the image or of a file
    feature,        // of the CPU, that the image was deployed for
    instruction,    // that a file has and the CPU lacks
    program,        // that is not there
    loader,         // of a program
    library,        // that a file needs
    symbol_version, // of a library
    kernel,
    host, // something of the host that a chosen value needs: a GPU, an MPI, a library
    gpu,  // or its driver, for which the image has no code
  };
  Kind kind;
  std::string file; // its path in the image; empty: the image
  std::string message;
  std::string library = {}; // that is needed
};
const char* name_of(Problem::Kind kind);

// Instructions of a feature that the CPU lacks.
struct Use {
  uint64_t instructions = 0;
  std::vector<std::string> functions; // that have them, a few; an address where there are no names
};

struct CheckedFile {
  std::string path;
  bool lowered = false; // linked by deploying; else carried as it was
  // By feature. Of a lowered file those are problems that neither the source's own flags and attributes, nor
  // its inline assembly, nor native objects in it account for.
  std::map<std::string, Use> beyond;
  bool explained = true;
};

// What a chosen value needs besides the CPU.
struct ValueNeed {
  std::string point, value;
  select::Need need; // of the host: looked for only with a system
  bool checked = false;
};

struct Report {
  Digest digest;
  std::optional<provenance::Signature> signature; // where a key was given
  target::Cpu cpu;                                // that the image was deployed for
  std::string on;                                 // the CPU that it was checked against
  std::vector<CheckedFile> files;                 // programs and libraries
  std::vector<ValueNeed> needs;                   // in point order
  std::vector<Problem> problems;                  // empty: it runs
  std::vector<std::string> unknown = {};          // what the system's description does not tell
};

// Without `system` the image is checked against what it says of itself: the CPU that it was deployed for.
// With one, also against that machine. An image of another kind is a usage error; a damaged ELF file an
// integrity error that names it. ELF files are read in a worker (base/worker.h). With a key nothing of an
// image that is not signed by it is looked at (provenance::check_signature).
Result<Report> check(const oci::Reference& image, const std::optional<system::SystemDescription>& system,
                     Progress& progress = no_progress(), const registry::Access& access = {},
                     const std::optional<provenance::PublicKey>& key = {});

} // namespace xaas::check
