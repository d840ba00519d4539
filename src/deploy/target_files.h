// The application's files in images for several targets.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/image/warning.h>
#include <xaas/loader/dynamic.h>
#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

inline constexpr const char* application_role = "application"; // of the layer

struct TargetFile {
  using Kind = oci::LayerEntry::Kind;
  Kind kind = Kind::file;
  unsigned mode = 0;
  std::string link = {};                       // destination of a symlink
  Digest digest = {};                          // of the content or the destination
  bool script = false;                         // begins with #!
  bool archive = false;                        // of objects
  std::optional<loader::Dynamic> dynamic = {}; // of an ELF file for the image's architecture

  bool same_as(const TargetFile& other) const {
    return kind == other.kind && mode == other.mode && digest == other.digest;
  }
  bool is_program() const { return is_executable() && dynamic && dynamic->program; }
  bool is_script() const { return is_executable() && script; }
  bool is_library() const {
    return kind == Kind::file && dynamic && !dynamic->program &&
           (dynamic->shared || !dynamic->soname.empty());
  }
  // A library that programs load by its path, because it has no other name.
  bool is_module() const { return is_library() && dynamic->soname.empty(); }

private:
  bool is_executable() const { return kind == Kind::file && (mode & 0111); }
};

// Contents by digest, each once.
using Contents = std::map<Digest, std::string>;

struct TargetFiles {
  std::string directory;             // below launcher::targets_directory
  std::vector<std::string> features; // with those that they imply
  std::string gpu;                   // image::annotation::gpu
  std::string device;                // a file that only systems with its GPU have; empty: it needs none
  std::string configuration;         // without the ISA level
  std::string level; // the ISA level that has all of the features, if it is above the lowest; else empty
  std::map<std::string, TargetFile> files; // by path

  // Whether the path is a program or script, or a symlink to one among these files.
  bool is_command(const std::string& path) const;
};

// Reads the layers of the application, ELF files in workers.
Result<TargetFiles> read_target_files(const oci::Image& image, const std::string& directory,
                                      const std::string& arch, Contents& contents);

// The directories, relative to the root, whose libraries programs of some target find through LD_LIBRARY_PATH
// or an absolute RUNPATH. The launcher puts those of the target first in LD_LIBRARY_PATH. A failed error if a
// program finds a library elsewhere that one of these directories also has, and would no longer. A warning
// for each file that finds such a library through an absolute DT_RPATH, which precedes the variable.
Result<std::set<std::string>> directories_to_search(const std::vector<TargetFiles>& targets,
                                                    const std::string& arch,
                                                    std::set<image::Warning>& warnings);

} // namespace xaas::deploy
