// Lines for people.
#include "cli/testing.h"
#include "terminal.h"

#include <gmock/gmock.h>

namespace xaas::cli {
namespace {

using ::testing::HasSubstr;

TEST(NativeLines, TheirCountsAddUpToTheNumberOfObjects) {
  const std::vector<NativeLine> natives = {{"a.o", "assembly"},  {"a.o", "assembly"}, {"b.o", "assembly"},
                                           {"c.o", "sanitizer"}, {"d.o", "plugin"},   {"e.o", "plugin"}};
  EXPECT_EQ(native_lines(natives, false), "3 native objects of 2 names, a.o, b.o: assembly\n"
                                          "native object c.o: sanitizer\n"
                                          "2 native objects d.o, e.o: plugin\n");
}

TEST(Run, AProgramAndTheOptionForItExcludeEachOther) {
  const Ended ended = run_xaas({"run", "--entrypoint", "a", "oci:nothing", "b", "--", "--steps"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("PROGRAM (b) and --entrypoint a exclude each other"));
}

TEST(Run, WordsAfterTheSeparatorAreNoOptions) {
  EXPECT_EQ(run_xaas({"run", "oci:nothing", "--steps"}).code, 2);
  EXPECT_EQ(run_xaas({"run", "oci:nothing", "--", "--steps", "--"}).code, 4); // there is no such image
  EXPECT_EQ(run_xaas({"run", "oci:nothing", "program", "--", "--help"}).code, 4);
}

} // namespace
} // namespace xaas::cli
