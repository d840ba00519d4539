// Which Debian packages files belong to.
#pragma once

#include <xaas/image/bundle.h>

#include <filesystem>
#include <map>
#include <vector>

namespace xaas::image {

// The packages that own these files, with the digests of the files that they own; sorted. Read from dpkg's
// database (dpkg(1), /var/lib/dpkg) below `root`, without running anything. Files without a package are left
// out; without a database there are no packages.
std::vector<Package> packages_of(const std::map<Digest, std::filesystem::path>& files,
                                 const std::filesystem::path& root = "/");

} // namespace xaas::image
