#include <xaas/base/digest.h>

#include <gtest/gtest.h>

namespace xaas {

namespace {

Digest of_parts(std::string_view first, std::string_view second) {
  Hasher hasher;
  hasher.update_part(first);
  hasher.update_part(second);
  return hasher.finish();
}

TEST(Hasher, PartsStayApart) {
  EXPECT_EQ(of_parts("ab", "c"), of_parts("ab", "c"));
  EXPECT_NE(of_parts("ab", "c"), of_parts("a", "bc"));
  EXPECT_NE(of_parts("", "abc"), of_parts("abc", ""));
}

} // namespace

} // namespace xaas
