#include <xaas/harvest/harvest.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::harvest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LeakingSources, AreTheNamesInTheSessionsNotes) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  session::Session session;
  session.directory = directory->path();
  EXPECT_FALSE(leaking_sources(session)) << "a session without the directory";
  const fs::path leaks = directory->path() / "leaks";
  ASSERT_TRUE(make_directories(leaks));
  EXPECT_THAT(*leaking_sources(session), IsEmpty());
  ASSERT_TRUE(write_file(leaks / "1", "src/b.c\n"));
  ASSERT_TRUE(write_file(leaks / "2", "build/with blank.c"));
  ASSERT_TRUE(write_file(leaks / "3", "src/b.c")); // the same source, compiled in another way
  ASSERT_TRUE(write_file(leaks / "4", ""));
  EXPECT_THAT(*leaking_sources(session), ElementsAre("build/with blank.c", "src/b.c"));
}

} // namespace
} // namespace xaas::harvest
