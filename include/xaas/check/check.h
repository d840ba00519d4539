// Will this image run on a machine? The answer comes from the files of a deployed image alone; none of them
// is run.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/image/warning.h>
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
    feature,        // of the CPU; the image was deployed for it
    instruction,    // in a file; the CPU lacks it
    program,        // a program that does not exist
    loader,         // of a program
    library,        // needed by a file
    symbol_version, // of a library
    kernel,
    host,        // something of the host that a chosen value requires: a GPU, an MPI, a library
    gpu,         // a GPU or its driver for which the image has no code
    cuda_kernel, // that was refused on the CPU; only where all kernels are asked for
  };
  Kind kind;
  std::string file; // its path in the image; empty: the image as a whole
  std::string message;
  std::string library = {}; // the library that is needed
};
const char* name_of(Problem::Kind kind);

// Instructions of a feature that the CPU lacks.
struct Use {
  uint64_t instructions = 0;
  std::vector<std::string>
      functions; // some of the functions that have them; addresses where there are no names
};

struct CheckedFile {
  std::string path;
  bool lowered = false; // deploying linked it; otherwise it was carried unchanged
  // By feature. In a lowered file these are problems unless the source's own flags and attributes, its inline
  // assembly, or native objects in it account for them.
  std::map<std::string, Use> beyond;
  bool explained = true;
};

// What a chosen value requires besides the CPU.
struct ValueNeed {
  std::string point, value;
  select::Need need; // of the host: looked for only with a system
  bool checked = false;
};

struct Report {
  Digest digest;
  std::optional<provenance::Signature> signature; // if a signer was given
  target::Cpu cpu;                                // the image was deployed for it
  std::string on;                                 // the CPU that the image was checked against
  std::vector<CheckedFile> files;                 // programs and libraries
  std::vector<ValueNeed> needs;                   // in point order
  std::vector<Problem> problems;                  // empty: the image runs
  std::vector<std::string> unknown = {};          // what the description of the system leaves open
  std::vector<image::Warning> warnings = {};      // about CUDA kernels that were refused on the CPU
};

// Without `system`, the image is checked against its own statements: the CPU that it was deployed for. With
// it, also against that machine. An image of another kind is a usage error; a damaged ELF file is an
// integrity error that names it. A worker (base/worker.h) reads the ELF files. With a signer, an image that
// is not signed by it is not looked at (provenance::check_signature). A CUDA kernel that was refused on the
// CPU is a warning, with `all_kernels` a problem.
Result<Report> check(const oci::Reference& image, const std::optional<system::SystemDescription>& system,
                     Progress& progress = no_progress(), const registry::Access& access = {},
                     const std::optional<provenance::Signer>& signer = {}, bool all_kernels = false);

} // namespace xaas::check
