// Which file systems have their server elsewhere: where it is gone, all their files hang.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

// The mount points of file systems that specs/machine.json names. Source: proc(5), /proc/[pid]/mountinfo.
std::vector<std::string> remote_mounts(const std::string& mountinfo);

// The one of these places that a path is, or is in, by its name or over symbolic links. No file of them is
// touched.
std::optional<std::string> place_of(const std::string& path, const std::vector<std::string>& places);

} // namespace xaas::system
