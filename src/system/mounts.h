// Remote file systems. If their server is gone, every access to them hangs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

// The mount points of the file systems named in specs/machine.json. Source: proc(5), /proc/[pid]/mountinfo.
std::vector<std::string> remote_mounts(const std::string& mountinfo);

// The mount point that contains a path, by name or through symbolic links. Does not touch files in them.
std::optional<std::string> place_of(const std::string& path, const std::vector<std::string>& places);

} // namespace xaas::system
