// How an IR image or a source image was built, as an in-toto statement with SLSA provenance. Sources:
// in-toto/attestation, spec/v1/statement.md and resource_descriptor.md; slsa.dev/spec/v1.0/provenance.
//
// The statement is a function of the image and of the builder: it has no times, and repeating the build
// gives the same bytes.
#pragma once

#include <xaas/base/json.h>
#include <xaas/provenance/sbom.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xaas::provenance {

inline constexpr const char* statement_media_type = "application/vnd.in-toto+json";

// The system that ran the build.
struct Builder {
  std::string id;         // a URI; readers have to trust this system
  std::string invocation; // a URI of this run; empty: unknown
};

// SCHEME:REST (RFC 3986).
bool is_uri(const std::string& text);

// The builder as GitHub Actions and GitLab CI name themselves to a job, by the schemes of their own
// provenance. Nothing elsewhere.
std::optional<Builder> builder_of_job(const std::function<std::string(const char* name)>& environment);

// The statement about an image that was built with these configurations. Packages and the base image are its
// dependencies, and so are the sources, if their revision or place is known.
Json to_slsa(const Inventory& inventory, const std::vector<std::string>& configurations,
             const Builder& builder);

} // namespace xaas::provenance
