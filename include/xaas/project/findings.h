// What a build asked of its machine. The answers may not hold on the machine where the program runs.
#pragma once

#include <xaas/base/result.h>
#include <xaas/project/project.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace xaas::project {

struct Finding {
  enum class Kind {
    run,     // a program that the configure step compiled and ran
    machine, // reads what machine this is: /proc/cpuinfo, lscpu, ...
    native,  // writes -march=native or the like; only the flags of units tell whether they were compiled so
    debug,   // the build system's own default is a debug build, which writes -O0
  };
  Kind kind = Kind::run;
  std::string file;      // relative to the sources, or "build/..."; empty: not known
  uint64_t line = 0;     // from 1; 0: not known
  std::string what;      // what is run or read: "HAVE_FMA", "/proc/cpuinfo", "-march=native"
  bool asks_cpu = false; // of a run: its source asks the CPU (cpuid)
  auto operator<=>(const Finding&) const = default;
};

// Searches the files of the project's build system that this build read, and the build system's own records
// of its checks. Call it after `build`, while the build directory exists. Checks of the build system itself
// (the compiler works, the size of a type) are left out. Sorted. Unreadable files are skipped: the findings
// are a help for people, and nothing that is built depends on them.
std::vector<Finding> find_host_dependence(const ConfigurationBuild& build);

} // namespace xaas::project
