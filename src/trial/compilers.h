// Compilers that makefiles name.
#pragma once

#include <xaas/base/file.h>

#include <string>
#include <vector>

namespace xaas::trial {

// A variable of a makefile whose value begins with a compiler, and what it has to be instead.
struct MakeCompiler {
  std::string variable;
  std::string written; // the value in the makefile
  std::string value;   // "$(CXX) -fopenmp"; a wrapper that calls our compilers (mpicc, nvcc) keeps its name
  std::string place;   // "Makefile:12"
};

// Reads the makefiles in `directory`. CC, CXX and FC are among the result only if each of their assignments
// is the same wrapper, because make's command line sets them otherwise. HOSTCC and the like, which compile
// tools of the build, are left out.
std::vector<MakeCompiler> make_compilers(const fs::path& directory);

} // namespace xaas::trial
