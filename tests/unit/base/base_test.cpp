#include <xaas/base/digest.h>
#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/modesty.h>
#include <xaas/base/pipe.h>
#include <xaas/base/plain_stream.h>
#include <xaas/base/process.h>
#include <xaas/base/space.h>
#include <xaas/base/stopwatch.h>
#include <xaas/base/text.h>
#include <xaas/base/utf8.h>

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <future>
#include <poll.h>
#include <regex>
#include <sstream>
#include <sys/resource.h>
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

TEST(Process, CapturesOutputAndExitCode) {
  const auto result = run_process({.arguments = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "out\nerr\n");
}

TEST(Process, OneThatSaysMoreThanItMayIsEnded) {
  const auto most = run_process({.arguments = {"printf", "12345"}, .most_output = 5});
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->output, "12345");
  const auto more = run_process({.arguments = {"yes"}, .most_output = 100'000});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, ErrorKind::failed);
  EXPECT_EQ(more.error().message, "yes: prints more than 100000 bytes");
}

TEST(Process, MissingProgramIsNamed) {
  const auto result = run_process({.arguments = {"no-such-program-here"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::missing_tool);
  EXPECT_NE(result.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Process, StandardInputIsEmpty) {
  EXPECT_EQ(run_process({.arguments = {"cat"}})->output, "");
}

TEST(Process, ADirectoryIsNoProgram) {
  EXPECT_FALSE(find_program("/usr/bin"));
  EXPECT_TRUE(find_program("/bin/sh"));
}

TEST(Process, ThereIsNoTerminal) {
  EXPECT_NE(run_process({.arguments = {"sh", "-c", "read answer </dev/tty"}})->exit_code, 0);
}

TEST(Process, TooManyArgumentsAreCounted) {
  Command command{.arguments = {"true"}};
  command.arguments.resize(40'000, std::string(1000, 'x'));
  const auto result = run_process(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::failed);
  EXPECT_NE(result.error().message.find("40000 arguments"), std::string::npos) << result.error().message;
}

TEST(Process, AnErrorOfTheWatchEndsIt) {
  const auto parent = *TemporaryDirectory::create();
  int calls = 0;
  Command command{.arguments = {"sh", "-c", "sleep 600 & sleep 600"}, .directory = parent.path()};
  command.watch = [&calls]() -> Result<void> {
    if (++calls < 2)
      return {};
    return make_error(ErrorKind::storage, "enough");
  };
  const auto result = run_process(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "enough");
}

bool lives(const std::string& process) {
  // A zombie is dead; who inherits it may not have waited for it yet.
  const Result<std::string> status = read_file("/proc/" + process + "/stat");
  return status && status->find(") Z ") == std::string::npos;
}

bool ends_soon(const std::string& process) {
  for (int i = 0; i < 500 && lives(process); ++i)
    usleep(10'000);
  return !lives(process);
}

std::string eventually_in(const fs::path& file) {
  for (int i = 0; i < 500; ++i) {
    if (const Result<std::string> text = read_file(file); text && text->ends_with("\n"))
      return text->substr(0, text->size() - 1);
    usleep(10'000);
  }
  return {};
}

TEST(Process, AtOnceAsksNobody) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path said = directory.path() / "said";
  pid_t above = 0;
  int watched = 0;
  Command command = {
      .arguments = {"sh", "-c",
                    "trap 'echo asked >>" + said.string() + "' TERM; while :; do sleep 0.1; done"}};
  command.watch_period = std::chrono::milliseconds(50);
  command.started = [&](pid_t number) { above = number; };
  command.watch = [&]() -> Result<void> {
    EXPECT_EQ(kill(above, 0), 0);
    return ++watched < 6 ? Result<void>() : make_error(ErrorKind::failed, "enough");
  };
  for (const bool at_once : {false, true}) {
    watched = 0;
    command.at_once = at_once;
    const auto start = std::chrono::steady_clock::now();
    const Result<ProcessResult> result = run_process(command);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "enough");
    if (at_once)
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(950));
    EXPECT_EQ(fs::exists(said), !at_once);
    fs::remove(said);
    EXPECT_NE(kill(above, 0), 0);
  }
}

TEST(Process, AFunctionMayBecomeTheProgram) {
  Command command = {.arguments = {"no-such-program-here", "x"}};
  command.become = [](int) { execlp("echo", "echo", "became", nullptr); };
  const Result<ProcessResult> became = run_process(command);
  ASSERT_TRUE(became);
  EXPECT_EQ(became->output, "became\n");
  command.become = [](int status) {
    const int number = ENOENT;
    [[maybe_unused]] const ssize_t count = write(status, &number, sizeof(number));
  };
  const Result<ProcessResult> failed = run_process(command);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::missing_tool);
  EXPECT_NE(failed.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Process, WhatACommandLeavesRunningEndsWithIt) {
  const auto directory = *TemporaryDirectory::create();
  // In a session of its own, so that no signal to a group reaches it.
  const auto result =
      run_process({.arguments = {"sh", "-c", "setsid sh -c 'echo $$ >left; exec sleep 600' & echo done"},
                   .directory = directory.path()});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "done\n");
  const std::string left = eventually_in(directory.path() / "left");
  ASSERT_FALSE(left.empty());
  EXPECT_TRUE(ends_soon(left));
}

TEST(Process, WhatStillWritesTheOutputIsWaitedFor) {
  const auto result = run_process({.arguments = {"bash", "-c", "exec > >(sleep 0.2; cat); echo last"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "last\n");
}

TEST(Process, NothingOutlivesAKilledParent) {
  const auto directory = *TemporaryDirectory::create();
  const pid_t parent = fork();
  if (parent == 0) {
    static_cast<void>(
        run_process({.arguments = {"sh", "-c",
                                   "echo $$ >first; setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >second; "
                                   "while :; do sleep 1; done' & sh -c 'echo $$ >third; exec sleep 600'"},
                     .directory = directory.path()}));
    _exit(0);
  }
  std::vector<std::string> processes;
  for (const char* name : {"first", "second", "third"})
    processes.push_back(eventually_in(directory.path() / name));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (const std::string& process : processes) {
    ASSERT_FALSE(process.empty());
    EXPECT_TRUE(ends_soon(process)) << process;
  }
}

// Commands of several threads: each has a supervisor, which is forked while others have pipes open.
class ParallelCommands : public ::testing::Test {
protected:
  ParallelCommands() { EXPECT_EQ(mkfifo((directory_.path() / "go").c_str(), 0600), 0); }
  // It ends when go_on() says so, and not before.
  Command long_one(const std::string& name) const {
    return {.arguments = {"sh", "-c", "echo $$ >" + name + "; read line <go; echo done"},
            .directory = directory_.path()};
  }
  void go_on() const {
    const int go = open((directory_.path() / "go").c_str(), O_RDWR | O_CLOEXEC); // never waits
    EXPECT_EQ(write(go, "1\n2\n3\n4\n5\n6\n7\n8\n", 16), 16);
    go_.push_back(FileDescriptor(go)); // what is written stays as long as it is open
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  mutable std::vector<FileDescriptor> go_;
};

TEST_F(ParallelCommands, ASupervisorKeepsNoPipe) {
  Pipe pipe = *Pipe::open("testing");
  auto running = std::async(std::launch::async, [this] { return run_process(long_one("up")); });
  ASSERT_FALSE(eventually_in(directory_.path() / "up").empty());
  pipe.close_write();
  pollfd waiting{pipe.read_end(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 20'000), 1); // its end
  go_on();
  EXPECT_EQ(running.get()->output, "done\n");
}

TEST_F(ParallelCommands, ShortOnesDoNotWaitForALongOne) {
  std::vector<std::future<Result<ProcessResult>>> long_ones;
  std::vector<std::future<size_t>> short_ones;
  for (int i = 0; i < 8; ++i)
    if (i % 4 == 1)
      long_ones.push_back(std::async(std::launch::async, [this] { return run_process(long_one("up")); }));
    else
      short_ones.push_back(std::async(std::launch::async, [] {
        size_t bytes = 0;
        for (int round = 0; round < 10; ++round) // more than a pipe holds
          bytes += run_process({.arguments = {"head", "-c", "300000", "/dev/zero"}})->output.size();
        return bytes;
      }));
  for (std::future<size_t>& each : short_ones)
    EXPECT_EQ(each.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  go_on();
  for (std::future<size_t>& each : short_ones)
    EXPECT_EQ(each.get(), 3'000'000u);
  for (auto& each : long_ones)
    EXPECT_EQ(each.get()->output, "done\n");
}

TEST_F(ParallelCommands, AnInterruptEndsAllOfThem) {
  const pid_t child = fork(); // a request to stop cannot be taken back
  if (child == 0) {
    install_interrupt_handler();
    std::vector<std::future<Result<ProcessResult>>> all;
    bool up = true;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
      all.push_back(std::async(std::launch::async, [this, name] { return run_process(long_one(name)); }));
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
      up = up && !eventually_in(directory_.path() / name).empty();
    raise(SIGINT);
    for (auto& each : all)
      if (const auto result = each.get(); result || result.error().kind != ErrorKind::interrupted)
        _exit(1);
    _exit(up ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (const char* name : {"a", "h"})
    EXPECT_TRUE(ends_soon(trim(*read_file(directory_.path() / name)))) << name;
}

TEST(Process, AFailedStartKeepsNothingOpen) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  EXPECT_FALSE(run_process({.arguments = {"true"}, .output = "/nonexistent/log"}));
  EXPECT_FALSE(run_process({.arguments = {"true"}, .directory = "/nonexistent"}));
  EXPECT_EQ(open_files(), before);
}

TEST(Process, JobsStayWithinWhatThereIsAndAreFewOnALoginNode) {
  const uint64_t much = uint64_t(1) << 40;
  EXPECT_EQ(jobs_within({96, much, false, 8}), 8u);
  EXPECT_EQ(jobs_within({96, much, false, 2}), 2u);
  EXPECT_EQ(jobs_within({96, much, true, 8}), 96u);
  EXPECT_EQ(jobs_within({4, much, false, 8}), 4u);
  EXPECT_EQ(jobs_within({96, uint64_t(3) << 30, true, 8}), 3u); // 1 GiB each
  EXPECT_EQ(jobs_within({0, 0, false, 8}), 1u);
  unsetenv("SLURM_JOB_ID");
  unsetenv("PBS_JOBID");
  unsetenv("LSB_JOBID");
  EXPECT_FALSE(in_batch_job());
  EXPECT_LE(default_jobs(), 8u);
  EXPECT_EQ(allowed_jobs(1), 1u);
  setenv("PBS_JOBID", "1", 1);
  EXPECT_TRUE(in_batch_job());
  unsetenv("PBS_JOBID");
}

TEST(Process, NicenessOnlyGrows) {
  const pid_t child = fork(); // it cannot be taken back
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int before = getpriority(PRIO_PROCESS, 0);
    be_nice(before + 3);
    const bool grown = getpriority(PRIO_PROCESS, 0) == std::min(19, before + 3);
    be_nice(0);
    _exit(grown && getpriority(PRIO_PROCESS, 0) == std::min(19, before + 3) ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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

// The last of two would win here, the first elsewhere.
TEST(Json, AKeyThatIsThereTwiceIsRefused) {
  for (const auto& [text, where] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a": 1, "a": 1})", "doc: has the key \"a\" twice"},
           {R"({"a": [{}, [1], {"b": {"c": 1, "d": [], "c": 2}}]})", "doc/a/2/b: has the key \"c\" twice"},
           {R"([{"x": 1}, {"x": {"x": 1}, "x": null}])", "doc/1: has the key \"x\" twice"},
           {R"({"a": 1, "\u0061": 2})", "doc: has the key \"a\" twice"}}) {
    const auto parsed = parse_json(text, "doc", false, ErrorKind::integrity);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::integrity);
    EXPECT_EQ(parsed.error().message, where);
  }
  EXPECT_TRUE(parse_json(R"({"a": {"a": [{"a": 1}, {"a": 1}]}, /* "a": */ "b": {"a": 1}})", "doc", true));
}

TEST(Text, WhatATerminalWouldObeyIsQuoted) {
  for (const auto& [text, plain] : std::vector<std::pair<std::string, std::string>>{
           {"a\tb\n", "a\tb\n"},
           {"\x1b[31m\r\b\x7f", R"(\u001b[31m\u000d\u0008\u007f)"},
           {std::string("\0", 1), R"(\u0000)"},
           {"\u009b31m\u0080\u00a0", "\\u009b31m\\u0080\u00a0"}, // the last is a blank, no control
           {"\u202eabc\u2066\u200f\u061c\u2028", R"(\u202eabc\u2066\u200f\u061c\u2028)"},
           {"Größe 測定 \U0001f600", "Größe 測定 \U0001f600"},
           {"\x9b\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", R"(\x9b\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80)"},
           {"\xe2\x80", R"(\xe2\x80)"}}) {
    EXPECT_EQ(printable(text), plain);
    EXPECT_EQ(printable(plain), plain);
    // In pieces, as a stream gets it.
    std::stringbuf sink;
    PlainStream stream(sink);
    for (const char c : text)
      EXPECT_EQ(stream.sputc(c), static_cast<unsigned char>(c));
    stream.pubsync();
    EXPECT_EQ(sink.str(), plain);
  }
}

TEST(Utf8, JsonNamesWhatItIsNot) {
  EXPECT_EQ(*json_text({{"a", "b\xC3\xA9"}}, "x"), "{\"a\":\"b\xC3\xA9\"}");
  for (const auto& [json, where] : {std::pair(Json{{"files", {"a", "na\xFFme"}}}, "(/files/1)"),
                                    std::pair(Json{{"files", {{"na\xFFme", 1}}}}, "(/files/na\\xFFme)")}) {
    const auto text = json_text(json, "a record");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().kind, ErrorKind::failed);
    EXPECT_EQ(text.error().message, "a record: `na\\xFFme` " + std::string(where) + " is not UTF-8");
  }
  EXPECT_EQ(as_utf8("a\xFF"), "a%FF");
  EXPECT_EQ(as_utf8("a\xC3\xA9"), "a\xC3\xA9");
}

TEST(Text, Nearest) {
  EXPECT_EQ(nearest("dploy", {"build", "deploy", "detect"}), "deploy");
  EXPECT_EQ(nearest("zzzzzz", {"build", "deploy"}), "");
}

TEST(Stopwatch, CountsTheCpuTimeOfChildrenAndNotThatOfWaiting) {
  const Stopwatch waiting;
  ASSERT_TRUE(run_process({.arguments = {"sleep", "0.2"}}));
  const Seconds waited = waiting.seconds();
  EXPECT_GE(waited.wall, 0.2);
  EXPECT_LT(waited.cpu, 0.15);
  const Stopwatch working;
  ASSERT_TRUE(
      run_process({.arguments = {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"}}));
  EXPECT_GT(working.seconds().cpu, 0.01);
}

} // namespace
} // namespace xaas
