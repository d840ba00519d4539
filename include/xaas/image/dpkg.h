// Which packages of Debian's files are from.
#pragma once

#include <xaas/image/bundle.h>

#include <filesystem>
#include <map>
#include <vector>

namespace xaas::image {

// The packages that have these files, with the digests of those that they have; sorted. Read from the
// database of dpkg (dpkg(1), /var/lib/dpkg) below `root`, without running anything. Files that no package has
// are left out; without such a database there are no packages.
std::vector<Package> packages_of(const std::map<Digest, std::filesystem::path>& files,
                                 const std::filesystem::path& root = "/");

} // namespace xaas::image
