// Secrets are recognized by form only, because nothing tells the purpose of a random string. The forms are
// those that their issuers document for this purpose: prefixes of tokens, armour of keys. Rejected: measuring
// entropy, which takes every test vector and table of hashes for a secret.
#include "secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace xaas::build {

namespace {

// A token: its prefix, and the least number of characters of its alphabet that follow.
struct Token {
  std::string_view prefix;
  size_t length;
  bool upper; // only capital letters and digits
  const char* what;
};
constexpr std::array tokens = {
    Token{"AKIA", 16, true, "an AWS access key"},    Token{"ASIA", 16, true, "an AWS access key"},
    Token{"ghp_", 36, false, "a GitHub token"},      Token{"gho_", 36, false, "a GitHub token"},
    Token{"ghs_", 36, false, "a GitHub token"},      Token{"github_pat_", 50, false, "a GitHub token"},
    Token{"glpat-", 20, false, "a GitLab token"},    Token{"xoxb-", 20, false, "a Slack token"},
    Token{"xoxp-", 20, false, "a Slack token"},      Token{"hf_", 34, false, "a Hugging Face token"},
    Token{"dckr_pat_", 20, false, "a Docker token"}, Token{"npm_", 36, false, "an npm token"},
};

struct Place {
  std::string_view name; // the end of the path, from a slash on
  const char* what;
};
constexpr std::array secret_places = {
    Place{"/.netrc", "passwords of hosts"},
    Place{"/.git-credentials", "passwords of git"},
    Place{"/.pgpass", "passwords of PostgreSQL"},
    Place{"/.docker/config.json", "credentials of registries"},
    Place{"/.aws/credentials", "credentials of AWS"},
    Place{"/id_rsa", "a private key"},
    Place{"/id_dsa", "a private key"},
    Place{"/id_ecdsa", "a private key"},
    Place{"/id_ed25519", "a private key"},
    Place{"/.env", "settings that do not belong in repositories"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

bool has_token(std::string_view line, const Token& token) {
  const auto belongs = [&](char c) {
    return token.upper ? std::isdigit(static_cast<unsigned char>(c)) || (c >= 'A' && c <= 'Z') : is_word(c);
  };
  for (size_t at = line.find(token.prefix); at != std::string_view::npos;
       at = line.find(token.prefix, at + 1)) {
    if (at > 0 && is_word(line[at - 1]))
      continue;
    const std::string_view rest = line.substr(at + token.prefix.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), belongs);
    if (static_cast<size_t>(end - rest.begin()) >= token.length)
      return true;
  }
  return false;
}

// "-----BEGIN ... PRIVATE KEY-----" (RFC 7468, and the forms of OpenSSH and PGP) at the beginning of a line.
// Within a line it is text in a program that reads keys.
bool begins_private_key(std::string_view line) {
  return line.starts_with("-----BEGIN ") && (line.find("PRIVATE KEY-----") != std::string_view::npos ||
                                             line.find("PRIVATE KEY BLOCK-----") != std::string_view::npos);
}

} // namespace

std::vector<Secret> find_secrets(const std::string& file, std::string_view content) {
  std::vector<Secret> found;
  const std::string path = "/" + file;
  for (const Place& place : secret_places)
    if (path.ends_with(place.name) && !content.empty())
      found.push_back({file, 0, place.what});
  if (content.substr(0, 8000).find('\0') != std::string_view::npos) // not a text file
    return found;
  size_t number = 0;
  while (!content.empty()) {
    ++number;
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (begins_private_key(line))
      found.push_back({file, number, "a private key"});
    for (const Token& token : tokens)
      if (has_token(line, token))
        found.push_back({file, number, token.what});
  }
  return found;
}

} // namespace xaas::build
