#include <xaas/base/base64.h>

#include <gtest/gtest.h>

namespace xaas {
namespace {

TEST(Base64, ThereAndBack) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd", "user:p\xff\xfe"})
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  EXPECT_EQ(encode_base64("user:pass"), "dXNlcjpwYXNz");
  EXPECT_EQ(decode_base64("dXNlcjpwYXM"), "user:pas");
  for (const char* text : {"a", "ab!=", "a b=", "===="})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

} // namespace
} // namespace xaas
