#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/stopwatch.h>
#include <xaas/base/text.h>

#include <gtest/gtest.h>

namespace xaas {
namespace {

TEST(Digest, OfKnownText) {
  EXPECT_EQ(digest_of("abc").to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, ParseRejectsWhatIsNotCanonical) {
  const std::string good = digest_of("abc").to_string();
  EXPECT_EQ(*Digest::parse(good), digest_of("abc"));
  for (std::string bad : {std::string("sha256:"), good.substr(1), good + "0", "sha512:" + good.substr(7),
                          "sha256:" + std::string(64, 'G'), "sha256:" + std::string(64, 'A')})
    EXPECT_EQ(Digest::parse(bad).error().kind, ErrorKind::integrity) << bad;
}

TEST(File, WriteReplacesAtomicallyAndLeavesNothingBehind) {
  auto directory = *TemporaryDirectory::create();
  const fs::path file = directory.path() / "a";
  ASSERT_TRUE(write_file(file, "one"));
  ASSERT_TRUE(write_file(file, "two", 0755));
  EXPECT_EQ(*read_file(file), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(File, ErrorsNameTheFileAndHaveTheRightKind) {
  const auto missing = read_file("/nonexistent/x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().message.find("/nonexistent/x"), std::string::npos);
  EXPECT_EQ(read_file("/proc/version", 3).error().kind, ErrorKind::integrity);
}

TEST(File, TemporaryDirectoryRemovesReadOnlyTrees) {
  fs::path path;
  {
    auto directory = *TemporaryDirectory::create();
    path = directory.path();
    ASSERT_TRUE(make_directories(path / "a/b"));
    ASSERT_TRUE(write_file(path / "a/b/c", "x"));
    fs::permissions(path / "a", fs::perms::owner_read | fs::perms::owner_exec);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(File, RelativeUnder) {
  EXPECT_EQ(relative_under("/a/b/../c", "/a"), "c");
  EXPECT_EQ(relative_under("/ab/c", "/a"), "");
  EXPECT_EQ(relative_under("/", "/a"), "");
}

TEST(Process, CapturesOutputAndExitCode) {
  const auto result = run({.arguments = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "out\nerr\n");
}

TEST(Process, MissingProgramIsNamed) {
  const auto result = run({.arguments = {"no-such-program-here"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::missing_tool);
  EXPECT_NE(result.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Process, StandardInputIsEmpty) {
  EXPECT_EQ(run({.arguments = {"cat"}})->output, "");
}

TEST(Json, ErrorsHaveLineAndPointer) {
  const auto bad = parse_json("{\n \"a\": ,}", "spec.json");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("spec.json"), std::string::npos);
  EXPECT_NE(bad.error().message.find("line 2"), std::string::npos);

  const Json json = *parse_json("{\"a\": [1, \"x\"]}", "t");
  const auto wrong = JsonReader(json, "bundle").at("a")->strings();
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("bundle/a/0"), std::string::npos);
}

TEST(Text, Nearest) {
  EXPECT_EQ(nearest("dploy", {"build", "deploy", "detect"}), "deploy");
  EXPECT_EQ(nearest("zzzzzz", {"build", "deploy"}), "");
}

TEST(Stopwatch, CountsTheCpuTimeOfChildrenAndNotThatOfWaiting) {
  const Stopwatch waiting;
  ASSERT_TRUE(run({.arguments = {"sleep", "0.2"}}));
  const Seconds waited = waiting.seconds();
  EXPECT_GE(waited.wall, 0.2);
  EXPECT_LT(waited.cpu, 0.15);
  const Stopwatch working;
  ASSERT_TRUE(run({.arguments = {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"}}));
  EXPECT_GT(working.seconds().cpu, 0.01);
}

} // namespace
} // namespace xaas
