// Trusted roots: what is one, and times in them. The verification of bundles is in
// tests/e2e/cases/keyless.sh.
#include "trusted_root.h"

#include <xaas/base/file.h>

#include <gmock/gmock.h>

namespace xaas::provenance {
namespace {

using ::testing::HasSubstr;

constexpr const char* seed = XAAS_TEST_DATA "/../fuzz/seeds/signature/trusted_root.json";

TEST(TrustedRoot, HasWhatTheFileHas) {
  const Result<TrustedRoot> root = TrustedRoot::read(seed);
  ASSERT_TRUE(root) << root.error().message;
  const TrustedRoot::Content& content = root->content();
  ASSERT_EQ(content.certificate_authorities.size(), 1U);
  EXPECT_EQ(content.certificate_authorities[0].chain.size(), 2U);
  EXPECT_FALSE(content.logs.empty() || content.certificate_logs.empty() ||
               content.timestamp_authorities.empty());
  EXPECT_TRUE(content.logs[0].valid.contains(*parse_utc("2026-01-01T00:00:00Z")));
  EXPECT_FALSE(content.logs[0].valid.contains(*parse_utc("2019-12-31T23:59:59Z")));
  EXPECT_EQ(content.logs[0].id.size(), size_t(Digest::size));
}

TEST(TrustedRoot, OtherFilesAreUsageErrors) {
  const std::string good = *read_file(seed);
  for (const auto& [text, message] : {std::pair<std::string, std::string>{"", "root"},
                                      {"[]", "is not a trusted root"},
                                      {"{}", "is not a trusted root"},
                                      {R"({"certificateAuthorities": [{}]})", "certChain"},
                                      {R"({"certificateAuthorities": 7})", "certificateAuthorities"},
                                      {good.substr(0, good.size() / 2), "root"}}) {
    const Result<TrustedRoot> root = TrustedRoot::parse(text, "root");
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind, ErrorKind::usage) << root.error().message;
    EXPECT_THAT(root.error().message, HasSubstr(message));
  }
  EXPECT_EQ(TrustedRoot::read("/nowhere/root").error().kind, ErrorKind::not_found);
}

TEST(TrustedRoot, TimesInUtc) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:01Z"), 1);
  EXPECT_EQ(parse_utc("2022-04-13T20:06:15.000Z"), 1649880375);
  for (const char* text : {"", "2022-04-13", "2022-04-13T20:06:15", "2022-04-13T20:06:15+02:00",
                           "2022-04-13T20:06:15.Zx", "x2022-04-13T20:06:15Z"})
    EXPECT_FALSE(parse_utc(text)) << text;
}

} // namespace
} // namespace xaas::provenance
