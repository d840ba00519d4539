// The files of an install tree, with their origins.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/link/note.h>

#include <map>
#include <optional>
#include <string>

namespace xaas::link {

// A file of device code that a program loads.
struct DeviceFile {
  enum class Form { ptx, cubin, fatbin, code_object, spirv };
  Form form = Form::ptx;
  // The units that it was compiled from, by GPU architecture (sm_90): deploying makes the file again for the
  // target's GPU. None: the file is carried as it is.
  std::map<std::string, Digest> units = {};
  std::string reason = {}; // why there are none, if known
  bool operator==(const DeviceFile&) const = default;
};
std::string to_string(DeviceFile::Form form); // "ptx", "code-object"

Json to_json(const DeviceFile& file);
// Integrity error with JSON pointer: an unknown form, units for something other than NVIDIA's GPUs, or units
// of a form that is not made again.
Result<DeviceFile> parse_device_file(const JsonReader& reader);

struct InstalledFile {
  enum class Kind { directory, symlink, file, unit, archive, link };
  Kind kind = Kind::file;
  std::string path;                      // relative to the image's root, normalized
  unsigned mode = 0;                     // permission bits
  Digest digest;                         // of the content (file), unit, archive record or link record
  std::string destination;               // of a symlink
  std::optional<Finish> finish;          // for a link: strip state and RPATH as installed
  bool native = false;                   // has machine code that did not come from IR
  std::optional<DeviceFile> device = {}; // for a file of device code; `digest` is the build's own file
};

Json to_json(const InstalledFile& file);
// Integrity error with JSON pointer: a path that leaves the root or is a whiteout, permission bits beyond
// 0777.
Result<InstalledFile> parse_installed_file(const JsonReader& reader);

} // namespace xaas::link
