// Each question is asked by a child that confined itself: its exit status is the answer.
#include <xaas/base/child.h>
#include <xaas/base/confine.h>
#include <xaas/base/file.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace xaas {
namespace {

// The wait status of a child that is confined, maybe prepared for it, and then asked.
int status_of(const Confinement& confinement, const std::function<bool()>& ask, bool prepared) {
  const pid_t child = fork();
  if (child == 0) {
    exit_on_no_memory();
    if ((prepared && !prepare_to_confine(confinement)) || !confine(confinement))
      _exit(2);
    _exit(ask() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

int status_of(const Confinement& confinement, const std::function<bool()>& ask) {
  const int status = status_of(confinement, ask, false);
  EXPECT_EQ(status_of(confinement, ask, true), status);
  return status;
}

bool holds(const Confinement& confinement, const std::function<bool()>& ask) {
  const int status = status_of(confinement, ask);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool opens(const fs::path& path, int flags = O_RDONLY) {
  return open(path.c_str(), flags, 0600) >= 0;
}

bool has(const std::string& protection) {
  const std::vector<std::string> missing = missing_confinement();
  return std::find(missing.begin(), missing.end(), protection) == missing.end();
}

class ConfineTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(file("allowed"), "1\n"));
    ASSERT_TRUE(write_file(file("other"), "1\n"));
    ASSERT_TRUE(make_directories(file("work")));
  }
  fs::path file(const std::string& name) const { return directory_.path() / name; }
  Confinement to_files() const { return {.readable = {file("allowed")}, .writable = {file("work")}}; }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(ConfineTest, WithoutFilesNothingCanBeOpened) {
  EXPECT_TRUE(holds({}, [] { return !opens("/etc/hostname") && !opens("/dev/null"); }));
}

TEST_F(ConfineTest, OpenFilesStayOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(holds({}, [&] { return write(ends[1], "x", 1) == 1; }));
  char answer = 0;
  EXPECT_EQ(read(ends[0], &answer, 1), 1);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ConfineTest, NamedFilesCanBeReadAndNoOthers) {
  EXPECT_TRUE(holds(to_files(), [this] { return opens(file("allowed")); }));
  if (!has("Landlock"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no Landlock";
  EXPECT_TRUE(holds(to_files(), [this] { return !opens(file("allowed"), O_WRONLY); }));
  EXPECT_TRUE(holds(to_files(), [this] { return !opens(file("other")) && !opens("/etc/hostname"); }));
  EXPECT_TRUE(holds(to_files(), [this] { return !opens(file("new"), O_WRONLY | O_CREAT); }));
  EXPECT_TRUE(holds(to_files(), [this] {
    return mkdir(file("new").c_str(), 0700) != 0 && mkdir(file("work/new").c_str(), 0700) != 0;
  }));
}

TEST_F(ConfineTest, TheWorkDirectoryIsForWriting) {
  EXPECT_TRUE(holds(to_files(), [this] {
    return opens(file("work/a"), O_RDWR | O_CREAT) &&
           rename(file("work/a").c_str(), file("work/b").c_str()) == 0 && unlink(file("work/b").c_str()) == 0;
  }));
  ASSERT_TRUE(make_directories(file("second")));
  Confinement two = to_files();
  two.writable.push_back(file("second"));
  EXPECT_TRUE(holds(two, [this] {
    return opens(file("work/a"), O_RDWR | O_CREAT) && opens(file("second/a"), O_RDWR | O_CREAT) &&
           // libraries ask for the directory that they have
           mkdir(file("second").c_str(), 0700) != 0 && errno == EEXIST;
  }));
}

TEST_F(ConfineTest, NoSocketsProcessesOrPrograms) {
  if (!has("seccomp"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no seccomp";
  for (const Confinement& confinement : {Confinement(), to_files()}) {
    EXPECT_TRUE(holds(confinement, [] { return socket(AF_INET, SOCK_STREAM, 0) < 0; }));
    EXPECT_TRUE(holds(confinement, [] { return fork() < 0; }));
    EXPECT_TRUE(holds(confinement, [] {
      char program[] = "/bin/true";
      char* const arguments[] = {program, nullptr};
      return execv(program, arguments) < 0;
    }));
    EXPECT_TRUE(holds(confinement, [parent = getpid()] {
      return kill(parent, 0) != 0 && syscall(SYS_tgkill, parent, parent, 0) != 0 && errno == ENOSYS &&
             syscall(SYS_tgkill, getpid(), getpid(), 0) == 0;
    }));
  }
}

TEST_F(ConfineTest, FurtherConfinementTakesTheFilesAway) {
  Confinement first = {.readable = {file("allowed")}, .further = true};
  EXPECT_TRUE(holds(first, [this] { return opens(file("allowed")); }));
  EXPECT_TRUE(holds(first, [this] { return confine({}) && !opens(file("allowed")); }));
  if (!has("seccomp"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no seccomp";
  EXPECT_TRUE(holds(first, [] { return socket(AF_INET, SOCK_STREAM, 0) < 0 && fork() < 0; }));
  EXPECT_TRUE(holds(first, [] { return confine({}) && socket(AF_INET, SOCK_STREAM, 0) < 0 && fork() < 0; }));
  // Nothing is given back.
  const rlimit more{16, 16};
  EXPECT_TRUE(holds(first, [&] { return confine({}) && setrlimit(RLIMIT_NOFILE, &more) != 0; }));
}

// What Landlock leaves free.
TEST_F(ConfineTest, OtherFilesKeepTheirModes) {
  if (!has("seccomp"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no seccomp";
  ASSERT_EQ(chmod(file("other").c_str(), 0600), 0);
  EXPECT_TRUE(holds(to_files(), [this] { return chmod(file("other").c_str(), 0666) != 0; }));
  EXPECT_EQ(fs::status(file("other")).permissions(), fs::perms(0600));
}

TEST_F(ConfineTest, LimitsAreFixed) {
  if (!has("seccomp"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no seccomp";
  for (const Confinement& confinement : {Confinement(), to_files()})
    EXPECT_TRUE(holds(confinement, [parent = getpid()] {
      rlimit now{};
      const rlimit second{1, 1};
      return getrlimit(RLIMIT_CPU, &now) == 0 && prlimit(parent, RLIMIT_CPU, &second, nullptr) != 0 &&
             setrlimit(RLIMIT_CPU, &now) != 0;
    }));
}

TEST_F(ConfineTest, NoMemoryBesideTheLimit) {
  if (!has("seccomp"))
    GTEST_SKIP() << "NOT TESTED: this kernel has no seccomp";
  EXPECT_TRUE(holds({}, [] {
    return mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
           mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  }));
}

TEST(Child, EndsAndTellsHow) {
  const auto end_of = [](const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(7);
    }
    return end_child(child);
  };
  EXPECT_TRUE(end_of([] {}).exited);
  EXPECT_EQ(end_of([] {}).status, 7);
  EXPECT_EQ(end_of([] { raise(SIGTERM); }).status, SIGTERM); // no sanitizer handles it
  const ChildEnd stopped = end_of([] { raise(SIGSTOP); });   // is not waited for
  EXPECT_FALSE(stopped.exited);
  EXPECT_EQ(stopped.status, SIGKILL);
}

TEST(Child, DetachedHasNothingOfTheParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int other = open("/dev/null", O_RDONLY);
  const pid_t child = fork();
  if (child == 0) {
    detach(ends[1], ends[1]);
    char none = 0;
    const bool closed = fcntl(other, F_GETFD) < 0 && fcntl(ends[0], F_GETFD) < 0;
    const bool empty = read(STDIN_FILENO, &none, 1) == 0;
    _exit(closed && empty && write(STDOUT_FILENO, "x", 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  char answer = 0;
  EXPECT_EQ(read(ends[0], &answer, 1), 1);
  const ChildEnd end = end_child(child);
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.status, 0);
  close(ends[0]);
  close(other);
}

TEST_F(ConfineTest, ThreadsWork) {
  EXPECT_TRUE(holds({}, [] {
    int answer = 0;
    std::thread([&answer] { answer = 42; }).join();
    return answer == 42;
  }));
}

TEST_F(ConfineTest, AnAbortIsStillOne) {
  const int status = status_of({}, []() -> bool { abort(); });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST_F(ConfineTest, MemoryHasALimit) {
#ifdef __has_feature
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer maps more memory than the limit";
#endif
#endif
  const auto take = [] {
    const std::string data(256 << 20, 'x');
    return data[static_cast<size_t>(getpid())] == 'x';
  };
  EXPECT_TRUE(holds({.readable = {}, .writable = {}, .max_memory = 512 << 20}, take));
  const int status = status_of({.readable = {}, .writable = {}, .max_memory = 128 << 20}, take);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), no_memory_status);
}

} // namespace
} // namespace xaas
