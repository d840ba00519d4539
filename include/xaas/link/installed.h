// Installed files: what an install tree holds, by where it comes from.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/link/note.h>

#include <map>
#include <optional>
#include <string>

namespace xaas::link {

// Device code in a file by itself, which a program loads.
struct DeviceFile {
  enum class Form { ptx, cubin, fatbin, code_object, spirv };
  Form form = Form::ptx;
  // The units that it was compiled from, by architecture of GPUs (sm_90): deploying makes it again, for the
  // GPU that is there. None: it is carried as it is.
  std::map<std::string, Digest> units = {};
  std::string reason = {}; // why there are none, where known
  bool operator==(const DeviceFile&) const = default;
};
std::string to_string(DeviceFile::Form form); // "ptx", "code-object"

Json to_json(const DeviceFile& file);
// Integrity error with JSON pointer: an unknown form, or units for what is no GPU of NVIDIA or of a form that
// is not made again.
Result<DeviceFile> parse_device_file(const JsonReader& reader);

struct InstalledFile {
  enum class Kind { directory, symlink, file, unit, archive, link };
  Kind kind = Kind::file;
  std::string path;             // relative to the root of the image, normalised
  unsigned mode = 0;            // permission bits
  Digest digest;                // of the content (file), the unit, the archive record or the link record
  std::string destination;      // of a symlink
  std::optional<Finish> finish; // of a link: strip state and RPATH as installed
  bool native = false;          // a file with machine code that did not come from IR
  std::optional<DeviceFile> device = {}; // of a file with device code; `digest` is what the build made
};

Json to_json(const InstalledFile& file);
// Integrity error with JSON pointer: a path that leaves the root or is a whiteout, permission bits beyond
// 0777.
Result<InstalledFile> parse_installed_file(const JsonReader& reader);

} // namespace xaas::link
