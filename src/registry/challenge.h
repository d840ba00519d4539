// Authentication challenges: the field WWW-Authenticate (RFC 9110 section 11.6.1).
#pragma once

#include <xaas/http/http.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::registry {

struct Challenge {
  std::string scheme;                            // lower case
  std::map<std::string, std::string> parameters; // names in lower case
  std::string parameter(const std::string& name) const;
};

// The challenges in a field, in order. Skips malformed ones.
std::vector<Challenge> parse_challenges(const std::string& field);
// The challenges in all such fields of a response.
std::vector<Challenge> challenges_of(const http::Response& response);

} // namespace xaas::registry
