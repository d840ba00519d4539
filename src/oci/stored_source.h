// Layouts and archives as sources of blobs.
#pragma once

#include <xaas/oci/blob_source.h>

#include <memory>

namespace xaas::oci {

class StoredSource : public BlobSource {
public:
  // The unparsed `index.json`.
  virtual Result<std::string> index() const = 0;
};

// Opens a layout or an archive and checks its `oci-layout`.
Result<std::unique_ptr<StoredSource>> open_source(const Reference& reference);

} // namespace xaas::oci
