// Looks for installed toolkits (CUDA, ROCm) and reads versions from their headers.
#pragma once

#include <xaas/base/file.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// The directories that may hold a toolkit, most wanted first: those that `variables` of the environment name
// as absolute paths, the one above the directory of `program` on PATH, then `defaults`.
std::vector<fs::path> toolkit_places(std::initializer_list<const char*> variables, const char* program,
                                     std::initializer_list<const char*> defaults);

// The number that `header` defines as macro `name`; nothing if it does not.
std::optional<int64_t> defined_number(const fs::path& header, const std::string& name);

} // namespace xaas::frontdoor
