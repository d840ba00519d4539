#include "oci/testing.h"

#include <sys/stat.h>

namespace xaas::oci {
namespace {

using testing::names_below;
using testing::raw_layer;

class UnpackTest : public ::testing::Test {
protected:
  Result<void> unpack_into_root(const Layers& layers) { return unpack(layers, root()); }
  fs::path root() const { return directory_.path() / "root"; }
  fs::path outside() const { return directory_.path() / "outside"; }
  std::string text(const std::string& path) const {
    auto content = read_file(root() / path);
    return content ? *content : "<" + content.error().message + ">";
  }
  void expect_refused(const Layers& layers, const std::string& what) {
    const auto result = unpack_into_root(layers);
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, ErrorKind::integrity) << what << ": " << result.error().message;
    EXPECT_EQ(names_below(directory_.path()), (std::vector<std::string>{"outside", "outside/secret"}))
        << what;
    EXPECT_EQ(*read_file(outside() / "secret"), "secret") << what;
  }
  void SetUp() override {
    fs::create_directory(outside());
    ASSERT_TRUE(write_file(outside() / "secret", "secret"));
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(UnpackTest, FilesLinksAndModes) {
  ASSERT_TRUE(unpack_into_root({raw_layer({{"closed/", '5', "", "", 0555},
                                           {"closed/tool", '0', "tool", "", 06755},
                                           {"closed/again", '1', "", "closed/tool"},
                                           {"link", '2', "", "closed/tool"},
                                           {"implied/file", '0', "x", "", 0600}})}));
  EXPECT_EQ(text("closed/again"), "tool");
  EXPECT_EQ(text("link"), "tool");
  struct stat status{};
  ASSERT_EQ(stat((root() / "closed/tool").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
  EXPECT_EQ(status.st_nlink, 2U);
  ASSERT_EQ(stat((root() / "closed").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0555U);
  ASSERT_EQ(stat((root() / "implied").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
  ASSERT_EQ(stat(root().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
}

// make goes by them.
TEST_F(UnpackTest, TimesOfFilesAreKept) {
  ASSERT_TRUE(
      unpack_into_root({raw_layer({{.name = "old", .content = "1", .time = 1'000'000'000},
                                   {.name = "new", .content = "2", .mode = 0444, .time = 2'000'000'000}}),
                        raw_layer({{.name = "old", .content = "3", .time = 1'500'000'000}})}));
  struct stat status{};
  ASSERT_EQ(stat((root() / "old").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtime, 1'500'000'000);
  ASSERT_EQ(stat((root() / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtime, 2'000'000'000);
  EXPECT_EQ(status.st_mode & 07777, 0444U);
}

// Images of distributions have some there; whoever runs the image gives it a /dev of its own.
TEST_F(UnpackTest, SpecialFilesBelowDevAreLeftOut) {
  ASSERT_TRUE(unpack_into_root({raw_layer({{"dev/", '5'},
                                           {"dev/null", '3'},
                                           {"dev/sda", '4'},
                                           {"dev/initctl", '6'},
                                           {"dev/pts/", '5'},
                                           {"dev/pts/0", '3'},
                                           {"./dev/zero", '3'},
                                           {"dev/fd", '2', "", "/proc/self/fd"},
                                           {"dev/file", '0', "x"}})}));
  EXPECT_EQ(names_below(root()), (std::vector<std::string>{"dev", "dev/fd", "dev/file", "dev/pts"}));
}

TEST_F(UnpackTest, SpecialFilesElsewhereAreRefused) {
  for (const std::string name : {"dev", "device/null", "usr/dev/null", "devnull", "x/../dev2"})
    expect_refused({raw_layer({{name, '3'}})}, name);
  expect_refused({raw_layer({{"dev/../null", '3'}})}, "by a way round");
}

TEST_F(UnpackTest, AnEmptyDirectoryIsFilledAndOthersAreRefused) {
  fs::create_directory(root());
  EXPECT_TRUE(unpack({raw_layer({{"a", '0', "1"}})}, root().string() + "/"));
  EXPECT_EQ(text("a"), "1");
  EXPECT_EQ(unpack_into_root({raw_layer({{"a", '0', "2"}})}).error().kind, ErrorKind::usage);
  EXPECT_EQ(text("a"), "1");
  EXPECT_EQ(unpack({}, outside() / "secret").error().kind, ErrorKind::usage);
}

TEST_F(UnpackTest, LaterLayersReplaceAndRemove) {
  ASSERT_TRUE(unpack_into_root({
      raw_layer({{"keep", '0', "1"},
                 {"file", '0', "1"},
                 {"gone/deep/file", '0', "1"},
                 {"opaque/old", '0', "1"},
                 {"opaque/sub/old", '0', "1"},
                 {"dir/file", '0', "1"},
                 {"odd", '0', "1"}}),
      // A whiteout removes only what lower layers have, wherever in its layer it stands.
      raw_layer({{"file", '0', "2"},
                 {".wh.gone", '0'},
                 {"opaque/new", '0', "2"},
                 {"opaque/sub/new", '0', "2"},
                 {"opaque/.wh..wh..opq", '0'},
                 {"dir", '0', "2"},
                 {".wh.missing", '0'},
                 {".wh..wh.plnk", '0'},
                 {"odd/", '5'},
                 {"odd/.wh.nothing", '0'},
                 {"odd/file", '0', "2"}}),
  }));
  EXPECT_EQ(names_below(root()), (std::vector<std::string>{"dir", "file", "keep", "odd", "odd/file", "opaque",
                                                           "opaque/new", "opaque/sub", "opaque/sub/new"}));
  EXPECT_EQ(text("file"), "2");
  EXPECT_EQ(text("dir"), "2");
  EXPECT_EQ(text("keep"), "1");
}

TEST_F(UnpackTest, ARemovedDirectoryDoesNotLeaveItsMode) {
  ASSERT_TRUE(unpack_into_root({raw_layer({{"a/b/", '5', "", "", 0700}}), raw_layer({{".wh.a", '0'}}),
                                raw_layer({{"a", '0', "file"}})}));
  EXPECT_EQ(text("a"), "file");
}

TEST_F(UnpackTest, MergedUsrIsResolvedInsideTheTree) {
  const Layer base = raw_layer({{"usr/lib/", '5'},
                                {"lib", '2', "", "usr/lib"},
                                {"abs", '2', "", "/usr/lib"},
                                {"usr/lib/a", '0', "old"},
                                {"usr/up", '2', "", "../lib"}});
  ASSERT_TRUE(unpack_into_root({base, raw_layer({{"lib/a", '0', "new"},
                                                 {"abs/b", '0', "b"},
                                                 {"usr/up/c", '0', "c"},
                                                 {"lib/new/d", '0', "d"},
                                                 {"hard", '1', "", "lib/a"}})}));
  EXPECT_EQ(text("usr/lib/a"), "new");
  EXPECT_EQ(text("usr/lib/b"), "b");
  EXPECT_EQ(text("usr/lib/c"), "c");
  EXPECT_EQ(text("usr/lib/new/d"), "d");
  EXPECT_EQ(text("hard"), "new");
  EXPECT_TRUE(fs::is_symlink(root() / "lib"));
}

TEST_F(UnpackTest, ADirectoryEntryReplacesALink) {
  ASSERT_TRUE(unpack_into_root({raw_layer({{"usr/lib/a", '0', "1"}, {"lib", '2', "", "usr/lib"}}),
                                raw_layer({{"lib/", '5'}, {"lib/b", '0', "2"}})}));
  EXPECT_FALSE(fs::is_symlink(root() / "lib"));
  EXPECT_EQ(text("lib/b"), "2");
  EXPECT_FALSE(fs::exists(root() / "usr/lib/b"));
}

TEST_F(UnpackTest, HostileLayersAreRefusedAndLeaveNothing) {
  const std::string away = outside().string();
  expect_refused({raw_layer({{"../outside/x", '0', "x"}})}, "..");
  expect_refused({raw_layer({{away + "/x", '0', "x"}})}, "absolute");
  expect_refused({raw_layer({{"good", '0', "x"}, {"null", '3'}})}, "character device");
  expect_refused({raw_layer({{"disk", '4'}})}, "block device");
  expect_refused({raw_layer({{"pipe", '6'}})}, "pipe");
  expect_refused({raw_layer({{"l", '2', "", "../outside"}, {"l/x", '0', "x"}})}, "relative symlink out");
  expect_refused({raw_layer({{"l", '2', "", away}, {"l/secret", '0', "x"}})},
                 "through a link of the same layer");
  expect_refused({raw_layer({{"l", '2', "", away}}), raw_layer({{"l/secret", '0', "x"}})}, "absolute link");
  expect_refused({raw_layer({{"d/", '5'}, {"l", '2', "", "d"}, {"l/x", '0', "x"}})}, "same layer, inside");
  expect_refused({raw_layer({{"a", '2', "", "b"}, {"b", '2', "", "a"}}), raw_layer({{"a/x", '0', "x"}})},
                 "a loop");
  expect_refused({raw_layer({{"h", '1', "", "../outside/secret"}})}, "hard link out");
  expect_refused({raw_layer({{"h", '1', "", away + "/secret"}})}, "absolute hard link");
  expect_refused({raw_layer({{"l", '2', "", away}, {"h", '1', "", "l/secret"}})}, "hard link through a link");
  expect_refused({raw_layer({{"l", '2', "", away}}), raw_layer({{"h", '1', "", "l/secret"}})},
                 "and of a lower layer");
  expect_refused({raw_layer({{"h", '1', "", "missing"}})}, "hard link to nothing");
  expect_refused({raw_layer({{"d/", '5'}, {"h", '1', "", "d"}})}, "hard link to a directory");
  expect_refused({raw_layer({{"a", '0', "x"}, {"a", '1', "", "a"}})}, "hard link to itself");
  expect_refused({raw_layer({{"a", '0', "x"}, {"a/b", '0', "x"}})}, "below a file");
  expect_refused({raw_layer({{.name = "a", .content = "x", .size = "77777777777"}})}, "a lying size");
  expect_refused({raw_layer({{"l", '2', "", away}}), raw_layer({{"l/.wh.secret"}})},
                 "whiteout through a link");
  expect_refused({raw_layer({{"l", '2', "", away}}), raw_layer({{"l/.wh..wh..opq"}})},
                 "opaque through a link");
}

// Whoever believes the config would take one tree for another.
TEST_F(UnpackTest, ALayerThatIsNotWhatTheConfigSaysIsRefused) {
  const Layer good = raw_layer({{"good", '0', "x"}}), other = raw_layer({{"other", '0', "x"}});
  Layer wrong = good;
  wrong.diff_id = other.diff_id;
  expect_refused({other, wrong}, "the digest of another layer");
  expect_refused({wrong, other}, "the first");
  const auto result = unpack_into_root({wrong});
  for (const Digest& digest : {good.descriptor.digest, good.diff_id, other.diff_id})
    EXPECT_NE(result.error().message.find(digest.to_string()), std::string::npos) << result.error().message;

  // It is the digest of the uncompressed bytes, to their end.
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    NewLayer made = testing::layer_of("file", "content", compression);
    Layer layer{*made.open(), made.descriptor, made.descriptor.digest};
    expect_refused({layer}, "of the compressed bytes");
    layer.diff_id = made.diff_id;
    EXPECT_TRUE(unpack_into_root({layer}));
    fs::remove_all(root());
  }
  std::string longer = testing::raw_tar({{"good", '0', "x"}}) + std::string(4096, 'x');
  const Digest whole = digest_of(longer);
  Layer trailing{blob_of(longer), {media_type::layer_tar, whole, longer.size(), {}}, good.diff_id};
  expect_refused({trailing}, "bytes behind the archive's end");
  trailing.diff_id = whole;
  EXPECT_TRUE(unpack_into_root({trailing}));
}

TEST_F(UnpackTest, WhiteoutsOfOurDirectoryAreRefused) {
  const Layer base =
      raw_layer({{".xaas/bundle.json", '0', "{}"}, {"s", '2', "", ".xaas"}, {"r", '2', "", "/"}});
  for (const std::string name : {".wh..xaas", ".xaas/.wh.bundle.json", ".xaas/.wh..wh..opq", ".wh..wh..opq",
                                 "s/.wh.bundle.json", "s/.wh..wh..opq", "r/.wh..xaas", "r/.wh..wh..opq"})
    expect_refused({base, raw_layer({{name}})}, name);
}

TEST_F(UnpackTest, LinksThatAreFilesAreReplacedNotFollowed) {
  ASSERT_TRUE(
      unpack_into_root({raw_layer({{"l", '2', "", (outside() / "secret").string()}, {"l", '0', "new"}})}));
  EXPECT_EQ(text("l"), "new");
  EXPECT_FALSE(fs::is_symlink(root() / "l"));
  EXPECT_EQ(*read_file(outside() / "secret"), "secret");
}

TEST_F(UnpackTest, ATreeThatIsTooDeepIsRefused) {
  std::string path = "d";
  Layers layers;
  for (int i = 0; i < 45; ++i)
    path += "/d";
  layers.push_back(raw_layer({{path.substr(0, 99), '5'}}));
  std::string above = "";
  for (int i = 0; i < 10; ++i) { // links shorten the names, so that each layer goes deeper
    const std::string link = "l" + std::to_string(i);
    const std::string below = path.substr(0, 80);
    layers.push_back(
        raw_layer({{link, '2', "", i == 0 ? below : "l" + std::to_string(i - 1) + "/" + below}}));
    layers.push_back(raw_layer({{link + "/" + below + "/", '5'}}));
  }
  expect_refused(layers, "depth");
}

} // namespace
} // namespace xaas::oci
