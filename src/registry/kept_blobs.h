// Blobs that this or an earlier run has read.
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

// Keeps blobs in a cache or, without one or if it is full, in a directory that exists as long as this object.
// All blobs that it returns have been checked. Any number of threads may use it.
class KeptBlobs {
public:
  explicit KeptBlobs(const std::optional<store::Cache>& cache) : cache_(cache) {}

  oci::BlobPtr get(const oci::Descriptor& blob) const; // nullptr if missing
  std::optional<std::string> text(const Digest& digest, uint64_t limit) const;

  // If it cannot be kept, it is transferred again when needed.
  void put(const Digest& digest, const std::string& bytes) const;
  // Reads a blob to its end and keeps it; `open` may be called more than once. `progress` is in bytes and may
  // be nullptr.
  Result<oci::BlobPtr> keep(const oci::Descriptor& blob, const std::function<Result<oci::BlobPtr>()>& open,
                            Progress* progress) const;

private:
  Result<store::Cache> own() const;

  std::optional<store::Cache> cache_;
  mutable std::mutex mutex_;
  mutable std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas::registry
