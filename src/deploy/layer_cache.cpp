#include "layer_cache.h"

#include <xaas/base/build_id.h>

namespace xaas::deploy {

namespace {

// Nothing if the bytes could be those of any build of this program.
std::optional<Digest> key_of(oci::Compression compression, const Digest& diff_id) {
  const std::string program = build_id();
  if (program.empty())
    return std::nullopt;
  Hasher hasher;
  hasher.update_part("layer 1");
  hasher.update_part(program);
  hasher.update_number(static_cast<uint64_t>(compression));
  hasher.update_part(diff_id.to_string());
  return hasher.finish();
}

} // namespace

std::optional<std::string> LayerCache::find(oci::Compression compression, const Digest& diff_id) const {
  const std::optional<Digest> key = key_of(compression, diff_id);
  return key ? cache_.get(*key) : std::nullopt;
}

void LayerCache::keep(oci::Compression compression, const Digest& diff_id,
                      std::string_view compressed) const {
  if (const std::optional<Digest> key = key_of(compression, diff_id))
    static_cast<void>(cache_.put(*key, compressed));
}

} // namespace xaas::deploy
