// What a source tree says about how it can be built, with the place of every finding. Read, never executed.
//
// Sources: cmake-language(7), cmake-commands(7); Autoconf manual (AC_ARG_ENABLE, AC_ARG_WITH); Meson
// reference manual (build options); GNU make manual (conditionals, assignments).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::discover {

struct Place {
  std::string file; // relative to the tree
  unsigned line = 0;
  auto operator<=>(const Place&) const = default;
};

// What the person who builds may set.
struct Option {
  enum class Kind { boolean, choice, text };
  Kind kind = Kind::boolean;
  std::string name; // CMake, Meson and make: of the variable; configure: "enable-openmp", "with-blas"
  std::string help;
  // What it is if nobody sets it, as far as that can be read: "ON" and "OFF" of a boolean. Absent: the build
  // decides.
  std::optional<std::string> initial;
  std::vector<std::string> values; // of a choice; of make's booleans the words for on and, if known, off
  bool takes_place = false;        // its value is a directory or file: says where something is, not whether
  bool internal = false;           // marked as advanced, which hides it from most users
  std::vector<std::string> conditions;   // of the build's own language: where the option exists
  std::optional<std::string> configured; // its value in the cache of a configure step, if one was run
  Place place;
};

// A library, compiler or tool that the build looks for.
struct Package {
  std::string name; // as it is looked for: "FFTW", "fftw3f", "CUDAToolkit"
  std::string version;
  bool required = false;
  std::vector<std::string> conditions;
  Place place;
};

// What sources use and the build may hide.
struct Sign {
  std::string name; // of the knowledge: "avx2", "OpenMP"
  uint64_t files = 0;
  Place place; // the first
};

// What plain make makes. Of build systems that always have an install step nothing is said.
struct MakeProducts {
  std::vector<std::string>
      programs; // files that the default goal links, relative to the makefile's directory
  std::vector<std::string> libraries; // archives and shared libraries
  bool has_install = false;           // a target `install`
};

// A named set of options that the project's authors use (CMake).
struct Preset {
  std::string name, description;
  std::map<std::string, std::string> variables; // with those that it inherits
  Place place;
};

// What a run of the build's own configure step said.
struct Configured {
  size_t confirmed = 0; // options that were read and that it has, too
  size_t added = 0;     // options that only it has
  size_t not_reached =
      0; // options that were read, and that this machine or the other options' values did not lead to
  double seconds = 0;
};

struct Findings {
  std::optional<spec::BuildSystem> system;
  std::string directory;              // of the build system's first file, relative; empty: the tree's own
  std::string name, version;          // of the project
  std::string minimum_version;        // of the build system
  std::vector<std::string> languages; // "C", "CXX", "Fortran", "CUDA", ...
  std::vector<Option> options;        // in the order in which the build meets them, each once
  std::vector<Package> packages;
  std::vector<Sign> signs;
  std::map<std::string, Place> flags;   // compiler flags that the build knows
  std::optional<MakeProducts> products; // of make
  std::vector<Preset> presets;
  std::optional<Configured> configured;
  std::vector<std::string> notes; // what could not be read, for people
};

// Where a search ends; a tree that has more is read so far, and that is noted.
struct Limits {
  uint64_t files = 200'000;           // directory entries
  uint64_t file_bytes = 4u << 20;     // of a build file or source; larger ones are left out
  uint64_t source_bytes = 512u << 20; // of all sources
  uint64_t commands = 2'000'000;      // of CMake, followed
};

// Reads a tree. The build system is CMake, Meson, Autotools or make, the first that the tree has, unless
// `system` says which. Symlinks that leave the tree, and special files, are not followed. Not a directory:
// not_found.
Result<Findings> read_tree(const fs::path& tree, std::optional<spec::BuildSystem> system = {},
                           const Limits& limits = {});

// Runs CMake's configure step of the tree in a temporary directory, with `arguments` (-DNAME=VALUE), and
// completes the findings by its cache and its trace (cmake(1), --trace-format=json-v1): the value of each
// option that it has, options that reading alone did not find. This executes what the project's build files
// say, on this machine. A step that fails: failed, with the end of its output; no CMake: missing_tool;
// another build system: usage.
Result<void> configure_tree(const fs::path& tree, const std::vector<std::string>& arguments,
                            Findings& findings);

} // namespace xaas::discover
