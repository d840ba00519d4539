// Whether the dynamic loader finds everything that programs and libraries need.
#pragma once

#include "tree.h"

#include <xaas/check/check.h>
#include <xaas/loader/search.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::check {

// The library search in an image without ld.so.cache. `hwcaps`: as in loader::Settings.
loader::Settings loader_settings(const std::string& arch, std::vector<std::string> library_path,
                                 std::vector<std::string> hwcaps);

// `files`: programs and libraries of the image, by path.
Result<std::vector<Problem>> check_closure(const Tree& tree,
                                           const std::map<std::string, loader::Library>& files,
                                           const loader::Settings& settings);

} // namespace xaas::check
