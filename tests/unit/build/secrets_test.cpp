#include "secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The findings, as "FILE:LINE: WHAT".
std::vector<std::string> found(const std::string& file, const std::string& content) {
  std::vector<std::string> lines;
  for (const Secret& secret : find_secrets(file, content))
    lines.push_back(secret.file + ":" + std::to_string(secret.line) + ": " + secret.what);
  return lines;
}

std::string letters(size_t count) {
  return std::string(count, 'x');
}

// None of these is a real token. They are composed, so that no other scanner reports this file.
TEST(Secrets, TokensOfEveryKind) {
  const struct {
    std::string prefix;
    size_t length;
    const char* what;
  } kinds[] = {
      {"AKI"
       "A",
       16, "an AWS access key"},
      {"ASI"
       "A",
       16, "an AWS access key"},
      {"gh"
       "p_",
       36, "a GitHub token"},
      {"gh"
       "o_",
       36, "a GitHub token"},
      {"gh"
       "s_",
       36, "a GitHub token"},
      {"github_"
       "pat_",
       50, "a GitHub token"},
      {"gl"
       "pat-",
       20, "a GitLab token"},
      {"xo"
       "xb-",
       20, "a Slack token"},
      {"xo"
       "xp-",
       20, "a Slack token"},
      {"h"
       "f_",
       34, "a Hugging Face token"},
      {"dckr_"
       "pat_",
       20, "a Docker token"},
      {"np"
       "m_",
       36, "an npm token"},
  };
  for (const auto& kind : kinds) {
    const std::string rest(kind.length, kind.what == std::string("an AWS access key") ? 'Q' : 'x');
    const std::string token = kind.prefix + rest;
    EXPECT_THAT(found("src/a.c", "\nkey = \"" + token + "\"\n"),
                ElementsAre(std::string("src/a.c:2: ") + kind.what))
        << kind.prefix;
    EXPECT_THAT(found("a", token), ElementsAre(std::string("a:1: ") + kind.what)) << kind.prefix;
    EXPECT_THAT(found("a", token.substr(0, token.size() - 1)), IsEmpty()) << kind.prefix;
    EXPECT_THAT(found("a", "a" + token), IsEmpty()) << kind.prefix << " inside a word";
  }
}

TEST(Secrets, PrivateKeys) {
  const std::string begin = "-----BEGIN ", end = "PRIVATE KEY-----\n";
  for (const std::string kind : {"", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "})
    EXPECT_THAT(found("key.pem", "Subject: x\n" + begin + kind + end + "MIIE\n"),
                ElementsAre("key.pem:2: a private key"))
        << kind;
  EXPECT_THAT(found("key.asc", begin + "PGP PRIVATE KEY BLOCK-----\n"),
              ElementsAre("key.asc:1: a private key"));
  // Line ends of Windows.
  EXPECT_THAT(found("key.pem", begin + "PRIVATE KEY-----\r\nMIIE\r\n"),
              ElementsAre("key.pem:1: a private key"));
}

TEST(Secrets, FilesThatProgramsKeepThemIn) {
  for (const char* const name :
       {".netrc", "home/.netrc", ".git-credentials", "a/.pgpass", ".docker/config.json", "x/.aws/credentials",
        "id_rsa", "keys/id_dsa", "id_ecdsa", "id_ed25519", ".env"}) {
    const auto secrets = find_secrets(name, "x");
    ASSERT_EQ(secrets.size(), 1u) << name;
    EXPECT_EQ(secrets[0].line, 0u) << name;
    EXPECT_EQ(secrets[0].file, name);
    EXPECT_THAT(find_secrets(name, ""), IsEmpty()) << name;
  }
  EXPECT_EQ(find_secrets("id_rsa", std::string("\0binary", 7)).size(), 1u);
}

TEST(Secrets, AllOfThemInOrder) {
  const std::string token = "gl"
                            "pat-" +
                            letters(20);
  EXPECT_THAT(found(".env", token + "\n\n" + token),
              ElementsAre(".env:0: settings that do not belong in repositories", ".env:1: a GitLab token",
                          ".env:3: a GitLab token"));
}

TEST(Secrets, WhatOnlyLooksLikeThem) {
  const std::string key = "-----BEGIN PRIVATE KEY-----";
  for (const std::string& text :
       {"if (line == \"" + key + "\") return;", std::string("-----BEGIN PUBLIC KEY-----"),
        std::string("-----BEGIN CERTIFICATE-----"), "  " + key, std::string("hf_") + letters(10),
        std::string("AKIA") + letters(16), // not only capital letters
        std::string("the prefix ghp_ is GitHub's"), std::string("half_") + letters(40),
        std::string("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        std::string("MAKIAVELLI_MAKIAVELLI_MAKIAVELLI")})
    EXPECT_THAT(found("src/a.c", text + "\n"), IsEmpty()) << text;
  for (const char* const name : {"not.netrc", "id_rsa.pub", "env", "config.json", "docker/config.json",
                                 ".envrc", "my_id_rsa", "aws/credentials"})
    EXPECT_THAT(find_secrets(name, "x"), IsEmpty()) << name;
  // Binary files are not searched, because any bytes can occur there.
  EXPECT_THAT(found("a.bin", std::string("\0", 1) + "\n" + key + "\n"), IsEmpty());
}

} // namespace
} // namespace xaas::build
