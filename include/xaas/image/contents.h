// Contents of an image on disk, while it is deployed.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <utility>

namespace xaas::image {

// Modules, kit files and tree files as files below a directory, by digest. Together they are larger than the
// memory that lowering or linking takes.
class Contents {
public:
  explicit Contents(fs::path directory) : directory_(std::move(directory)) {}
  fs::path path(const Digest& digest) const { return directory_ / ("c" + digest.hex()); }
  Result<void> keep(const Digest& digest, const std::string& content) const {
    return write_file(path(digest), content, 0644, false);
  }
  Result<std::string> read(const Digest& digest) const { return read_file(path(digest)); }

private:
  fs::path directory_;
};

} // namespace xaas::image
