// What a trusted root contains.
#pragma once

#include "openssl.h"

#include <xaas/provenance/signature.h>
#include <xaas/provenance/trusted_root.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::provenance {

// Seconds since 1970, both included.
struct Period {
  int64_t start = std::numeric_limits<int64_t>::min(), end = std::numeric_limits<int64_t>::max();
  bool contains(int64_t time) const { return start <= time && time <= end; }
};

struct Authority {
  std::vector<Certificate> chain; // at least one; each is trusted
  Period valid;
};

struct Log {
  std::string id; // SHA-256 of the key in DER
  PublicKey key;
  Period valid;
  std::shared_ptr<CTLOG_STORE> store; // of a log of certificates: this log alone
};

struct TrustedRoot::Content {
  std::vector<Authority> certificate_authorities, timestamp_authorities;
  std::vector<Log> logs, certificate_logs; // of signatures (Rekor), of certificates
  bool wants_certificate_logs = false;     // the root has some, though perhaps none with a key that we know
};

// Seconds since 1970; absent if the text is not a time in UTC (RFC 3339), perhaps with a fraction.
std::optional<int64_t> parse_utc(const std::string& text);

} // namespace xaas::provenance
