// The stand-ins in a file tree for several targets. A launcher stands in for a program: it is small and
// static, asks the CPU, and starts the program of the best target (launcher.c explains how it finds that). A
// library without code stands in for a module, which programs load by its path, and needs the module of a
// target.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::launcher {

// The directory below a tree's root that has a directory for each target.
inline constexpr const char* targets_directory = ".xaas/targets";

struct Target {
  std::string name;                  // for XAAS_TARGET: is_target_name()
  std::string directory;             // below targets_directory; several names can share one
  std::vector<std::string> features; // of LLVM; those that feature_bits() lacks are not asked for
  std::string device;                // a file that only systems with its GPU have; empty: it needs none
};

// True for letters, digits and `._+-`, at most 63 of them, except `print`, `.` and `..`.
bool is_target_name(std::string_view name);

// Usage errors for other names, and for architectures without a launcher.
Result<void> check_name(const std::string& name);
Result<void> check_arch(const std::string& arch);

// The program for these targets, best first, an executable for `arch`. `libraries`: directories relative to
// the root of a target, whose copy comes first in LD_LIBRARY_PATH. The bytes are a function of the arguments.
// Usage errors: an architecture without a launcher, a bad name, more targets or directories than the table
// has room for.
Result<std::string> program(const std::string& arch, const std::vector<Target>& targets,
                            const std::vector<std::string>& libraries);

// A shared library for `arch` that has nothing but a need for another library: a path, or a name that the
// loader searches in the directory `runpath` and, with glibc, in its `glibc-hwcaps`. Both can begin with
// $ORIGIN. dlsym() finds the symbols of that library in it. Usage errors: an architecture without a launcher;
// a string of more than 2047 characters.
Result<std::string> forwarding_library(const std::string& arch, const std::string& needed,
                                       const std::string& runpath);

} // namespace xaas::launcher
