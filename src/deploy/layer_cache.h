// A cache of compressed layers of deployed images.
#pragma once

#include <xaas/oci/layer.h>
#include <xaas/store/cache.h>

namespace xaas::deploy {

// A compressed layer is filed under its uncompressed digest, its compression and this build of the program,
// whose compressors may differ from another's. For concurrency, damage and access, see store::Cache.
class LayerCache : public oci::CompressedLayers {
public:
  // The cache must outlive this object.
  explicit LayerCache(const store::Cache& cache) : cache_(cache) {}
  std::optional<std::string> find(oci::Compression compression, const Digest& diff_id) const override;
  // A cache that cannot be written (no space) only costs time.
  void keep(oci::Compression compression, const Digest& diff_id, std::string_view compressed) const override;

private:
  const store::Cache& cache_;
};

} // namespace xaas::deploy
