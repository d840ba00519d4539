#include <xaas/base/glob.h>

#include <gtest/gtest.h>

#include <string>

namespace xaas {
namespace {

TEST(Glob, StarsStandForAnyCharacters) {
  for (const auto& [pattern, text] :
       {std::pair("", ""), std::pair("a", "a"), std::pair("*", ""), std::pair("*", "a/b.c"),
        std::pair("a*", "a"), std::pair("*a", "bca"), std::pair("a*b*c", "aXbXbXc"),
        std::pair("data/*.bin", "data/deep/x.bin"), std::pair("**", "x"), std::pair("*aab", "aaaab"),
        std::pair("*a*b", "ab")})
    EXPECT_TRUE(glob_match(pattern, text)) << pattern << " " << text;
  for (const auto& [pattern, text] :
       {std::pair("", "a"), std::pair("a", ""), std::pair("a", "ab"), std::pair("a", "ba"),
        std::pair("a*b", "a"), std::pair("a*b", "abc"), std::pair("*ab*ab", "ab"), std::pair("*.so", "x.soo"),
        std::pair("a*a", "a"), std::pair("A", "a")})
    EXPECT_FALSE(glob_match(pattern, text)) << pattern << " " << text;
}

TEST(Glob, NothingElseIsSpecial) {
  for (const char* const text : {"?", "[a]", "\\", "{a,b}", "a.b"})
    EXPECT_TRUE(glob_match(text, text)) << text;
  EXPECT_FALSE(glob_match("?", "a"));
  EXPECT_FALSE(glob_match("[ab]", "a"));
  EXPECT_FALSE(glob_match("a.b", "axb"));
  EXPECT_FALSE(glob_match("\\*", "*"));
}

// A matcher that tries every length for every star would not come to an end.
TEST(Glob, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 40; ++i)
    pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(4000, 'a')));
  EXPECT_TRUE(glob_match(pattern, std::string(4000, 'a')));
}

} // namespace
} // namespace xaas
