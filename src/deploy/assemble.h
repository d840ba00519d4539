// From a bundle's records to the installed files of one configuration.
#pragma once

#include "forms.h"

#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/device/code.h>
#include <xaas/image/bundle.h>
#include <xaas/image/contents.h>
#include <xaas/lower/object_cache.h>
#include <xaas/target/cpu.h>

#include <map>
#include <set>
#include <string>

namespace xaas::deploy {

// What is in a linked file beside code for the target.
struct CodeOrigin {
  lower::OwnCode own;  // of its units
  bool native = false; // objects that did not come from IR
};

struct Assembly {
  // What each installed file holds, by its path. Directories and symlinks are not in it.
  std::map<std::string, std::string> contents;
  std::map<std::string, CodeOrigin> origins; // of those that were linked here, by path
  uint64_t lowered = 0, links = 0;
  uint64_t refused_bitcode = 0; // Objects::refused_bitcode()
  double lower_seconds = 0, link_seconds = 0;
};

// A unit and what it is lowered to.
using LoweredUnit = std::pair<Digest, lower::Form>;
std::set<LoweredUnit> lowered_units(const Forms& forms);

// What units were lowered to, as files below a directory.
class Objects {
public:
  explicit Objects(fs::path directory) : directory_(std::move(directory)) {}
  fs::path path(const LoweredUnit& unit) const {
    return directory_ / ((unit.second == lower::Form::thin_lto ? "t" : "u") + unit.first.hex());
  }
  bool has(const LoweredUnit& unit) const { return units_.count(unit) != 0; }
  size_t size() const { return units_.size(); }
  Result<void> keep(const LoweredUnit& unit, const lower::Object& object);
  const lower::OwnCode& own(const LoweredUnit& unit) const { return units_.at(unit); }
  // Units that should be bitcode and that lowering made objects of.
  uint64_t refused_bitcode() const { return refused_bitcode_; }

private:
  fs::path directory_;
  std::map<LoweredUnit, lower::OwnCode> units_;
  uint64_t refused_bitcode_ = 0;
};

// Those of `units` that the cache has for this target.
Result<Objects> known_objects(const image::Bundle& bundle, const std::set<LoweredUnit>& units,
                              const device::DevicePlan& device, const target::Cpu& target,
                              const lower::ObjectCache& cache, const fs::path& directory);

// Units with device code that are not among the objects.
std::set<Digest> units_that_want_device_images(const device::DevicePlan& device,
                                               const std::set<LoweredUnit>& units, const Objects& objects);

// `device_images` are those of units_that_want_device_images, `device_objects` what links read beside their
// inputs, by record.
// Lowers the units that `forms` has and `objects` does not, makes archives and links again in
// the order of their needs, each from the contents given alone (modules, kit files and tree files by digest)
// and in the directory `work`.
Result<Assembly> assemble(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const image::Usage& usage, const Forms& forms, const image::Contents& contents,
                          const target::Cpu& target, const device::DevicePlan& device,
                          const std::map<Digest, std::string>& device_images,
                          const std::map<Digest, std::vector<std::string>>& device_objects, Objects objects,
                          const lower::ObjectCache* cache, const fs::path& work, unsigned jobs,
                          Progress& progress);

} // namespace xaas::deploy
