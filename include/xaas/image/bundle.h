// The bundle: all configurations of one application, stored as `/.xaas/bundle.json` in an IR image.
//
// Source: docs/image-format.md and specs/schema/bundle.schema.json.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/base.h>
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

// A file that links read and that is carried unchanged.
struct KitFile {
  std::string name;
  uint64_t size = 0;
  bool native = false; // made by the build: an input without IR
  std::string reason;  // why it has none, if known
  // Of a native file: its CUDA kernels, by mangled name, sorted. An empty name stands for unknown ones.
  std::vector<std::string> kernels = {};
  bool start = false; // the compiler adds it to every program, and it runs on every CPU: crt1.o, libgcc.a
};

// A package of the build machine that files of the link kit or the closure belong to.
struct Package {
  std::string manager;                     // deb
  std::string name, version, arch, source; // source: name of the source package; may be empty
  std::string distribution;                // such as debian-12; may be empty
  std::set<Digest> files;                  // contents of its files that the bundle has
  auto operator<=>(const Package&) const = default;
};

struct BundleConfiguration {
  spec::Configuration configuration;
  std::vector<link::InstalledFile> installed; // sorted by path
  std::vector<link::InstalledFile>
      runtime;                        // run-time closure: files, symlinks and directories; sorted by path
  std::vector<std::string> arguments; // passed to the build system
  // Names of the libraries that it takes from the base image, in Base::libraries; sorted.
  std::vector<std::string> base_libraries = {};
};

// A digest of all that deploying makes files of. Configurations with equal ones give images that differ in
// names alone.
Digest content_of(const BundleConfiguration& configuration);

// Configurations that the target builds itself, from the image's sources and with its base layers.
struct SourceBuild {
  spec::Application application;
  std::vector<spec::Configuration> configurations; // in the order of spec::expand
};

struct Bundle {
  std::string name, version, license, arch;
  std::string source, revision; // of the sources: where they are kept, and the commit; empty: unknown
  std::string llvm;             // version that made the IR, if there is any; an older LLVM cannot read it
  std::string tool;             // version of xaas
  std::optional<Base> base;     // absent: `scratch`
  spec::Image image;            // prefix, entrypoint, environment of the deployed image
  std::vector<spec::SpecializationPoint> points;
  std::vector<spec::HostPreference> host; // what may come from the host instead of the image
  std::vector<BundleConfiguration> configurations;
  std::map<Digest, ir::UnitOptions> options;
  std::map<Digest, ir::Unit> units; // by id
  std::map<Digest, link::ArchiveRecord> archives;
  std::map<Digest, link::LinkRecord> links;
  std::map<Digest, uint64_t> modules; // those that are stored: bytes of bitcode
  // By unit: its module in prepared form (ir/prepared.h), which is stored instead of the canonical one. Units
  // without an entry have theirs as it is.
  std::map<Digest, Digest> prepared;
  std::map<Digest, KitFile> kit;
  std::vector<Package>
      packages; // sorted; empty if the build machine has no package database that we can read
  std::optional<SourceBuild> source_build;
};

// The digest of a unit's module as it is stored. The bundle has the unit.
const Digest& stored_module(const Bundle& bundle, const Digest& unit);

// Every configuration of the image: those with IR, in their order, then those that only the sources provide.
std::vector<spec::Configuration> all_configurations(const Bundle& bundle);
// The configuration's entry; nullptr if it has no IR.
const BundleConfiguration* find_ir(const Bundle& bundle, const spec::Configuration& configuration);

// The parts of a bundle that one configuration uses.
struct Usage {
  std::set<Digest> units;              // for the host
  std::set<Digest> device_units;       // for GPUs, of all architectures
  std::set<Digest> modules, kit, tree; // modules: as stored
  std::vector<Digest> archives, links; // each after those that it reads
  uint64_t native_objects =
      0;                 // inputs of links and archives without IR, and installed files with native code
  uint64_t programs = 0; // installed executables and shared libraries
};

// Integrity error if a record names something that the bundle does not have, or records form a cycle.
Result<Usage> usage_of(const Bundle& bundle, const BundleConfiguration& configuration);

// The file through which a configuration brings a library, without its directory: lib<name>.so of its
// run-time closure, of the base image or among its installed files, or lib<name>.a among the inputs of its
// links. Nothing if it does not bring the library.
Result<std::optional<std::string>>
library_file(const Bundle& bundle, const BundleConfiguration& configuration, const std::string& name);

// One of two kit entries with the same content, which different configurations brought with different names
// or reasons. The result does not depend on their order.
KitFile joined(const KitFile& a, const KitFile& b);

// A bundle and the name of its image.
struct NamedBundle {
  std::string name;
  const Bundle& bundle;
};

// One bundle with the configurations of all: the bundle that a single build of all of them would make,
// whatever the order of the inputs. The point `isa` gets the levels of all; everything else that describes
// the application must be equal. A configuration that several bundles have is included once. Errors name the
// bundles and both values: usage if applications, points, architectures, tools or LLVM versions differ;
// failed if a configuration that several bundles have is not the same in each, with the differences, or if a
// run-time file differs; integrity as for usage_of.
Result<Bundle> unite(const std::vector<NamedBundle>& bundles);

// Whether two bundles, perhaps for different architectures, are of the same application and made by the same
// xaas. Errors as for unite.
Result<void> check_same_application(const NamedBundle& a, const NamedBundle& b);

inline constexpr int bundle_format = 6; // the newest that is read
// The oldest format that can express an image of the bundle: 6 with IR modules, which are packed; without
// any, 3 with a base image, else 1. docs/image-format.md has the others, in which modules are not packed.
int format_of(const Bundle& bundle);
Json to_json(const Bundle& bundle);
// Unsatisfied for a newer format or a newer LLVM, by name. Integrity error with a JSON pointer for anything
// malformed; every digest in the tables is checked against its entry.
Result<Bundle> parse_bundle(const std::string& text, const std::string& name);

// The versions of this program and of its LLVM.
std::string tool_version();
std::string llvm_version();

} // namespace xaas::image
