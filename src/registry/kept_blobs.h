// Blobs that were read before: by any run, or by this one.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/oci/blob.h>
#include <xaas/store/cache.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace xaas::registry {

// In a cache, or where there is none, or no space in it, in a directory for as long as this lives. Everything
// that it gives was checked. Any number of threads may use it.
class KeptBlobs {
public:
  explicit KeptBlobs(const std::optional<store::Cache>& cache) : cache_(cache) {}

  oci::BlobPtr get(const oci::Descriptor& blob) const; // nullptr: not there
  std::optional<std::string> text(const Digest& digest, uint64_t limit) const;

  // Where nothing can be kept, it is got again when it is asked for again.
  void put(const Digest& digest, const std::string& bytes) const;
  // Reads a blob to its end, and keeps it; `open` may be called again. `progress` in bytes; nullptr: none.
  Result<oci::BlobPtr> keep(const oci::Descriptor& blob, const std::function<Result<oci::BlobPtr>()>& open,
                            Progress* progress) const;

private:
  Result<store::Cache> own() const;

  std::optional<store::Cache> cache_;
  mutable std::mutex mutex_;
  mutable std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas::registry
