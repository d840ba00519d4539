// The objects that a configuration's units are lowered to.
#pragma once

#include "forms.h"

#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/deploy/plugins.h>
#include <xaas/device/plan.h>
#include <xaas/image/bundle.h>
#include <xaas/image/contents.h>
#include <xaas/lower/object_cache.h>
#include <xaas/profile/profile.h>
#include <xaas/target/cpu.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace xaas::deploy {

// What making the files of one configuration reads, and where it works.
struct AssemblyInputs {
  const image::Bundle& bundle;
  const image::BundleConfiguration& configuration;
  const image::Usage& usage;
  const device::DevicePlan& device;
  target::Cpu target;
  bool count = false;              // the programs have counters
  const profile::Profile* profile; // null: none
  bool cold_for_size = false;      // with `profile`
  const PluginChoice& plugins;
  Forms forms;                     // what units and archives become
  const lower::ObjectCache* cache; // null: everything is lowered
  fs::path work;                   // a directory for files
  image::Contents contents;        // modules, kit files and tree files, by digest; in `work`
  unsigned jobs = 1;
  Progress& progress;
};

// A unit and what it is lowered to.
using LoweredUnit = std::pair<Digest, lower::Form>;
std::set<LoweredUnit> lowered_units(const Forms& forms);

// Objects as files below a directory.
class Objects {
public:
  explicit Objects(fs::path directory) : directory_(std::move(directory)) {}
  fs::path path(const LoweredUnit& unit) const {
    const char* const prefix = unit.second == lower::Form::thin_lto ? "t"
                               : unit.second == lower::Form::lto    ? "m"
                                                                    : "u";
    return directory_ / (prefix + unit.first.hex());
  }
  bool has(const LoweredUnit& unit) const { return units_.count(unit) != 0; }
  Result<void> keep(const LoweredUnit& unit, const lower::Object& object);
  const lower::OwnCode& own(const LoweredUnit& unit) const { return units_.at(unit); }
  // Units that are bitcode, and units that should be but could only be lowered to objects.
  uint64_t bitcode() const { return bitcode_.size(); }
  const std::set<Digest>& refused_bitcode() const { return refused_bitcode_; }

private:
  fs::path directory_;
  std::map<LoweredUnit, lower::OwnCode> units_;
  std::set<Digest> bitcode_, refused_bitcode_;
};

// For the object cache: what the unit's object is made of besides the unit.
std::string parts_key(const AssemblyInputs& inputs, const LoweredUnit& unit,
                      const lower::Profiling& profiling);

// Host units with a device image that are not among the objects.
std::set<Digest> units_without_device_image(const AssemblyInputs& inputs, const Objects& objects);

} // namespace xaas::deploy
