// Manifests, configurations and indexes as JSON (OCI image specification 1.1; Docker image manifest version 2
// schema 2).
#pragma once

#include <xaas/base/json.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/image.h>

namespace xaas::oci {

inline constexpr const char* tag_annotation = "org.opencontainers.image.ref.name";
inline constexpr const char* layout_version = "1.0.0";
inline constexpr uint64_t config_limit = uint64_t(8) << 20;

// Any violation of the specification is an integrity error that begins with `where`.
Result<Descriptor> parse_descriptor(const JsonReader& reader);
Result<Manifest> parse_manifest(const std::string& text, const std::string& where);
Result<ImageConfig> parse_config(const std::string& text, const std::string& where, size_t layers);
// The content of `index.json`, or of a nested index: an object with an array `manifests`.
Result<Json> parse_index(const std::string& text, const std::string& where);
// Checks the content of `oci-layout`; an unknown version is unsatisfied.
Result<void> check_layout_version(const std::string& text, const std::string& where);

Json descriptor_json(const Descriptor& descriptor);
Json new_index();
std::string layout_file(); // the content of `oci-layout`

// Compact JSON, with keys in the order in which they were added. Bytes that are not UTF-8 become U+FFFD,
// because JSON cannot represent them.
std::string to_bytes(const Json& json);

} // namespace xaas::oci
