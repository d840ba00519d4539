#include "oci/testing.h"

#include <xaas/base/process.h>

#include <clocale>

namespace xaas::oci {
namespace {

using testing::raw_tar;
using testing::RawMember;

Result<std::vector<LayerEntry>> entries_of(const std::string& blob, const std::string& type,
                                           const Digest* diff_id = nullptr, uint64_t limit = 1 << 26) {
  std::vector<LayerEntry> entries;
  XAAS_CHECK(read_layer(
      blob_of(blob), type, diff_id,
      [&](LayerEntry entry) -> Result<void> {
        entries.push_back(std::move(entry));
        return {};
      },
      limit));
  return entries;
}

ErrorKind refusal(const std::vector<RawMember>& members) {
  const auto entries = entries_of(raw_tar(members), media_type::layer_tar);
  EXPECT_FALSE(entries) << members.back().name;
  return entries ? ErrorKind::failed : entries.error().kind;
}

class LayerTest : public ::testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(Compressions, LayerTest, ::testing::Values(Compression::gzip, Compression::zstd),
                         [](const auto& info) { return info.param == Compression::gzip ? "gzip" : "zstd"; });

TEST_P(LayerTest, HardLinksLeadToFilesBeforeThem) {
  LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("b", "text"));
  ASSERT_TRUE(builder.add_symlink("a", "b"));
  EXPECT_TRUE(builder.add_hard_link("c", "b"));
  for (const auto& [path, to] : {std::pair("aa", "b"), {"d", "a"}, {"d", "none"}, {"b", "b"}}) {
    const auto added = builder.add_hard_link(path, to);
    EXPECT_FALSE(added) << path << " -> " << to;
  }
}

TEST_P(LayerTest, RoundTrip) {
  LayerBuilder builder(1234567890);
  EXPECT_TRUE(builder.empty());
  const std::string large(3'000'000, 'x');
  const std::string long_name =
      std::string(90, 'a') + "/" + std::string(120, 'b') + "/" + std::string(200, 'c');
  ASSERT_TRUE(builder.add_file("usr/bin/tool", large, 0755));
  ASSERT_TRUE(builder.add_file(long_name, "long"));
  ASSERT_TRUE(builder.add_file("e\xcc\x81", "combining accent"));
  ASSERT_TRUE(builder.add_file("bad\xff", "not UTF-8"));
  ASSERT_TRUE(builder.add_symlink("usr/lib64", "lib"));
  ASSERT_TRUE(builder.add_hard_link("usr/other name", long_name));
  ASSERT_TRUE(builder.add_symlink("usr/far", "/" + std::string(150, 'd')));
  ASSERT_TRUE(builder.add_directory("tmp", 01777));
  ASSERT_TRUE(builder.add_file("usr/empty", ""));
  const auto layer = builder.finish(GetParam(), "a tool", {{"k", "v"}});
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->created_by, "a tool");
  EXPECT_EQ(layer->descriptor.annotations.at("k"), "v");
  const std::string blob = testing::bytes_of(*layer);
  EXPECT_EQ(blob.size(), layer->descriptor.size);
  EXPECT_EQ(digest_of(blob), layer->descriptor.digest);

  const auto entries = entries_of(blob, layer->descriptor.media_type, &layer->diff_id);
  ASSERT_TRUE(entries) << entries.error().message;
  std::map<std::string, LayerEntry> by_path;
  std::string last;
  for (const LayerEntry& entry : *entries) {
    EXPECT_LT(last, entry.path);
    last = entry.path;
    by_path[entry.path] = entry;
  }
  EXPECT_EQ(by_path.at("usr/bin/tool").content, large);
  EXPECT_EQ(by_path.at("usr/bin/tool").mode, 0755U);
  EXPECT_EQ(by_path.at("usr/bin").kind, LayerEntry::Kind::directory);
  EXPECT_EQ(by_path.at("usr/other name").kind, LayerEntry::Kind::hard_link);
  EXPECT_EQ(by_path.at("usr/other name").link, long_name);
  EXPECT_EQ(by_path.at("usr").mode, 0755U);
  EXPECT_EQ(by_path.at(long_name).content, "long");
  EXPECT_EQ(by_path.at("e\xcc\x81").content, "combining accent");
  EXPECT_EQ(by_path.at("bad\xff").content, "not UTF-8");
  EXPECT_EQ(by_path.at("usr/lib64").link, "lib");
  EXPECT_EQ(by_path.at("usr/far").link, "/" + std::string(150, 'd'));
  EXPECT_EQ(by_path.at("tmp").mode, 01777U);
  EXPECT_EQ(by_path.size(), 13U);
}

TEST_P(LayerTest, DirectoriesBelowKeepModeAndOwner) {
  LayerBuilder builder(
      7, {{"usr/local", {02775, 0, 50}}, {"home/u", {0700, 3'000'000, 2'999'999}}, {"var", {0700, 1, 2}}});
  ASSERT_TRUE(builder.add_file("usr/local/bin/tool", "x"));
  ASSERT_TRUE(builder.add_directory("home/u", 0755));
  const auto layer = builder.finish(GetParam(), "x");
  ASSERT_TRUE(layer);
  const auto entries = entries_of(testing::bytes_of(*layer), layer->descriptor.media_type, &layer->diff_id);
  ASSERT_TRUE(entries) << entries.error().message;
  std::map<std::string, Directory> directories;
  for (const LayerEntry& entry : *entries)
    if (entry.kind == LayerEntry::Kind::directory)
      directories[entry.path] = {entry.mode, entry.user, entry.group};
  const std::map<std::string, Directory> expected = {{"home", {}},
                                                     {"home/u", {0700, 3'000'000, 2'999'999}},
                                                     {"usr", {}},
                                                     {"usr/local", {02775, 0, 50}},
                                                     {"usr/local/bin", {}}};
  EXPECT_EQ(directories, expected);
}

TEST_P(LayerTest, OfATarFileAsItIs) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  // More than one piece, of what compresses badly, so that the compressor gives something before the end.
  std::string content;
  uint64_t state = 1;
  while (content.size() < 5'000'000)
    content += static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  const std::string tar = raw_tar(
      {{.name = "bin/tool", .content = content, .mode = 0755, .time = 1234567890}, {"lib", '2', "", "bin"}});
  ASSERT_TRUE(write_file(directory.path() / "a.tar", tar));
  const fs::path compressed = directory.path() / "compressed";
  const auto layer = layer_of_tar(directory.path() / "a.tar", compressed, GetParam(), "a toolchain");
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->created_by, "a toolchain");
  EXPECT_EQ(layer->diff_id, digest_of(tar));
  const std::string stored = *read_file(compressed);
  EXPECT_EQ(layer->descriptor.digest, digest_of(stored));
  EXPECT_EQ(layer->descriptor.size, stored.size());
  EXPECT_EQ(testing::bytes_of(*layer), stored);
  EXPECT_EQ(layer->descriptor.media_type,
            GetParam() == Compression::gzip ? media_type::layer_gzip : media_type::layer_zstd);
  const auto entries = entries_of(stored, layer->descriptor.media_type, &layer->diff_id);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].content, content);
  EXPECT_EQ((*entries)[0].time, 1234567890);
  EXPECT_EQ((*entries)[1].link, "bin");
  // It is a function of the archive.
  const auto again = layer_of_tar(directory.path() / "a.tar", directory.path() / "again", GetParam(), "x");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->descriptor.digest, layer->descriptor.digest);
}

TEST_P(LayerTest, OfATarFileGivesWhatTheBuilderGives) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  LayerBuilder builder(1234567890);
  ASSERT_TRUE(builder.add_file("usr/bin/tool", std::string(3'000'000, 'x'), 0755));
  ASSERT_TRUE(builder.add_symlink("bin", "usr/bin"));
  const auto built = builder.finish(GetParam(), "x");
  ASSERT_TRUE(built);
  // The plain archive, decompressed by what everybody has.
  ASSERT_TRUE(write_file(directory.path() / "compressed", testing::bytes_of(*built)));
  Command command;
  command.arguments = {GetParam() == Compression::gzip ? "gzip" : "zstd", "-dc",
                       (directory.path() / "compressed").string()};
  if (!find_program(command.arguments[0]))
    GTEST_SKIP() << command.arguments[0] << " is not installed";
  command.output = directory.path() / "plain.tar";
  const auto result = run_process(command);
  ASSERT_TRUE(result && result->exit_code == 0);
  const auto layer =
      layer_of_tar(directory.path() / "plain.tar", directory.path() / "again", GetParam(), "x");
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->diff_id, built->diff_id);
  EXPECT_EQ(layer->descriptor.digest, built->descriptor.digest);
}

TEST(Layer, OfATarFileThatIsNotThere) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const auto layer =
      layer_of_tar(directory.path() / "none", directory.path() / "out", Compression::gzip, "x");
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().kind, ErrorKind::not_found);
  EXPECT_FALSE(fs::exists(directory.path() / "out"));
}

TEST_P(LayerTest, DigestDependsOnTheEntriesAlone) {
  LayerBuilder one, two, other;
  ASSERT_TRUE(one.add_file("a/b", "1"));
  ASSERT_TRUE(one.add_directory("a", 0700));
  ASSERT_TRUE(one.add_symlink("c", "a"));
  ASSERT_TRUE(two.add_symlink("c", "a"));
  ASSERT_TRUE(two.add_directory("a", 0700));
  ASSERT_TRUE(two.add_file("a/b", "1"));
  ASSERT_TRUE(other.add_file("a/b", "1"));
  const auto first = one.finish(GetParam(), "x"), second = two.finish(GetParam(), "y");
  EXPECT_EQ(first->descriptor.digest, second->descriptor.digest);
  EXPECT_EQ(first->diff_id, second->diff_id);
  EXPECT_NE(first->diff_id, other.finish(GetParam(), "x")->diff_id);
}

TEST_P(LayerTest, KnownBytesAreNotCompressedAgain) {
  class Known : public CompressedLayers {
  public:
    std::optional<std::string> find(Compression compression, const Digest& diff_id) const override {
      const auto found = layers.find({compression, diff_id.hex()});
      return found == layers.end() ? std::nullopt : std::optional(found->second);
    }
    void keep(Compression compression, const Digest& diff_id, std::string_view compressed) const override {
      layers[{compression, diff_id.hex()}] = compressed;
    }
    mutable std::map<std::pair<Compression, std::string>, std::string> layers;
  } known;
  LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("a", "1"));
  const auto plain = builder.finish(GetParam(), "x");
  const auto first = builder.finish(GetParam(), "x", {}, &known);
  ASSERT_TRUE(plain && first);
  EXPECT_EQ(first->descriptor.digest, plain->descriptor.digest);
  ASSERT_EQ(known.layers.size(), 1U);
  EXPECT_EQ(known.layers.begin()->second, testing::bytes_of(*plain));
  // It takes them as they are.
  known.layers.begin()->second = "other bytes";
  const auto second = builder.finish(GetParam(), "x", {}, &known);
  ASSERT_TRUE(second);
  EXPECT_EQ(testing::bytes_of(*second), "other bytes");
  EXPECT_EQ(second->descriptor.digest, digest_of("other bytes"));
  EXPECT_EQ(second->diff_id, plain->diff_id);
}

TEST_P(LayerTest, DamageIsAnIntegrityError) {
  LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("a", std::string(100'000, 'a')));
  const auto layer = builder.finish(GetParam(), "x");
  const std::string& type = layer->descriptor.media_type;
  const std::string blob = testing::bytes_of(*layer);
  ASSERT_TRUE(entries_of(blob, type));
  for (const size_t size : {size_t(0), size_t(5), blob.size() / 2, blob.size() - 1})
    EXPECT_EQ(entries_of(blob.substr(0, size), type).error().kind, ErrorKind::integrity) << size;
  EXPECT_EQ(entries_of(blob + "trailing", type).error().kind, ErrorKind::integrity);
  const Digest wrong = digest_of("something else");
  EXPECT_EQ(entries_of(blob, type, &wrong).error().kind, ErrorKind::integrity);
  EXPECT_EQ(entries_of(blob, type, &layer->diff_id, 50'000).error().kind, ErrorKind::integrity);
  EXPECT_EQ(entries_of(blob, "application/x-unknown").error().kind, ErrorKind::unsatisfied);
}

TEST(Layer, GzipHeaderHasNoTimeNameOrSystem) {
  const std::string blob = testing::bytes_of(testing::layer_of("a", "b"));
  EXPECT_EQ(blob.substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_EQ(static_cast<unsigned char>(blob[9]), 255U);
}

TEST(Layer, SeveralGzipMembersAreOneLayer) {
  LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("a", "b"));
  const auto layer = builder.finish(Compression::gzip, "");
  // The end of an archive may be followed by zeros; put them into a member of their own.
  const std::string empty_member = testing::bytes_of(*LayerBuilder().finish(Compression::gzip, ""));
  const auto entries = entries_of(testing::bytes_of(*layer) + empty_member, media_type::layer_gzip);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 1U);
}

TEST(Layer, BuilderRefusesWhatWouldNotUnpack) {
  LayerBuilder builder;
  for (const std::string path :
       {"", "/a", "a/", "a//b", "./a", "a/../b", "..", ".", "a/.wh.b", ".wh..wh..opq"})
    EXPECT_EQ(builder.add_file(path, "").error().kind, ErrorKind::usage) << path;
  EXPECT_EQ(builder.add_file(std::string("a\0b", 3), "").error().kind, ErrorKind::usage);
  EXPECT_EQ(builder.add_symlink("l", "").error().kind, ErrorKind::usage);
  EXPECT_TRUE(builder.empty());
}

TEST(Layer, BuilderRefusesConflictsInEitherOrder) {
  LayerBuilder builder;
  ASSERT_TRUE(builder.add_file("a/b", ""));
  EXPECT_EQ(builder.add_file("a/b", "").error().kind, ErrorKind::failed);
  EXPECT_EQ(builder.add_directory("a/b").error().kind, ErrorKind::failed);
  EXPECT_EQ(builder.add_file("a/b/c", "").error().kind, ErrorKind::failed);
  EXPECT_EQ(builder.add_symlink("a", "x").error().kind, ErrorKind::failed);
  EXPECT_TRUE(builder.add_file("a-b", ""));
  EXPECT_TRUE(builder.add_directory("a"));
  EXPECT_TRUE(builder.add_directory("a"));
}

TEST(Layer, LeadingDotSlashIsStripped) {
  const auto entries =
      entries_of(raw_tar({{"./", '5'}, {"./a/", '5'}, {"./a/b", '0', "x"}, {"./a/c", '1', "", "./a/b"}}),
                 media_type::layer_tar);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].path, "a");
  EXPECT_EQ((*entries)[1].content, "x");
  EXPECT_EQ((*entries)[2].kind, LayerEntry::Kind::hard_link);
  EXPECT_EQ((*entries)[2].link, "a/b");
}

TEST(Layer, PathsAndLinksThatLeaveTheRootAreRefused) {
  const std::vector<RawMember> hostile = {
      {"../x"},
      {"a/../../x"},
      {"a/.."},
      {"/etc/passwd"},
      {"l", '2', "", "../x"},
      {"a/l", '2', "", "b/../../../x"},
      {"h", '1', "", "../x"},
      {"h", '1', "", "/etc/passwd"},
      {".wh..xaas"},
      {".xaas/.wh.bundle.json"},
      {".xaas/.wh..wh..opq"},
      {".wh..wh..opq"},
      {"a/.wh."},
      {"a/.wh..."},
      {"a/.wh.b/c"},
  };
  for (const RawMember& member : hostile)
    EXPECT_EQ(refusal({member}), ErrorKind::integrity) << member.name;
  EXPECT_TRUE(
      entries_of(raw_tar({{"a/l", '2', "", "../b/c"}, {"m", '2', "", "/usr"}}), media_type::layer_tar));
  EXPECT_TRUE(entries_of(raw_tar({{"/", '5'}}), media_type::layer_tar));
}

TEST(Layer, ALyingSizeIsRefused) {
  EXPECT_EQ(refusal({{.name = "a", .content = "x", .size = "77777777777"}}), ErrorKind::integrity);
  EXPECT_EQ(entries_of("no tar at all, no tar at all", media_type::layer_tar).error().kind,
            ErrorKind::integrity);
}

// A GNU sparse file of 1 GiB and one byte, with this data of this length (octal) at its end.
std::string sparse_file(const std::string& data, const char* length) {
  std::string tar = raw_tar({{.name = "hole", .type = 'S', .content = data}});
  const auto put = [&](size_t offset, const char* text) {
    std::memcpy(&tar[offset], text, std::strlen(text));
  };
  std::memcpy(&tar[257], "ustar  ", 8);
  put(386, "10000000000");
  put(398, length);
  put(483, "10000000001");
  std::memset(&tar[148], ' ', 8);
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i)
    sum += static_cast<unsigned char>(tar[i]);
  std::snprintf(&tar[148], 8, "%06o", sum);
  return tar;
}

TEST(Layer, ASparseFileCountsInFull) {
  const auto hole = entries_of(sparse_file("", "00000000000"), media_type::layer_tar);
  ASSERT_FALSE(hole);
  EXPECT_EQ(hole.error().kind, ErrorKind::integrity);
  const auto entries = entries_of(sparse_file("x", "00000000001"), media_type::layer_tar, nullptr, 1 << 20);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().kind, ErrorKind::integrity);
  EXPECT_NE(entries.error().message.find("limit"), std::string::npos) << entries.error().message;
}

TEST(Layer, TheLocaleDoesNotChangeNames) {
  const std::string before = setlocale(LC_ALL, nullptr);
  if (!setlocale(LC_ALL, "C.UTF-8"))
    GTEST_SKIP() << "no locale C.UTF-8";
  LayerBuilder builder;
  const std::string name = std::string(120, 'e') + "\xcc\x81"; // long enough for a pax header, which is UTF-8
  ASSERT_TRUE(builder.add_file(name, ""));
  const auto layer = builder.finish(Compression::gzip, "");
  const auto entries = entries_of(testing::bytes_of(*layer), media_type::layer_gzip);
  setlocale(LC_ALL, before.c_str());
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->front().path, name);
}

TEST(Layer, TheCallbacksErrorEndsTheReading) {
  unsigned calls = 0;
  const auto result =
      read_layer(blob_of(raw_tar({{"a"}, {"b"}})), media_type::layer_tar, nullptr, [&](LayerEntry) {
        ++calls;
        return Result<void>(make_error(ErrorKind::missing_tool, "mine"));
      });
  EXPECT_EQ(result.error().kind, ErrorKind::missing_tool);
  EXPECT_EQ(calls, 1U);
}

} // namespace
} // namespace xaas::oci
