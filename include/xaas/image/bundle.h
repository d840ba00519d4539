// The bundle: all configurations of one application, as `/.xaas/bundle.json` in an IR image.
//
// Source: docs/image-format.md and specs/schema/bundle.schema.json.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/link/installed.h>
#include <xaas/link/record.h>
#include <xaas/spec/application.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::image {

// A file that links read and that is carried as it is.
struct KitFile {
  std::string name;
  uint64_t size = 0;
  bool native = false; // made by the build: an input without IR
  std::string reason;  // why it has none, where known
};

// A package of the build machine from which files of the link kit or the closure are.
struct Package {
  std::string manager;                     // deb
  std::string name, version, arch, source; // source: name of the source package; may be empty
  std::string distribution;                // as in debian-12; may be empty
  std::set<Digest> files;                  // contents of those that the bundle has
  auto operator<=>(const Package&) const = default;
};

struct BundleConfiguration {
  spec::Configuration configuration;
  std::vector<link::InstalledFile> installed; // sorted by path
  std::vector<link::InstalledFile>
      runtime;                        // run-time closure: files, symlinks and directories; sorted by path
  std::vector<std::string> arguments; // given to the build system
};

// How configurations are built on the target, from the sources that the image has and with its base layers.
struct SourceBuild {
  spec::Application application;
  std::vector<spec::Configuration> configurations; // sorted as spec::expand gives them
};

struct Bundle {
  std::string name, version, license, arch;
  std::string source, revision; // of the sources: where they are kept, and which; empty: not known
  std::string llvm;             // version that made the IR, if there is any; an older LLVM cannot read it
  std::string tool;             // version of xaas
  spec::Image image;            // prefix, entrypoint, environment of the deployed image
  std::vector<spec::SpecializationPoint> points;
  std::vector<spec::HostPreference> host; // what may come from the host instead of the image
  std::vector<BundleConfiguration> configurations;
  std::map<Digest, ir::UnitOptions> options;
  std::map<Digest, ir::Unit> units; // by id
  std::map<Digest, link::ArchiveRecord> archives;
  std::map<Digest, link::LinkRecord> links;
  std::map<Digest, uint64_t> modules; // bytes of canonical bitcode
  std::map<Digest, KitFile> kit;
  std::vector<Package> packages; // sorted; none where the build machine has no database that we read
  std::optional<SourceBuild> source_build;
};

// Every configuration of the image: those with IR in their order, then those that only the sources give.
std::vector<spec::Configuration> all_configurations(const Bundle& bundle);
// The one with IR; nullptr: there is none.
const BundleConfiguration* find_ir(const Bundle& bundle, const spec::Configuration& configuration);

// What one configuration uses of a bundle.
struct Usage {
  std::set<Digest> units;        // of the host
  std::set<Digest> device_units; // those for GPUs, of all architectures
  std::set<Digest> modules, kit, tree;
  std::vector<Digest> archives, links; // each after those that it reads
  uint64_t native_objects =
      0;                 // inputs of links and archives without IR, and installed files with native code
  uint64_t programs = 0; // installed executables and shared libraries
};

// Integrity error if a record names something that the bundle does not have, or records form a cycle.
Result<Usage> usage_of(const Bundle& bundle, const BundleConfiguration& configuration);

// The file by which a configuration brings a library: lib<name>.so of its run-time closure or of what it
// installs, or lib<name>.a among what it links; without a directory. Nothing: it does not bring it.
Result<std::optional<std::string>>
library_file(const Bundle& bundle, const BundleConfiguration& configuration, const std::string& name);

// The one of two entries of a kit that have the same content and were brought by different configurations:
// the name and the reason may differ. Which of them comes first does not matter.
KitFile joined(const KitFile& a, const KitFile& b);

// A bundle and the image that it is from.
struct NamedBundle {
  std::string name;
  const Bundle& bundle;
};

// One bundle with the configurations of all: what one build of all of them makes, whatever the order of the
// bundles. The point `isa` gets the levels of all, everything else that describes the application must be
// equal. A configuration that several bundles have comes once. Errors name the bundles and both values: usage
// if applications, their points, architectures, tools or LLVM differ; failed if a configuration that several
// have is not the same in each, with what differs, or if a run-time file is not; integrity as usage_of.
Result<Bundle> unite(const std::vector<NamedBundle>& bundles);

// Whether two bundles, perhaps for different architectures, are of one application and made by one xaas:
// errors as unite.
Result<void> check_same_application(const NamedBundle& a, const NamedBundle& b);

inline constexpr int bundle_format = 1;
Json to_json(const Bundle& bundle);
// A newer format or a newer LLVM: unsatisfied, by name. Anything malformed: integrity error with JSON
// pointer; every digest in the tables is checked against what it names.
Result<Bundle> parse_bundle(const std::string& text, const std::string& name);

// This program's version and that of its LLVM.
std::string tool_version();
std::string llvm_version();

} // namespace xaas::image
