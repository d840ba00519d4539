// Manifests that refer to an image, and signatures to be united with those of a destination.
#include "fuzz.h"

#include <xaas/oci/referrers.h>

namespace {

using namespace xaas;

// Whatever configuration the manifest names.
class Source : public oci::BlobSource {
protected:
  Result<oci::BlobPtr> find(const oci::Descriptor&) const override {
    return oci::blob_of(R"({"rootfs": {"type": "layers", "diff_ids": []}})");
  }
};

oci::Document document(std::string text) {
  oci::Document made{oci::media_type::manifest, std::move(text), {}};
  made.digest = digest_of(made.text);
  return made;
}

void check(const Result<oci::Signatures>& united) {
  require(united ? digest_of(united->document.text) == united->document.digest
                 : united.error().kind == ErrorKind::integrity,
          "a document, or why there is none");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto referrer = oci::as_referrer(oci::media_type::manifest, text);
  require(referrer || referrer.error().kind == ErrorKind::integrity, "kind of error");
  if (const auto about = oci::digest_in_tag(text))
    require(text.starts_with(oci::digest_tag(*about)) && oci::is_tag(text), "a tag");
  static const oci::Document known = document(
      R"({"schemaVersion": 2, "config": {"mediaType": "x", "size": 46,
          "digest": "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
          "layers": [{"mediaType": "x", "size": 1, "annotations": {"a": "b"},
          "digest": "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}]})");
  const oci::Document input = document(text);
  check(oci::unite_signatures(".sig", input, known, Source()));
  check(oci::unite_signatures(".sig", known, input, Source()));
  return 0;
}
