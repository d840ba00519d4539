// Trees: the description of the image in them, squashfs files, and errors that name an image once.
#include "oci/testing.h"

#include <xaas/base/process.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/tree.h>

#include <gmock/gmock.h>

namespace xaas::oci {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::raw_layer;

class TreeTest : public ::testing::Test {
protected:
  TreeTest() {
    config_.entrypoint = {"/usr/local/bin/solver", "--fast"};
    config_.cmd = {"input"};
    config_.env = {"PATH=/usr/local/bin", "DATA=/data"};
    config_.working_directory = "/data";
  }
  Reference reference(const std::string& transport, const std::string& name) const {
    return *parse_reference(transport + ":" + (directory_.path() / name).string());
  }
  std::string description() const { return describe_tree(digest_of("manifest"), config_, annotations_); }
  TreeImage image() const { return {digest_of("manifest"), config_, annotations_}; }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  ImageConfig config_;
  const std::map<std::string, std::string> annotations_ = {{"dev.xaas.cpu", "znver4"}};
};

TEST_F(TreeTest, TheDescriptionKeepsWhatRunningNeeds) {
  const auto image = open_described(reference("rootfs", "x"), description(), "image.json");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ((*image)->digest(), digest_of("manifest"));
  EXPECT_EQ((*image)->config().entrypoint, config_.entrypoint);
  EXPECT_EQ((*image)->config().cmd, config_.cmd);
  EXPECT_EQ((*image)->config().env, config_.env);
  EXPECT_EQ((*image)->config().working_directory, "/data");
  EXPECT_EQ((*image)->config().architecture, "amd64");
  EXPECT_EQ((*image)->manifest().annotations.at("dev.xaas.cpu"), "znver4");
  EXPECT_FALSE((*image)->blob({}));
}

TEST_F(TreeTest, ADamagedDescriptionIsRefused) {
  const std::string good = description();
  for (size_t size = 0; size + 2 < good.size(); size += 7) {
    const auto image = open_described(reference("rootfs", "x"), good.substr(0, size), "image.json");
    ASSERT_FALSE(image) << size;
    EXPECT_EQ(image.error().kind, ErrorKind::integrity);
  }
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"[\"input\"]", "\"input\""},
                                 {"sha256:", "md5:"},
                                 {"\"amd64\"", "7"},
                                 {"\"znver4\"", "[]"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    const auto image = open_described(reference("rootfs", "x"), bad, "image.json");
    ASSERT_FALSE(image) << to;
    EXPECT_EQ(image.error().kind, ErrorKind::integrity) << image.error().message;
    EXPECT_THAT(image.error().message, HasSubstr("image.json"));
  }
  std::string newer = good;
  newer.replace(newer.find(":1"), 2, ":2");
  EXPECT_EQ(open_described(reference("rootfs", "x"), newer, "image.json").error().kind,
            ErrorKind::unsatisfied);
}

TEST_F(TreeTest, ATreeHasItsDescriptionWhateverItsLayersHave) {
  const Reference tree = reference("rootfs", "tree");
  ASSERT_TRUE(write_tree(tree, {raw_layer({{"bin/tool", '0', "tool"}, {".xaas/image.json", '0', "other"}})},
                         0, image()));
  EXPECT_EQ(*read_file(tree.path / tree_image_file), description());
  EXPECT_TRUE(fs::is_directory(tree.path / "proc"));
  const Reference redirected = reference("rootfs", "redirected"); // the link is one of the tree
  ASSERT_TRUE(
      write_tree(redirected, {raw_layer({{".xaas", '2', "", "/outside"}, {"outside/", '5'}})}, 0, image()));
  EXPECT_EQ(*read_file(redirected.path / "outside/image.json"), description());
}

// What `sh /etc/rc ARGUMENT...` prints in a directory `root`, in which the tree's programs are.
TEST_F(TreeTest, EnrootStartsTheEntryPoint) {
  const fs::path root = directory_.path() / "root it's";
  ASSERT_TRUE(make_directories(root / "data"));
  ASSERT_TRUE(write_file(root / "solver", "#!/bin/sh\npwd; printf '[%s]' \"$@\"\n", 0755));
  config_.entrypoint = {(root / "solver").string(), "--fast and $(loose)"};
  config_.cmd = {"in'put", ""};
  config_.working_directory = root / "data";
  ASSERT_TRUE(write_file(root / "rc", start_script(config_)));
  const auto seen = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"sh", (root / "rc").string()});
    const Result<ProcessResult> result = run_process({.arguments = arguments});
    return result ? result->output : result.error().message;
  };
  const std::string start = (root / "data").string() + "\n[--fast and $(loose)]";
  EXPECT_EQ(seen({}), start + "[in'put][]");
  EXPECT_EQ(seen({"a b"}), start + "[a b]");
  config_.working_directory = root / "nowhere";
  ASSERT_TRUE(write_file(root / "rc", start_script(config_)));
  EXPECT_THAT(seen({}), HasSubstr("nowhere"));
  config_ = {};
  EXPECT_THAT(start_script(config_),
              AllOf(HasSubstr("cd '/' ||"), HasSubstr("  exec \"$@\"\n"), HasSubstr("  exec /bin/sh\n")));
}

TEST_F(TreeTest, FilesOfEnrootThatTheImageHasStay) {
  const Reference tree = reference("rootfs", "tree");
  ASSERT_TRUE(write_tree(tree, {raw_layer({{"etc/rc", '0', "own"}})}, 0, image()));
  EXPECT_EQ(*read_file(tree.path / "etc/rc"), "own");
  config_.env.emplace_back("LINES=two\nlines");
  EXPECT_EQ(*read_file(tree.path / "etc/environment"), "PATH=/usr/local/bin\nDATA=/data\n");
  EXPECT_EQ(environment_file(config_), "PATH=/usr/local/bin\nDATA=/data\n");
  const Reference dangling = reference("rootfs", "dangling");
  ASSERT_TRUE(write_tree(dangling, {raw_layer({{"etc", '2', "", "/proc/nothing"}})}, 0, image()));
  const Reference linked = reference("rootfs", "linked");
  ASSERT_TRUE(write_tree(linked, {raw_layer({{"etc/", '5'}, {"etc/rc", '2', "", "/outside"}})}, 0, image()));
  EXPECT_TRUE(fs::is_symlink(linked.path / "etc/rc"));
}

TEST_F(TreeTest, SquashfsIsUnpackedAgain) {
  if (!find_program("mksquashfs") || !find_program("unsquashfs"))
    GTEST_SKIP() << "NOT TESTED: squashfs-tools is not installed";
  const Reference file = reference("squashfs", "image.sqfs");
  ASSERT_TRUE(write_tree(file, {raw_layer({{"bin/tool", '0', "tool", "", 0755}})}, 0, image()));
  EXPECT_TRUE(check_squashfs(file.path));
  const fs::path tree = directory_.path() / "tree";
  const Result<void> unpacked = unpack_squashfs(file.path, tree);
  ASSERT_TRUE(unpacked) << unpacked.error().message << unpacked.error().output;
  EXPECT_EQ(*read_file(tree / "bin/tool"), "tool");
  EXPECT_EQ(*read_file(tree / tree_image_file), description());
  // A damaged file leaves nothing. Half of it would be whole, because the end of the file is padding.
  std::string content = *read_file(file.path);
  ASSERT_TRUE(write_file(file.path, content.substr(0, 120)));
  EXPECT_FALSE(unpack_squashfs(file.path, directory_.path() / "damaged"));
  EXPECT_FALSE(fs::exists(directory_.path() / "damaged"));
}

TEST_F(TreeTest, OtherFilesAreNoSquashfs) {
  EXPECT_EQ(check_squashfs(directory_.path() / "none").error().kind, ErrorKind::not_found);
  ASSERT_TRUE(write_file(directory_.path() / "text", "hs"));
  EXPECT_EQ(check_squashfs(directory_.path() / "text").error().kind, ErrorKind::usage);
  EXPECT_FALSE(check_squashfs(directory_.path()));
}

TEST(Operation, TheImageIsNamedOnce) {
  const auto message = [](const std::string& text) {
    return in_operation(make_error(ErrorKind::usage, text), "running", "oci:a:b").message;
  };
  EXPECT_EQ(message("no program"), "running oci:a:b: no program");
  EXPECT_EQ(message("oci:a:b: no program"), "running oci:a:b: no program");
  EXPECT_EQ(message("running oci:a:b: oci:a:b: no program"), "running oci:a:b: no program");
  EXPECT_EQ(message("oci:a:b2: no program"), "running oci:a:b: oci:a:b2: no program");
  const Result<int> fine = in_operation(Result<int>(3), "running", "oci:a:b");
  EXPECT_EQ(*fine, 3);
}

} // namespace
} // namespace xaas::oci
