// The root of trust for signatures by identities: certificate authorities, logs and timestamp authorities,
// as a site takes them from Sigstore's public instance or runs them. Source: sigstore/protobuf-specs
// (sigstore_trustroot.proto, in JSON), the file that cosign calls --trusted-root.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <memory>
#include <string>

namespace xaas::provenance {

class TrustedRoot {
public:
  // Usage error if the file is not such a root, or has no certificate authority.
  static Result<TrustedRoot> read(const fs::path& file);
  static Result<TrustedRoot> parse(const std::string& json, const std::string& name);

  const std::string& name() const { return name_; } // the file
  struct Content;                                   // src/provenance/trusted_root.h
  const Content& content() const { return *content_; }

private:
  std::string name_;
  std::shared_ptr<const Content> content_;
};

} // namespace xaas::provenance
