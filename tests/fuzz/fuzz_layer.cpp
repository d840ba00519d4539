// Layers of images: tar, plain or compressed.
#include "fuzz.h"

#include <xaas/oci/layer.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  const oci::BlobPtr blob = oci::blob_of({reinterpret_cast<const char*>(data), size});
  for (const char* type :
       {oci::media_type::layer_tar, oci::media_type::layer_gzip, oci::media_type::layer_zstd}) {
    const auto read = oci::read_layer(
        blob, type, nullptr,
        [](const oci::LayerEntry& entry) -> Result<void> {
          require(!entry.path.starts_with("/") && ("/" + entry.path + "/").find("/../") == std::string::npos,
                  "paths stay below the root");
          return {};
        },
        uint64_t(64) << 20);
    require(read || read.error().kind == ErrorKind::integrity, "kind of error");
  }
  return 0;
}
