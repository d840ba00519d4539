// Building with the toolchain of a source image.
//
// The build sees the toolchain's tree as its root and, below /.xaas, the sources, a build directory and so
// on. The paths are the same on every machine, because paths get into files. Compilers are called through
// scripts that put the target before the project's own flags, as `clang -march=TARGET` does with IR: a
// project that names an instruction set itself overrides it. Rejected: CFLAGS, which many build systems
// replace or ignore, and which come after a project's own flags in others.
#pragma once

#include <xaas/enclose/enclose.h>
#include <xaas/project/project.h>
#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <string>
#include <vector>

namespace xaas::deploy {

// Paths inside the enclosure of a build.
namespace inside {
inline constexpr const char* source = "/.xaas/source";
inline constexpr const char* build = "/.xaas/build";
inline constexpr const char* copy = "/.xaas/copy";
inline constexpr const char* destination = "/.xaas/destination";
inline constexpr const char* home = "/.xaas/home";
inline constexpr const char* tools = "/.xaas/tools";
inline constexpr const char* compiler_cache = "/.xaas/compiler-cache";
} // namespace inside

// An enclosure as a place for the steps of a build.
class EnclosedPlace : public project::BuildPlace {
public:
  // `path`: PATH inside; empty: the usual directories, or this process's PATH with `host`.
  EnclosedPlace(enclose::Enclosure enclosure, const std::string& path);
  Result<ProcessResult> run(const Command& command) const override;
  std::optional<fs::path> find_program(const std::string& name) const override;
  fs::path inside(const fs::path& path) const override;
  std::map<std::string, std::string> environment() const override;

  const enclose::Enclosure& enclosure() const { return enclosure_; }
  bool is_host() const { return enclosure_.tree.empty(); }

private:
  enclose::Enclosure enclosure_;
  std::vector<std::string> path_;
};

struct Compilers {
  project::Tools tools;           // scripts, as the place has them; without Fortran if there is none
  std::vector<std::string> flags; // that they add
  std::string version;            // the first line of the C or C++ compiler's version text
  bool cached = false;            // by a compiler cache of the toolchain
};

// Writes the scripts into the directory `tools` of this machine, which is inside::tools in the place. The
// compilers are those that the toolchain names, else gcc, g++ and gfortran, else clang, clang++ and flang.
// missing_tool if a named one does not exist, or there is no C compiler. Parts of the target that the
// compiler does not know are left out: the CPU's name first, then single features.
Result<Compilers> make_compilers(const EnclosedPlace& place, const spec::Toolchain& toolchain,
                                 const target::Cpu& cpu, const fs::path& tools);

} // namespace xaas::deploy
