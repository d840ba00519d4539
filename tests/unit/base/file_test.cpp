// Digests, files, directories, temporary directories, space on disk.
#include <xaas/base/digest.h>
#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/pipe.h>
#include <xaas/base/space.h>
#include <xaas/base/text.h>

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <future>
#include <poll.h>
#include <regex>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(Directory, EntriesComeByNameAndErrorsAsValues) {
  auto directory = *TemporaryDirectory::create();
  for (const char* name : {"b", "a", "c"})
    ASSERT_TRUE(write_file(directory.path() / name, ""));
  const fs::path& path = directory.path();
  EXPECT_EQ(*list_directory(path), (std::vector<fs::path>{path / "a", path / "b", path / "c"}));
  EXPECT_TRUE(list_directory(path / "missing", IfMissing::empty)->empty());
  EXPECT_EQ(list_directory(path / "missing").error().kind, ErrorKind::not_found);
  // One that cannot be read is not an empty one.
  for (const auto if_missing : {IfMissing::fail, IfMissing::empty}) {
    const auto file = list_directory(path / "a", if_missing);
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find((path / "a").string()), std::string::npos);
  }
}

// Such a loop throws where reading goes on to fail, and where the directory cannot be opened it has no
// rounds.
TEST(Directory, NoLoopRangesOverAnIterator) {
  const std::regex loop(R"(for \([^;{}]*:\s*(fs|std::filesystem)::(recursive_)?directory_iterator)");
  const fs::path root = fs::path(XAAS_SPECS).parent_path();
  for (const char* part : {"src", "include"})
    for (fs::recursive_directory_iterator it(root / part), end; it != end; ++it)
      if (it->path().extension() == ".cpp" || it->path().extension() == ".h")
        EXPECT_FALSE(std::regex_search(*read_file(it->path()), loop)) << it->path();
}

// A rename over `/dev/null` would put a file where all programs expect the device.
TEST(File, AnOutputThatIsNoFileIsWrittenToAndStays) {
  auto directory = *TemporaryDirectory::create();
  const fs::path pipe = directory.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_output(pipe, "text"));
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  ASSERT_TRUE(write_output(directory.path() / "file", "text"));
  EXPECT_EQ(*read_file(directory.path() / "file"), "text");
  const auto full = write_output("/dev/full", "text");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::storage);
}

TEST(File, ErrorsNameTheFileAndHaveTheRightKind) {
  const auto missing = read_file("/nonexistent/x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().message.find("/nonexistent/x"), std::string::npos);
  EXPECT_EQ(read_file("/proc/version", 3).error().kind, ErrorKind::integrity);
  EXPECT_EQ(read_plain_file("/proc/version", 3).error().kind, ErrorKind::integrity);
}

TEST(File, WhatIsNoFileIsNotWaitedFor) {
  const auto directory = *TemporaryDirectory::create();
  const fs::path pipe = directory.path() / "pipe", link = directory.path() / "link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, link);
  for (const fs::path& path : {pipe, link, fs::path("/dev/zero")}) {
    const auto read = read_file(path);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::integrity);
    EXPECT_EQ(read.error().message, path.string() + ": not a regular file");
    EXPECT_EQ(digest_of_file(path).error().kind, ErrorKind::integrity);
    EXPECT_EQ(read_plain_file(path, 10).error().kind, ErrorKind::integrity);
  }
  EXPECT_EQ(*read_file("/dev/null"), "");
  // Who writes `--system <(command)` means a pipe.
  Pipe given = *Pipe::open("testing");
  ASSERT_EQ(write(given.write_end(), "text", 4), 4);
  given.close_write();
  EXPECT_EQ(*read_file("/dev/fd/" + std::to_string(given.read_end())), "text");
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

// A child that makes a temporary directory in `parent`, writes a file there, and is killed.
fs::path left_by_a_killed_process(const fs::path& parent) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto directory = *TemporaryDirectory::create(parent);
    const std::string name = directory.path().string();
    if (!write_file(directory.path() / "file", "x", 0644, false) ||
        write(ends[1], name.data(), name.size()) < 0)
      _exit(1);
    kill(getpid(), SIGKILL);
  }
  close(ends[1]);
  char name[4096];
  const ssize_t size = read(ends[0], name, sizeof(name));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(name, size > 0 ? static_cast<size_t>(size) : 0);
}

TEST(File, WhatKilledProcessesLeftIsRemoved) {
  const auto parent = *TemporaryDirectory::create();
  const auto used = *TemporaryDirectory::create(parent.path());
  const fs::path left = left_by_a_killed_process(parent.path());
  ASSERT_TRUE(fs::exists(left / "file"));
  const std::string name = left.filename().string();
  // Neither what has another name, nor another machine's, nor a link, nor a file.
  const std::string other_machine = "xaas-" + std::string(8, name[5] == '0' ? '1' : '0') + name.substr(13);
  for (const std::string& kept : {std::string("other"), std::string("xaas-build"), other_machine})
    ASSERT_TRUE(make_directories(parent.path() / kept));
  const std::string link = name.substr(0, name.size() - 6) + "link00",
                    file = name.substr(0, name.size() - 6) + "file00";
  fs::create_directory_symlink(parent.path() / "other", parent.path() / link);
  ASSERT_TRUE(write_file(parent.path() / file, "", 0644, false));
  EXPECT_TRUE(remove_abandoned(parent.path(), "other-").empty());
  EXPECT_EQ(remove_abandoned(parent.path()), std::vector<fs::path>{left});
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used.path()));
  for (const std::string& kept : {std::string("other"), std::string("xaas-build"), other_machine, link, file})
    EXPECT_TRUE(fs::exists(parent.path() / kept)) << kept;
}

TEST(File, TemporaryDirectoriesWithNamesOfTheirOwn) {
  const auto parent = *TemporaryDirectory::create();
  const fs::path path = parent.path() / "xaas-own";
  const auto make = [&] { return TemporaryDirectory::create_named(parent.path(), "xaas-", "own"); };
  {
    const auto first = make();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->path(), path);
    const auto second = make(); // while it is in use
    ASSERT_TRUE(second);
    EXPECT_NE(second->path(), path);
    EXPECT_TRUE(remove_abandoned(parent.path()).empty());
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(make()->path(), path);

  // What a killed process left: its lock is gone, its mark is there.
  const auto leave = [&](const std::string& mark) {
    fs::create_directories(path / "c0");
    if (!mark.empty())
      EXPECT_TRUE(write_file(path / ".xaas-machine", mark));
  };
  std::string mark;
  {
    const auto used = make();
    mark = *read_file(path / ".xaas-machine");
  }
  leave(mark);
  EXPECT_EQ(make()->path(), path);
  EXPECT_FALSE(fs::exists(path / "c0"));
  leave(mark);
  EXPECT_EQ(remove_abandoned(parent.path()), std::vector<fs::path>{path});
  // Nobody's, or another machine's: it stays.
  for (const char* other : {"", "01234567"}) {
    leave(other);
    EXPECT_NE(make()->path(), path);
    EXPECT_TRUE(remove_abandoned(parent.path()).empty());
    EXPECT_TRUE(fs::exists(path / "c0"));
    remove_tree(path);
  }
}

TEST(File, AnotherUsersTemporaryDirectoryStays) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root to make one";
  const auto parent = *TemporaryDirectory::create();
  const fs::path left = left_by_a_killed_process(parent.path());
  ASSERT_EQ(chown(left.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(remove_abandoned(parent.path()).empty());
  EXPECT_TRUE(fs::exists(left / "file"));
}

TEST(File, RelativeUnder) {
  EXPECT_EQ(relative_under("/a/b/../c", "/a"), "c");
  EXPECT_EQ(relative_under("/ab/c", "/a"), "");
  EXPECT_EQ(relative_under("/", "/a"), "");
}

TEST(Space, NeedsOnOneFileSystemAddUp) {
  const auto look = [](const fs::path& path) -> Result<FileSystem> {
    if (path == "/gone")
      return make_error(ErrorKind::not_found, "gone");
    return path == "/out" ? FileSystem{2, 500} : FileSystem{1, 3000};
  };
  EXPECT_TRUE(check_space({{"a", "/tmp", 1000}, {"b", "/cache", 2000}, {"c", "/out", 500}}, look));
  EXPECT_TRUE(check_space({{"a", "/gone", UINT64_MAX}, {"b", "/tmp", 0}}, look));
  const Result<void> both =
      check_space({{"temporary files", "/tmp", 2048}, {"objects", "/cache", 1024}}, look);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().kind, ErrorKind::storage);
  EXPECT_EQ(both.error().message, "/tmp: not enough space: about 3.0 KiB needed (temporary files 2.0 KiB, "
                                  "objects 1.0 KiB), 2.9 KiB free");
  const Result<void> out = check_space({{"a", "/tmp", 1}, {"the image", "/out", 501}}, look);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message.find("/out: not enough space: about 501 B needed"), 0u)
      << out.error().message;
}

TEST(Space, IsThatOfTheNearestDirectoryThatIsThere) {
  const auto directory = *TemporaryDirectory::create();
  const Result<FileSystem> here = file_system_of(directory.path());
  const Result<FileSystem> below = file_system_of(directory.path() / "not" / "there");
  ASSERT_TRUE(here);
  ASSERT_TRUE(below);
  EXPECT_EQ(here->id, below->id);
  EXPECT_GT(below->free, 0u);
  EXPECT_TRUE(file_system_of("not/there/either"));
}

} // namespace
} // namespace xaas
