// The command lines of build steps, the choice of a runtime, and what counts towards limits.
#include "cage.h"
#include "enclosing.h"
#include "guard.h"

#include <xaas/enclose/enclose.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace xaas;
using namespace xaas::enclose;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

namespace {

using Arguments = std::vector<std::string>;

class Enclosing : public testing::Test {
protected:
  Enclosing() {
    enclosure.tree = "/trees/a";
    enclosure.mounts = {{"/private/tmp", "/tmp", true},
                        {"/private/shm", "/dev/shm", true},
                        {"/data/source", "/build/source", false}};
    enclosure.options = {"--an-option"};
  }
  Start line(const std::string& runtime, const fs::path& program) {
    enclosure.runtime = runtime;
    enclosure.program = program;
    return enclosed(enclosure, step).start;
  }
  // Expects these in this order anywhere in the line.
  static auto HasInARow(const Arguments& part) {
    return testing::Truly([part](const Arguments& all) {
      return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
    });
  }

  Enclosure enclosure;
  const Step step = {
      {"make", "-j4"}, "/build/work", {{"PATH", "/bin"}, {"LD_LIBRARY_PATH", "/x"}, {"COST", "$5"}}};
};

TEST_F(Enclosing, Bwrap) {
  const Start start = line("bwrap", "/usr/bin/bwrap");
  EXPECT_EQ(start.arguments[0], "/usr/bin/bwrap");
  EXPECT_EQ(start.arguments[1], "--an-option");
  for (const char* option : {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
                             "--die-with-parent", "--new-session"})
    EXPECT_THAT(start.arguments, Contains(option));
  EXPECT_THAT(start.arguments, HasInARow({"--ro-bind", "/trees/a", "/", "--proc", "/proc", "--dev", "/dev"}));
  EXPECT_THAT(start.arguments,
              HasInARow({"--bind", "/private/tmp", "/tmp", "--bind", "/private/shm", "/dev/shm", "--ro-bind",
                         "/data/source", "/build/source", "--remount-ro", "/dev"}));
  EXPECT_THAT(start.arguments, HasInARow({"--setenv", "LD_LIBRARY_PATH", "/x", "--chdir", "/build/work", "--",
                                          "make", "-j4"}));
  EXPECT_THAT(start.environment, ElementsAre(Pair("COST", "$5"), Pair("PATH", "/bin")));
}

TEST_F(Enclosing, PodmanTakesEverythingAway) {
  const Start start = line("podman", "/usr/bin/podman");
  EXPECT_THAT(Arguments(start.arguments.begin(), start.arguments.begin() + 4),
              ElementsAre("/usr/bin/podman", "run", "--rm", "--an-option"));
  for (const char* option :
       {"--network=none", "--pid=private", "--ipc=private", "--cap-drop=ALL", "--read-only",
        "--read-only-tmpfs=false", "--security-opt=no-new-privileges", "--unsetenv-all"})
    EXPECT_THAT(start.arguments, Contains(option));
  EXPECT_THAT(start.arguments,
              HasInARow({"--volume", "/private/tmp:/tmp", "--volume", "/private/shm:/dev/shm", "--volume",
                         "/data/source:/build/source:ro"}));
  EXPECT_THAT(start.arguments, HasInARow({"--env", "COST=$5"}));
  EXPECT_THAT(start.arguments,
              HasInARow({"--workdir", "/build/work", "--rootfs", "/trees/a", "make", "-j4"}));
}

TEST_F(Enclosing, ApptainerTakesEverythingAway) {
  setenv("OF_THE_HOST", "x", 1);
  const Start start = line("apptainer", "/usr/bin/apptainer");
  EXPECT_THAT(start.arguments,
              ElementsAre("/usr/bin/apptainer", "exec", "--an-option", "--containall", "--cleanenv",
                          "--no-home", "--no-mount", "home,cwd,hostfs", "--net", "--network", "none", "--uts",
                          "--hostname", "localhost", "--no-privs", "--bind", "/private/tmp:/tmp", "--bind",
                          "/private/shm:/dev/shm", "--bind", "/data/source:/build/source:ro", "--pwd",
                          "/build/work", "/trees/a", "make", "-j4"));
  EXPECT_THAT(start.environment,
              AllOf(Contains(Pair("APPTAINERENV_PATH", "/bin")),
                    Contains(Pair("APPTAINERENV_LD_LIBRARY_PATH", "/x")),
                    Not(Contains(Key("LD_LIBRARY_PATH"))), Not(Contains(Key("OF_THE_HOST")))));
  EXPECT_THAT(line("apptainer", "/usr/bin/singularity").environment,
              Contains(Pair("SINGULARITYENV_PATH", "/bin")));
}

TEST_F(Enclosing, CharliecloudSeesOnlyWhatTheCageHas) {
  const Start start = line("charliecloud", "/usr/bin/ch-run");
  EXPECT_THAT(start.arguments,
              ElementsAre("/usr/bin/ch-run", "--env-no-expand", "--an-option", "--no-passwd", "--bind",
                          "/.xaas/2:/build/source", "--set-env=COST=$5", "--set-env=LD_LIBRARY_PATH=/x",
                          "--set-env=PATH=/bin", "--cd", "/build/work", "/.xaas/tree", "--", "make", "-j4"));
  const Enclosed all = enclosed(enclosure, step);
  ASSERT_TRUE(all.cage);
  EXPECT_EQ(all.cage->tree, "");
  EXPECT_THAT(all.cage->hidden, Contains(fs::path("/home")));
  std::vector<std::string> places;
  for (const BuildMount& mount : all.cage->mounts)
    places.push_back(mount.source.string() + " " + mount.destination + (mount.writable ? " rw" : ""));
  EXPECT_THAT(places, ElementsAre("/trees/a /.xaas/tree", "/private/tmp /tmp rw", "/private/shm /dev/shm rw",
                                  "/data/source /.xaas/2"));
}

TEST_F(Enclosing, PathsThatARuntimeCannotTake) {
  enclosure.mounts.push_back({"/data/a b", "/x", true});
  for (const std::string& name : builder_choices()) {
    enclosure.runtime = name;
    const bool any = name == "bwrap" || name == "namespaces" || name == "host";
    EXPECT_EQ(mount_obstacle(enclosure).empty(), any) << name;
  }
}

TEST_F(Enclosing, MountsMustHaveAPlace) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  enclosure.runtime = "namespaces";
  enclosure.tree = directory.path();
  const Command command = {.arguments = {"true"}};
  for (const auto& [source, destination] :
       {std::pair("relative", "/x"), std::pair("/usr", "relative"), std::pair("/usr", "/"),
        std::pair("/usr", "/proc/x"), std::pair("/usr", "/x/../dev/null")}) {
    enclosure.mounts = {{source, destination, false}};
    const Result<ProcessResult> result = run_inside(enclosure, command);
    ASSERT_FALSE(result) << destination;
    EXPECT_EQ(result.error().kind, ErrorKind::usage) << result.error().message;
    EXPECT_THAT(result.error().message,
                HasSubstr(destination == std::string("/x/../dev/null") ? "/dev/null" : destination));
    EXPECT_FALSE(make_build_mount_points(enclosure));
  }
}

TEST_F(Enclosing, PlacesForMounts) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  enclosure.tree = directory.path() / "tree";
  ASSERT_TRUE(make_directories(enclosure.tree / "real"));
  fs::create_directory_symlink("/real", enclosure.tree / "link");
  ASSERT_TRUE(write_file(directory.path() / "file", ""));
  enclosure.mounts = {{directory.path(), "/link/work/", true},
                      {directory.path(), "/real/work/below", false},
                      {directory.path() / "file", "/a/b/file", false},
                      {directory.path(), "/tmp/x", false}};
  for (const std::string& name : builder_choices()) {
    enclosure.runtime = name;
    ASSERT_TRUE(make_build_mount_points(enclosure)) << name;
    if (name == "bwrap")
      EXPECT_TRUE(fs::is_directory(enclosure.tree / "real/work") &&
                  fs::is_directory(enclosure.tree / "proc") && fs::is_directory(enclosure.tree / "dev") &&
                  fs::is_regular_file(enclosure.tree / "a/b/file"));
  }
  EXPECT_TRUE(fs::is_empty(enclosure.tree /
                           "real/work")); // the other mount point is created in the mounted directory
  EXPECT_TRUE(fs::is_empty(enclosure.tree / "tmp"));
  EXPECT_TRUE(fs::exists(enclosure.tree / "etc/hosts"));
  enclosure.mounts = {{directory.path(), "/a/b/file", false}};
  const Result<void> other_kind = make_build_mount_points(enclosure);
  // host has no tree
  EXPECT_TRUE(other_kind);
  enclosure.runtime = "bwrap";
  const Result<void> refused = make_build_mount_points(enclosure);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::storage);
}

TEST(ChooseBuilder, SaysWhyNoneServes) {
  const Result<Enclosure> unknown = choose_builder({"bwrap", "docker"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::usage);
  EXPECT_THAT(unknown.error().message, HasSubstr("docker"));
  EXPECT_THAT(unknown.error().hint, HasSubstr("bwrap, namespaces, podman, charliecloud, apptainer, host"));

  const std::string path = std::getenv("PATH");
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  setenv("PATH", directory.path().c_str(), 1);
  const Result<Enclosure> none = choose_builder({"bwrap", "podman", "apptainer"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::missing_tool);
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr("bwrap: no bwrap on PATH"), HasSubstr("podman: no podman"),
                    HasSubstr("apptainer: no apptainer or singularity")));
  // A program that exists but does not work is not chosen.
  ASSERT_TRUE(
      write_file(directory.path() / "bwrap", "#!/bin/sh\necho bwrap: no permissions >&2\nexit 1\n", 0755));
  const Result<Enclosure> broken = choose_builder({"bwrap"});
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("bwrap: no permissions"));
}

TEST(ChooseBuilder, WhatIsAskedForOrTheFirst) {
  const Result<Enclosure> first = choose_builder({}, {"--x"});
  if (!first)
    GTEST_SKIP() << "SKIPPED, NOT SHOWN: " << first.error().message;
  EXPECT_NE(first->runtime, "host");
  EXPECT_THAT(first->options, ElementsAre("--x"));
  const Result<Enclosure> host = choose_builder({"host"});
  if (!host)
    GTEST_SKIP() << "SKIPPED, NOT SHOWN: " << host.error().message;
  EXPECT_EQ(host->runtime, "host");
  EXPECT_EQ(host->program, "");
  EXPECT_THAT(host->missing, Not(testing::IsEmpty()));
}

// A child that follows commands, and is killed at the end.
class Child {
public:
  template <typename Function> explicit Child(const Function& function) : number_(fork()) {
    if (number_ == 0) {
      function();
      _exit(0);
    }
  }
  ~Child() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }

private:
  pid_t number_;
};

void rest() {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

TEST(GuardUsage, CountsWhatIsBelowAtSomeDepth) {
  const Usage before = usage_below(getpid(), 1);
  const Child child([] {
    for (int i = 0; i < 3; ++i)
      if (fork() == 0)
        break;
    std::thread(rest).detach();
    sleep(3);
  });
  rest();
  const Usage all = usage_below(getpid(), 1);
  EXPECT_EQ(all.processes.size(), before.processes.size() + 4);
  EXPECT_EQ(usage_below(getpid(), 2).processes.size(), 3U);
  EXPECT_EQ(usage_below(getpid(), 3).processes.size(), 0U);
  EXPECT_GT(all.resident, 0U);
}

TEST(GuardUsage, CountsThreads) {
  const Child child([] {
    for (int i = 0; i < 6; ++i)
      std::thread([] { sleep(3); }).detach();
    sleep(3);
  });
  rest();
  EXPECT_EQ(usage_below(getpid(), 1).tasks, 7U);
}

TEST(GuardLimits, TheDiskOfAllMountsTogetherOnce) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path one = directory.path() / "one", two = directory.path() / "two";
  ASSERT_TRUE(make_directories(one / "deep"));
  ASSERT_TRUE(make_directories(two));
  ASSERT_TRUE(write_file(one / "before", std::string(4 << 20, 'x')));
  BuildLimits limits;
  limits.disk = 3 << 20;
  Guard guard(limits, {one, two, one / "deep", one}, 1); // some are of others
  guard.begin(getpid());
  ASSERT_TRUE(write_file(one / "deep/a", std::string(2 << 20, 'x')));
  fs::create_hard_link(one / "deep/a", two / "again"); // one file
  EXPECT_TRUE(guard.finish());
  ASSERT_TRUE(write_file(two / "b", std::string(2 << 20, 'x')));
  const Result<void> passed = guard.finish();
  ASSERT_FALSE(passed);
  EXPECT_THAT(passed.error().message, HasSubstr("3.0 MiB to disk"));
  fs::remove(one / "before"); // removed files free space
  EXPECT_TRUE(guard.finish());
}

TEST(Hidden, HomesAndWhatIsOfOthers) {
  const char* const home = std::getenv("HOME");
  const std::string before = home ? home : "";
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  setenv("HOME", directory.path().c_str(), 1);
  EXPECT_THAT(hidden_directories(), AllOf(Contains(fs::path("/run")), Contains(fs::path("/var")),
                                          Contains(fs::canonical(directory.path()))));
  for (const char* system : {"/", "/usr", "/usr/sbin", "/nonexistent"}) {
    setenv("HOME", system, 1);
    EXPECT_THAT(hidden_directories(), Not(Contains(fs::path(system))));
  }
  home ? setenv("HOME", before.c_str(), 1) : unsetenv("HOME");
}

} // namespace
