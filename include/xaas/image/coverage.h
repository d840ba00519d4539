// What a bundle covers and what it lacks, for people who decide whether an image is what they need.
#pragma once

#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::image {

// The number of units by what their flags say about the instruction set. A unit can count in several of the
// last three.
struct MachineFlagCounts {
  uint64_t open = 0;     // no -march: the target decides
  uint64_t native = 0;   // -march=native or -mtune=native
  uint64_t fixed = 0;    // -march= with a CPU or level by name
  uint64_t features = 0; // -m<feature> flags
};

struct KitSize {
  uint64_t files = 0, bytes = 0; // uncompressed
};

struct ConfigurationCoverage {
  std::string id;
  uint64_t units = 0, modules = 0, native_objects = 0, programs = 0;
  uint64_t device_units = 0; // of `units`, those for GPUs
  MachineFlagCounts machine;
  KitSize kit;
};

// Machine code that is carried unchanged: an input of a link or archive without IR, or an installed file.
struct NativeObject {
  std::string name;              // begins with `/` for an installed file
  std::string reason;            // why it has no IR
  std::optional<uint64_t> bytes; // of an input; the bundle does not know the size of an installed file
  std::set<std::string> configurations;
};

// An installed file with device code, which programs load.
struct InstalledDeviceFile {
  std::string path; // begins with `/`
  link::DeviceFile::Form form = link::DeviceFile::Form::ptx;
  std::set<std::string>
      archs; // of its IR, from which deploying makes it again; empty: it is carried unchanged
  auto operator<=>(const InstalledDeviceFile&) const = default;
};

// A source with machine flags of its own. A source that is compiled in several ways has several entries.
struct MachineFlagSource {
  std::string source;
  ir::MachineFlags machine;
};

struct Coverage {
  std::vector<ConfigurationCoverage> configurations; // in the bundle's order
  uint64_t units = 0, modules = 0;                   // units over all configurations; distinct modules
  uint64_t device_units = 0;                         // of `units`, those for GPUs
  uint64_t prepared = 0;                             // distinct units whose module is stored prepared
  std::set<std::string> gpus;                // the architectures that the device units were compiled for
  uint64_t unit_bytes = 0, module_bytes = 0; // of bitcode, uncompressed: unshared, shared
  uint64_t sources = 0;                      // distinct
  // Sources whose IR differs between two configurations that differ only in points of category cpu. Nothing
  // if there are no two such configurations, because then nothing was compared.
  std::optional<std::set<std::string>> sensitive;
  MachineFlagCounts machine;                      // over all configurations
  std::vector<MachineFlagSource> machine_sources; // sorted by source
  std::set<std::string> unoptimized;        // sources without -O, except in debug builds (image/warning.h)
  std::vector<NativeObject> native_objects; // sorted by name, then by reason
  std::map<InstalledDeviceFile, std::set<std::string>> device_files; // with the configurations that have them
  KitSize kit;
};

// Integrity error as for usage_of.
Result<Coverage> coverage_of(const Bundle& bundle);

// The part of an image that deploying one configuration reads: layers as they are stored.
struct Transfer {
  std::vector<size_t> layers; // indices into manifest().layers
  uint64_t bytes = 0;
  uint64_t shared_bytes = 0; // of layers that other configurations use, too
};
Transfer transfer_of(const oci::Image& image, const std::string& configuration);

} // namespace xaas::image
