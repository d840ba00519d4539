#include <xaas/ir/demangle.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::ir {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Demangle, NamesInTheSource) {
  EXPECT_THAT(demangled({}), IsEmpty());
  EXPECT_THAT(demangled({"_Z5scalePfi", "_ZN3lib4copyIdEEvPT_S2_", "plain", "_Z", ""}),
              ElementsAre(Pair("", ""), Pair("_Z", "_Z"), Pair("_Z5scalePfi", "scale(float*, int)"),
                          Pair("_ZN3lib4copyIdEEvPT_S2_", "void lib::copy<double>(double*, double*)"),
                          Pair("plain", "plain")));
}

// Each parameter is a pair of the one before, so the name in the source doubles with each.
std::string doubling(size_t times) {
  std::string name = "_Z1fSt4pairIiiE";
  std::string last = "S0_"; // pair<int, int>; S_ is std::pair
  for (size_t i = 1; i <= times; ++i) {
    name += "S_I" + last + last + "E";
    last = "S" + std::string(1, i < 10 ? static_cast<char>('0' + i) : static_cast<char>('A' + i - 10)) + "_";
  }
  return name;
}

TEST(Demangle, ANameThatStandsForTooMuch) {
  EXPECT_EQ(demangled({doubling(1)}).at(doubling(1)),
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int>>)");
  EXPECT_EQ(demangled({doubling(12)}).at(doubling(12)), doubling(12)); // more than 100 KB
  const std::string endless = doubling(30);
  const std::map<std::string, std::string> names = demangled({endless, "_Z5scalePfi"});
  EXPECT_EQ(names.at(endless), endless);
  EXPECT_EQ(names.at("_Z5scalePfi"), "_Z5scalePfi"); // the worker did not get there, or its answer was lost
}

TEST(Demangle, AnyBytes) {
  std::string deep =
      "_Z1f" + std::string(2000000, 'P') + "i"; // a stack that is too deep ends the worker only
  EXPECT_EQ(demangled({deep}).at(deep), deep);
  const std::string bytes("_Z3\xff\0a\n", 7);
  EXPECT_EQ(demangled({bytes}).at(bytes), bytes);
}

} // namespace

} // namespace xaas::ir
