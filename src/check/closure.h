// Whether the dynamic loader finds everything that programs and libraries need.
#pragma once

#include "tree.h"

#include <xaas/check/check.h>
#include <xaas/loader/search.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::check {

// The library search in the image. `hwcaps`: as in loader::Settings.
Result<loader::Settings> loader_settings(const Tree& tree, const std::string& arch,
                                         std::vector<std::string> library_path,
                                         std::vector<std::string> hwcaps);

// Reads another file of the image for the loader; nothing if it is not one for the architecture.
using ReadLibrary = std::function<Result<std::optional<loader::Library>>(const std::string& path)>;

// `files`: programs and libraries of the application, by path. Those of a base image that they load are read
// and added.
Result<std::vector<Problem>> check_closure(const Tree& tree, std::map<std::string, loader::Library>& files,
                                           const loader::Settings& settings, const ReadLibrary& read);

} // namespace xaas::check
