// Does the dynamic loader find all that programs and libraries need.
#pragma once

#include "tree.h"

#include <xaas/link/dynamic.h>
#include <xaas/verify/verify.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::verify {

struct LoaderSettings {
  std::string arch;
  std::vector<std::string> library_path; // LD_LIBRARY_PATH
};

// As glibc's ld.so(8) searches, without ld.so.cache: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, its own
// directories; a library that is loaded already serves whoever names it.
std::vector<Problem> check_closure(const Tree& tree, const std::map<std::string, link::Dynamic>& files,
                                   const LoaderSettings& settings);

} // namespace xaas::verify
