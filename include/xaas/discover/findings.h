// What a source tree says about how it can be built, with the place of every finding. The tree is read, never
// executed.
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

// An option that the person who builds may set.
struct Option {
  enum class Kind { boolean, choice, text };
  Kind kind = Kind::boolean;
  std::string name; // CMake, Meson and make: the variable's; configure: "enable-openmp", "with-blas"
  std::string help;
  // Its value if nobody sets it, as far as that can be read: "ON" or "OFF" for a boolean. Absent: the build
  // decides.
  std::optional<std::string> initial;
  std::vector<std::string> values; // of a choice; of make's booleans the words for on and, if known, off
  bool takes_place = false; // its value is a directory or file, so it says where something is, not whether
  bool internal = false;    // marked as advanced, which hides it from most users
  bool guessed = false;     // a command declares it that is not in the tree
  bool required = false;    // the build fails if nobody sets it
  std::vector<std::string> conditions;   // under which the option exists, in the build's own language
  std::optional<std::string> configured; // its value in the cache of a configure step, if one ran
  Place place;
};

// A library, compiler or tool that the build searches for.
struct Package {
  std::string name; // the name in the search: "FFTW", "fftw3f", "CUDAToolkit"
  std::string version;
  bool required = false;
  std::vector<std::string> conditions;
  Place place;
  bool alternative = false; // a build without options does not use it
  bool linked = false;      // the build names it in a link, or searches for it only to link it
  bool reached = false;     // a build without options gets there, whatever the conditions look like
};

// Something that the sources use, perhaps without an option of the build.
struct Sign {
  std::string name; // as the knowledge has it: "avx2", "OpenMP"
  uint64_t files = 0;
  Place place; // the first one
};

// What plain make makes. Empty for build systems that always have an install step.
struct MakeProducts {
  std::vector<std::string>
      programs; // files that the default goal links, relative to the makefile's directory
  std::vector<std::string> libraries; // archives and shared libraries
  bool has_install = false;           // a target `install` that installs below DESTDIR
};

// A named set of options that the project's authors use (CMake).
struct Preset {
  std::string name, description;
  std::map<std::string, std::string> variables; // including inherited ones
  Place place;
};

// The result of running the build's own configure step.
struct Configured {
  size_t confirmed = 0; // options that were read and that it has, too
  size_t added = 0;     // options that only it has
  size_t not_reached =
      0; // options that were read, and that this machine or the other options' values did not lead to
  double seconds = 0;
};

// What the tree says about its license.
struct License {
  std::string expression; // SPDX; empty: it is unclear
  std::string reason;     // how it is known, or why it is unclear
  Place place;
};

struct Findings {
  std::optional<spec::BuildSystem> system;
  std::string directory;          // of the build system's first file, relative; empty: the top of the tree
  std::string name, version;      // of the project
  std::string minimum_version;    // of the build system
  std::string stated_license;     // in the build files
  std::optional<License> license; // nullopt: the tree has no text of one
  std::vector<std::string> languages; // "C", "CXX", "Fortran", "CUDA", ...
  std::vector<Option> options;        // in the order in which the build meets them, each once
  std::vector<Package> packages;
  std::vector<Sign> signs;
  std::map<std::string, Place> flags;         // compiler flags in build files
  std::map<std::string, Place> machine_flags; // -m flags that a build without options compiles sources with
  std::optional<MakeProducts> products;       // of make
  std::string other_makefile; // of a tree without a build system, at its top: Makefile.avx, ...
  std::vector<Preset> presets;
  bool tool_optimizes = false; // no build file names -O, so that Autoconf's own default holds: -g -O2
  std::optional<Configured> configured;
  std::vector<std::string> notes; // what could not be read, for users
};

// The limits of a search. If a tree exceeds one, the rest is not read, and a note says so.
struct Limits {
  uint64_t files = 200'000;           // directory entries
  uint64_t file_bytes = 4u << 20;     // of a build file or source; larger ones are skipped
  uint64_t source_bytes = 512u << 20; // of all sources
  uint64_t commands = 2'000'000;      // of CMake, evaluated
};

// Reads a tree. The build system is the first of CMake, Meson, Autotools and make that the tree has, unless
// `system` names one. Symlinks out of the tree and special files are not followed. not_found if it is not a
// directory.
Result<Findings> read_tree(const fs::path& tree, std::optional<spec::BuildSystem> system = {},
                           const Limits& limits = {});

// Runs CMake's configure step on the tree in a temporary directory, with `arguments` (-DNAME=VALUE), and
// completes the findings from its cache and its trace (cmake(1), --trace-format=json-v1): values of options,
// and options that reading alone did not find. This executes the project's build files on this machine.
// Errors: failed, with the end of its output, if the step fails; missing_tool without CMake; usage for
// another build system.
Result<void> configure_tree(const fs::path& tree, const std::vector<std::string>& arguments,
                            Findings& findings);

} // namespace xaas::discover
