#include <xaas/base/directory.h>
#include <xaas/harvest/harvest.h>
#include <xaas/harvest/identify.h>

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

TEST(Identify, FilesOfTheMachineAreReadOnce) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  session::Session session;
  session.directory = directory->path() / "session";
  session.store = directory->path() / "store";
  session.roots = {directory->path() / "build"};
  ASSERT_TRUE(session::write_session(session));
  const fs::path notes = session.directory / "machine-files";
  const auto old = fs::canonical("/bin/sh");
  const auto first = identify(session, old, "sh");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->kind, link::FileRef::Kind::kit);
  EXPECT_EQ(first->digest, digest_of(*read_file(old)));
  const auto noted = list_directory(notes);
  ASSERT_TRUE(noted);
  ASSERT_EQ(noted->size(), 1u);
  ASSERT_TRUE(write_file(noted->front(), digest_of("another").to_string()));
  EXPECT_EQ(identify(session, old, "sh")->digest, digest_of("another")) << "it was read again";
  ASSERT_TRUE(write_file(noted->front(), "no digest"));
  EXPECT_EQ(*identify(session, old, "sh"), *first);

  // It may change without a difference in its times.
  const fs::path young = directory->path() / "young.o";
  for (const char* content : {"one", "two"}) {
    ASSERT_TRUE(write_file(young, content));
    EXPECT_EQ(identify(session, young, "young.o")->digest, digest_of(content));
  }
  EXPECT_EQ(list_directory(notes)->size(), 1u);
}

} // namespace
} // namespace xaas::harvest
