// Child processes, what they may take of the machine, and their time.
#include <xaas/base/file.h>
#include <xaas/base/file_descriptor.h>
#include <xaas/base/helper_process.h>
#include <xaas/base/modesty.h>
#include <xaas/base/pipe.h>
#include <xaas/base/process.h>
#include <xaas/base/stopwatch.h>
#include <xaas/base/text.h>
#include <xaas/base/worker.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <future>
#include <memory>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas {
namespace {

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
  unsetenv("FLUX_JOB_ID");
  unsetenv("FLUX_ENCLOSING_ID");
  EXPECT_FALSE(in_batch_job());
  EXPECT_LE(default_jobs(), 8u);
  EXPECT_EQ(allowed_jobs(1), 1u);
  setenv("PBS_JOBID", "1", 1);
  EXPECT_TRUE(in_batch_job());
  unsetenv("PBS_JOBID");
  setenv("FLUX_ENCLOSING_ID", "f2", 1);
  EXPECT_TRUE(in_batch_job());
  unsetenv("FLUX_ENCLOSING_ID");
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

TEST(Process, ReadsItsInput) {
  Command command = {.arguments = {"sh", "-c", "cat; echo $0 >&2", "word"}};
  command.input = "a line\n";
  command.drop_errors = true;
  const auto result = run_process(command);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "a line\n");
}

TEST(Process, MayHaveAnotherName) {
  Command command = {.arguments = {"other", "-c", "echo $0"}};
  command.program = "/bin/sh";
  const auto result = run_process(command);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "other\n");
}

TEST(Process, MayLeaveProcesses) {
  const auto directory = *TemporaryDirectory::create();
  Command command = {
      .arguments = {"sh", "-c", "setsid sh -c 'echo $$ >left; exec sleep 600' >/dev/null 2>&1 & echo done"},
      .directory = directory.path()};
  command.may_leave_processes = true;
  ASSERT_TRUE(run_process(command));
  const std::string left = eventually_in(directory.path() / "left");
  ASSERT_FALSE(left.empty());
  usleep(100'000);
  EXPECT_TRUE(lives(left));
  kill(static_cast<pid_t>(std::stol(left)), SIGKILL);
}

TEST(Process, LimitsHold) {
  const auto directory = *TemporaryDirectory::create();
  const FileDescriptor other(dup(STDIN_FILENO)); // is inherited otherwise
  Command command = {.arguments = {"sh", "-c", "ulimit -n; ulimit -t; ls /proc/self/fd | wc -l; echo x >a"},
                     .directory = directory.path()};
  command.limits = {.cpu_time = std::chrono::seconds(7),
                    .memory = uint64_t(1) << 30,
                    .file_size = 1 << 20,
                    .open_files = 32};
  const auto result = run_process(command);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0) << result->output;
  EXPECT_EQ(result->output, "32\n7\n4\n"); // the three and the one that lists them
}

TEST(HelperProcess, GivesItsTextOrSaysHowItEnded) {
  const auto end = [](const std::function<std::string()>& task) {
    auto helper = std::make_unique<HelperProcess>(task);
    while (!helper->ended())
      helper->wait(100);
    return helper;
  };
  const auto good = end([] { return std::string(100'000, 'x'); });
  EXPECT_TRUE(good->succeeded());
  EXPECT_EQ(good->text(), std::string(100'000, 'x'));
  const auto crashed = end([]() -> std::string {
    raise(SIGKILL);
    return {};
  });
  EXPECT_FALSE(crashed->succeeded());
  EXPECT_EQ(crashed->trouble(), "was ended by signal Killed");
  const auto left = end([]() -> std::string { _exit(0); });
  EXPECT_FALSE(left->succeeded());
  EXPECT_EQ(left->trouble(), "ended without an answer");
}

TEST(Worker, AnswersBesideWhatItPrints) {
  const auto answer = run_worker("testing", [] {
    std::puts("noise");
    std::fflush(stdout);
    return Result<std::string>("answer");
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "answer");
}

TEST(Worker, UsesItsFilesAndNoOthers) {
  const auto directory = *TemporaryDirectory::create();
  ASSERT_TRUE(write_file(directory.path() / "in", "content"));
  const auto answer = run_worker(
      [] {
        Result<std::string> text = read_file("in");
        if (const Result<void> written = write_file("out", "made", 0644, false); !written)
          return Result<std::string>(written.error());
        return text;
      },
      {.writable = {directory.path()}, .max_file = 1 << 20});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "content");
  EXPECT_EQ(*read_file(directory.path() / "out"), "made");
  const auto missing =
      run_worker([] { return Result<std::string>(""); }, {.writable = {directory.path() / "no"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::failed);
}

TEST(Worker, ItsNameIsInMessages) {
  const auto dead = run_worker(
      []() -> Result<std::string> {
        raise(SIGSEGV);
        return std::string();
      },
      {.name = "the linker"});
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().message.find("the linker was ended by signal Segmentation fault"), 0u)
      << dead.error().message;
}

} // namespace
} // namespace xaas
