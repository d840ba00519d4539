// What a server wants to see before it answers: the field WWW-Authenticate (RFC 9110 section 11.6.1).
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

// In the order of the field. What is malformed is left out.
std::vector<Challenge> parse_challenges(const std::string& field);
// Of all fields of that name in an answer.
std::vector<Challenge> challenges_of(const http::Response& response);

} // namespace xaas::registry
