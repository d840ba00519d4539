// The programs that people can start in a tree.
#pragma once

#include <xaas/oci/image.h>

#include <string>
#include <vector>

namespace xaas::run {

// Executable files in the directories of `path` (a PATH of the image), by name; then the programs outside
// them that deploying linked, by path. A tree can have any number of them.
std::vector<std::string> programs_in(const fs::path& tree, const std::string& path,
                                     const std::map<std::string, std::string>& annotations);

// "; its programs: a, b and 7 more", for messages; empty without programs.
std::string programs_text(const std::vector<std::string>& programs);

} // namespace xaas::run
