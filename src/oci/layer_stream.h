// Layers read piece by piece, so that a large file need not fit into memory.
#pragma once

#include <xaas/oci/layer.h>

#include <string_view>

namespace xaas::oci {

// The content of the entry at hand.
class LayerContent {
public:
  virtual ~LayerContent() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
};

// As read_layer, but an entry comes without its content. `limit` counts the uncompressed layer and, apart
// from it, the contents that are read (a sparse file can be larger than its layer).
Result<void> stream_layer(std::string_view blob, const std::string& media_type, const Digest* diff_id,
                          uint64_t limit,
                          const std::function<Result<void>(LayerEntry&, LayerContent&)>& entry);

// The part of a path after its last '/'.
std::string base_name(const std::string& path);

// Whether a path is that of a whiteout (OCI image specification, layer.md, "Whiteouts").
bool is_whiteout(const std::string& path);
inline constexpr const char* opaque_whiteout = ".wh..wh..opq";
inline constexpr const char* whiteout_prefix = ".wh.";

} // namespace xaas::oci
