// From a bundle's records to the installed files of one configuration.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/lower/object_cache.h>
#include <xaas/target/cpu.h>

#include <map>
#include <set>
#include <string>

namespace xaas::deploy {

struct Assembly {
  // What each installed file holds, by its path. Directories and symlinks are not in it.
  std::map<std::string, std::string> contents;
  uint64_t lowered = 0, links = 0;
  double lower_seconds = 0, link_seconds = 0;
};

// The objects of units, by the unit's digest, as files below a directory.
class Objects {
public:
  explicit Objects(fs::path directory) : directory_(std::move(directory)) {}
  fs::path path(const Digest& unit) const { return directory_ / ("u" + unit.hex()); }
  bool has(const Digest& unit) const { return units_.count(unit) != 0; }
  size_t size() const { return units_.size(); }
  Result<void> keep(const Digest& unit, const std::string& object);

private:
  fs::path directory_;
  std::set<Digest> units_;
};

// Those of `units` that the cache has for this target.
Result<Objects> known_objects(const image::Bundle& bundle, const std::set<Digest>& units,
                              const target::Cpu& target, const lower::ObjectCache& cache,
                              const fs::path& directory);

// Lowers the units that the configuration uses and `objects` does not have, makes archives and links again in
// the order of their needs, each from the contents given alone (modules, kit files and tree files by digest)
// and in the directory `work`.
Result<Assembly> assemble(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const image::Usage& usage, const std::map<Digest, std::string>& contents,
                          const target::Cpu& target, Objects objects, const lower::ObjectCache* cache,
                          const fs::path& work, unsigned jobs, Progress& progress);

} // namespace xaas::deploy
