#include "oci/testing.h"

#include <xaas/oci/archive.h>

#include <gmock/gmock.h>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <ctime>

namespace xaas::oci {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::names_below;
using testing::raw_tar;
using testing::RawMember;

constexpr uint64_t plenty = 1 << 26;

la_ssize_t append(archive*, void* text, const void* data, size_t size) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

// An archive as libarchive writes it, with nothing checked.
template <typename Format, typename Filter>
std::string archive_of(const std::vector<RawMember>& members, Format format, Filter filter) {
  std::string bytes;
  archive* const writer = archive_write_new();
  EXPECT_EQ(format(writer), ARCHIVE_OK);
  EXPECT_EQ(filter(writer), ARCHIVE_OK) << archive_error_string(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  EXPECT_EQ(archive_write_open(writer, &bytes, nullptr, append, nullptr), ARCHIVE_OK);
  for (const RawMember& member : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type == '5'   ? AE_IFDIR
                                      : member.type == '2' ? AE_IFLNK
                                                           : AE_IFREG);
    archive_entry_set_perm(entry, member.mode ? member.mode : member.type == '5' ? 0755 : 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    if (member.type == '2')
      archive_entry_set_symlink(entry, member.link.c_str());
    EXPECT_GE(archive_write_header(writer, entry), ARCHIVE_WARN) << archive_error_string(writer);
    archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  return bytes;
}

std::string zip_of(const std::vector<RawMember>& members) {
  return archive_of(members, archive_write_set_format_zip, archive_write_add_filter_none);
}

std::string gzip_of(const std::vector<RawMember>& members) {
  return archive_of(members, archive_write_set_format_pax, archive_write_add_filter_gzip);
}

class ArchiveTest : public ::testing::Test {
protected:
  Result<void> unpack(const std::string& archive, uint64_t limit = plenty) {
    fs::remove_all(root());
    return unpack_archive(blob_of(archive), root(), limit);
  }
  fs::path root() const { return directory_.path() / "root"; }
  std::string text(const std::string& path) const {
    auto content = read_file(root() / path);
    return content ? *content : "<" + content.error().message + ">";
  }
  unsigned mode(const std::string& path) const {
    struct stat status{};
    EXPECT_EQ(lstat((root() / path).c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  void expect_refused(const std::string& archive, const std::string& what, uint64_t limit = plenty) {
    const auto result = unpack(archive, limit);
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, ErrorKind::integrity) << what << ": " << result.error().message;
    EXPECT_THAT(names_below(directory_.path()), ElementsAre("secret")) << what;
    EXPECT_EQ(*read_file(directory_.path() / "secret"), "secret") << what;
  }
  void SetUp() override { ASSERT_TRUE(write_file(directory_.path() / "secret", "secret")); }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

const std::vector<RawMember> release = {{"fmt-1/", '5', "", "", 0555},
                                        {"fmt-1/src/a.c", '0', "int a;"},
                                        {"fmt-1/configure", '0', "#!/bin/sh", "", 06555},
                                        {"fmt-1/again", '2', "", "src/a.c"},
                                        {"fmt-1/sn\xc3\xb6w", '0', "snow"}};

TEST_F(ArchiveTest, TarInEveryCompression) {
  for (const auto filter :
       {archive_write_add_filter_none, archive_write_add_filter_gzip, archive_write_add_filter_bzip2,
        archive_write_add_filter_xz, archive_write_add_filter_lzma, archive_write_add_filter_lzip,
        archive_write_add_filter_lz4, archive_write_add_filter_zstd, archive_write_add_filter_compress}) {
    const auto done = unpack(archive_of(release, archive_write_set_format_pax, filter));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(names_below(root()), ElementsAre("again", "configure", "sn\xc3\xb6w", "src", "src/a.c"));
    EXPECT_EQ(text("again"), "int a;");
    EXPECT_TRUE(fs::is_symlink(root() / "again"));
    EXPECT_EQ(mode("configure"), 0755U);
    EXPECT_EQ(mode(""), 0755U);
  }
}

TEST_F(ArchiveTest, Zip) {
  const auto done = unpack(zip_of(release));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(names_below(root()), ElementsAre("again", "configure", "sn\xc3\xb6w", "src", "src/a.c"));
  EXPECT_EQ(text("again"), "int a;");
  EXPECT_TRUE(fs::is_symlink(root() / "again"));
  EXPECT_EQ(mode("configure"), 0755U);
}

TEST_F(ArchiveTest, HardLinks) {
  ASSERT_TRUE(unpack(raw_tar({{"x/a", '0', "one"}, {"x/b", '1', "", "x/a"}})));
  EXPECT_EQ(text("b"), "one");
}

// What a layer would remove with them, an archive has.
TEST_F(ArchiveTest, WhiteoutsAreOrdinaryNames) {
  ASSERT_TRUE(unpack(raw_tar({{"a", '0', "1"}, {".wh.a", '0', "2"}, {".wh..wh..opq", '0', "3"}})));
  EXPECT_THAT(names_below(root()), ElementsAre(".wh..wh..opq", ".wh.a", "a"));
}

TEST_F(ArchiveTest, OnlyOneDirectoryIsLeftOut) {
  ASSERT_TRUE(unpack(raw_tar({{"./", '5'}, {"./x/y/a", '0', "1"}})));
  EXPECT_THAT(names_below(root()), ElementsAre("y", "y/a"));
  ASSERT_TRUE(unpack(raw_tar({{"x/a", '0', "1"}, {"y/a", '0', "2"}})));
  EXPECT_THAT(names_below(root()), ElementsAre("x", "x/a", "y", "y/a"));
  ASSERT_TRUE(unpack(raw_tar({{"x/a", '0', "1"}, {"README", '0', "2"}})));
  EXPECT_THAT(names_below(root()), ElementsAre("README", "x", "x/a"));
  ASSERT_TRUE(unpack(raw_tar({{"a", '0', "1"}})));
  EXPECT_THAT(names_below(root()), ElementsAre("a"));
  ASSERT_TRUE(unpack(raw_tar({{"x", '2', "", "y"}})));
  EXPECT_THAT(names_below(root()), ElementsAre("x"));
}

TEST_F(ArchiveTest, HostileArchivesAreRefusedAndLeaveNothing) {
  const std::string away = directory_.path().string();
  const std::vector<std::pair<const char*, std::vector<RawMember>>> hostile = {
      {"..", {{"good", '0', "x"}, {"../x", '0', "x"}}},
      {".. within", {{"a/../../x", '0', "x"}}},
      {"absolute", {{away + "/x", '0', "x"}}},
      {"a link out", {{"l", '2', "", "../secret"}}},
      {"a link out of the directory that is left out",
       {{"top/a", '0', "x"}, {"top/l", '2', "", "../secret"}}},
      {"a link that is absolute", {{"l", '2', "", away + "/secret"}}},
      {"through a link", {{"d/a", '0', "x"}, {"l", '2', "", "d"}, {"l/x", '0', "x"}}},
      {"through a link out", {{"l", '2', "", away}, {"l/secret", '0', "x"}}},
      {"below a file", {{"a", '0', "x"}, {"a/b", '0', "x"}}}};
  for (const auto& [what, members] : hostile) {
    expect_refused(raw_tar(members), what);
    expect_refused(gzip_of(members), what);
    expect_refused(zip_of(members), what);
  }
  expect_refused(raw_tar({{"null", '3'}}), "a character device");
  expect_refused(raw_tar({{"dev/null", '3'}}), "and below dev");
  expect_refused(raw_tar({{"pipe", '6'}}), "a pipe");
  expect_refused(raw_tar({{"h", '1', "", away + "/secret"}}), "an absolute hard link");
  expect_refused(raw_tar({{"h", '1', "", "../secret"}}), "a hard link out");
  expect_refused(raw_tar({{.name = "a", .content = "x", .size = "77777777777"}}), "a lying size");
}

TEST_F(ArchiveTest, WhatIsTooLargeIsRefused) {
  const std::vector<RawMember> members = {{"a", '0', std::string(600'000, 'x')},
                                          {"b", '0', std::string(600'000, 'y')}};
  for (const std::string& archive : {raw_tar(members), gzip_of(members), zip_of(members)}) {
    EXPECT_TRUE(unpack(archive, 1'300'000));
    fs::remove_all(root());
    expect_refused(archive, "together", 1'000'000);
    expect_refused(archive, "one", 500'000);
  }
  // Skipped data counts, too, such as the content of a device.
  RawMember device{"dev/x", '3', std::string(600'000, 'x')};
  expect_refused(raw_tar({device}), "content of a device", 500'000);
}

TEST_F(ArchiveTest, WhatIsNoArchiveOrDamagedIsRefused) {
  expect_refused("", "nothing");
  expect_refused(std::string(10'240, '\0'), "an empty tar");
  expect_refused("<html>not found</html>", "something else");
  expect_refused(zip_of({}), "an empty zip");
  for (const std::string& good : {gzip_of(release), zip_of(release)}) {
    expect_refused(good.substr(0, good.size() / 2), "half");
    expect_refused(good.substr(0, good.size() - 9), "cut");
  }
}

} // namespace
} // namespace xaas::oci
