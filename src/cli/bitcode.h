// The IR modules of images as files, for LLVM's tools.
#pragma once

#include <xaas/image/application_image.h>

namespace xaas::cli {

// A module that was written.
struct BitcodeFile {
  bool prepared = false;
  std::set<std::string> architectures; // LLVM's names, or those of GPUs
  std::set<std::string> sources, configurations;
};
using BitcodeFiles = std::map<Digest, BitcodeFile>;

// Writes each module that a configuration of the image uses to `directory`/<hex>.bc, where <hex> is its
// digest as in the bundle, and adds it to `files`. The directory is made. Errors: those of reading the image
// and of writing the files.
Result<void> write_bitcode(const image::ApplicationImage& ir, const fs::path& directory, BitcodeFiles& files);

// The list of `inspect --bitcode`.
Json to_json(const BitcodeFiles& files);

} // namespace xaas::cli
