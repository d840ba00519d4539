// From a bundle's records to the installed files of one configuration.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/target/cpu.h>

#include <map>
#include <string>

namespace xaas::deploy {

struct Assembly {
  // What each installed file holds, by its path. Directories and symlinks are not in it.
  std::map<std::string, std::string> contents;
  uint64_t lowered = 0, links = 0;
  double lower_seconds = 0, link_seconds = 0;
};

// Lowers every unit that the configuration uses, makes archives and links again in the order of their needs,
// each from the contents given alone (modules, kit files and tree files by digest).
Result<Assembly> assemble(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const image::Usage& usage, const std::map<Digest, std::string>& contents,
                          const target::Cpu& target, unsigned jobs, Progress& progress);

} // namespace xaas::deploy
