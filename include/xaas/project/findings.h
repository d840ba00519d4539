// What a build asked of the machine that it ran on: its answers may not hold where the program runs.
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
    native,  // writes -march=native or its like: whether units were compiled so, only their flags say
  };
  Kind kind = Kind::run;
  std::string file;      // relative to the sources, or "build/..."; empty: not known
  uint64_t line = 0;     // from 1; 0: not known
  std::string what;      // what is run or read: "HAVE_FMA", "/proc/cpuinfo", "-march=native"
  bool asks_cpu = false; // of a run: its source asks the CPU (cpuid)
  auto operator<=>(const Finding&) const = default;
};

// Looks through the files of the project's build system that this build read, and through what the build
// system wrote down of its checks. Called after `build`, before the build directory goes. Checks that come
// with the build system itself (the compiler works, the size of a type) are not among them. Sorted; what
// cannot be read is left out: this is a help for people, and no part of what is built depends on it.
std::vector<Finding> find_host_dependence(const ConfigurationBuild& build);

} // namespace xaas::project
