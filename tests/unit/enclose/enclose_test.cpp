// What a build step can see and do under each runtime that is installed, as root and as an ordinary user.
#include "cage.h"
#include "enclosing.h"
#include "guard.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/enclose/enclose.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace xaas;
using namespace xaas::enclose;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

constexpr uid_t ordinary = 54321;

struct Outcome {
  int exit_code = -1;
  std::string output, error, kind;
  double seconds = 0;
};

void PrintTo(const Outcome& outcome, std::ostream* stream) {
  *stream << "exit " << outcome.exit_code << ", output: " << outcome.output << ", error: " << outcome.error;
}

Outcome outcome_of(const Result<ProcessResult>& result) {
  Outcome outcome;
  if (result) {
    outcome.exit_code = result->exit_code;
    outcome.output = trim(result->output);
  } else {
    outcome.error = result.error().message + "; " + result.error().hint;
    outcome.kind = std::to_string(static_cast<int>(result.error().kind));
  }
  return outcome;
}

std::string kind_text(ErrorKind kind) {
  return std::to_string(static_cast<int>(kind));
}

// Calls a function in a child, which may become another user, and returns its result.
template <typename Function> Json in_child(bool as_root, const Function& function, pid_t* started = nullptr) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const rlimit little{20'000, 20'000}; // of processes, in case a test fails
    setrlimit(RLIMIT_NPROC, &little);
    if (!as_root && geteuid() == 0) {
      if (setgroups(0, nullptr) != 0 || setresgid(ordinary, ordinary, ordinary) != 0 ||
          setresuid(ordinary, ordinary, ordinary) != 0)
        _exit(1);
      prctl(PR_SET_DUMPABLE, 1); // as after an exec
    }
    const std::string text = Json(function()).dump(-1, ' ', false, Json::error_handler_t::replace);
    [[maybe_unused]] const ssize_t count = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  if (started)
    *started = child;
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return Json::parse(text, nullptr, false);
}

Json as_json(const Outcome& outcome) {
  return {{"exit", outcome.exit_code},
          {"output", outcome.output},
          {"error", outcome.error},
          {"kind", outcome.kind}};
}

struct Kind {
  const char* runtime;
  bool root;
};

std::string kind_name(const testing::TestParamInfo<Kind>& info) {
  return std::string(info.param.runtime) + (info.param.root ? "AsRoot" : "AsUser");
}

class Inside : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    if (GetParam().root && geteuid() != 0)
      GTEST_SKIP() << "not root";
    directory.emplace(*TemporaryDirectory::create("/tmp", "xaas-in-"));
    const fs::path root = directory->path();
    for (const char* name : {"tree", "tree/bin", "work", "source", "home", "tmp"})
      ASSERT_TRUE(make_directories(root / name));
    ASSERT_TRUE(xaas::copy_file(XAAS_INSIDE_PROBE, root / "tree/bin/probe"));
    ASSERT_TRUE(xaas::copy_file(XAAS_INSIDE_PROBE, root / "source/probe"));
    ASSERT_TRUE(write_file(root / "home/secret", "secret"));
    ASSERT_TRUE(make_directories(root / "tree/etc"));
    ASSERT_TRUE(write_file(root / "tree/etc/passwd", "of the tree\n"));
    write_podman();
    if (!GetParam().root && geteuid() == 0)
      give(root);
    setenv("HOME", (root / "home").c_str(), 1);
    setenv("TMPDIR", (root / "tmp").c_str(), 1);
    setenv("OF_THE_HOST", "very-secret", 1);

    const Json chosen = in_child(GetParam().root, [] {
      const Result<Enclosure> found = choose_builder({GetParam().runtime});
      return Json{{"program", found ? found->program.string() : ""},
                  {"error", found ? "" : found.error().message}};
    });
    if (chosen["error"] != "")
      GTEST_SKIP() << "SKIPPED, NOT SHOWN: " << chosen["error"];
    enclosure.runtime = GetParam().runtime;
    enclosure.program = chosen["program"].get<std::string>();
    enclosure.missing = find_builder(enclosure.runtime)->missing;
    enclosure.tree = root / "tree";
    enclosure.mounts = {{root / "work", "/build/work", true}, {root / "source", "/build/source", false}};
    enclosure.limits.seconds = 30;
    enclosure.limits.memory = uint64_t(1) << 30;
    enclosure.limits.processes = 500;
    if (podman())
      enclosure.options = {"--runtime=runc", "--ulimit=nofile=1024:1024", "--ulimit=nproc=10000:10000"};
    const Json made = in_child(GetParam().root, [&] {
      const Result<void> places = make_build_mount_points(enclosure);
      return Json(places ? "" : places.error().message);
    });
    ASSERT_EQ(made, "");
  }

  void TearDown() override {
    if (state)
      remove_tree(*state);
    setenv("PATH", path.c_str(), 1);
  }

  // It uses its own storage and allows no long paths.
  void write_podman() {
    const std::optional<fs::path> program = find_program("podman");
    if (!podman() || !program)
      return;
    const fs::path bin = directory->path() / "bin";
    state = fs::path(directory->path().string() + "s");
    ASSERT_TRUE(make_directories(bin));
    ASSERT_TRUE(write_file(bin / "podman",
                           "#!/bin/sh\nexec " + program->string() + " --root " + state->string() +
                               "/r --runroot " + state->string() + "/s --storage-driver vfs \"$@\"\n",
                           0755));
    setenv("PATH", (bin.string() + ":" + path).c_str(), 1);
  }

  static void give(const fs::path& root) {
    ASSERT_EQ(lchown(root.c_str(), ordinary, ordinary), 0);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root))
      ASSERT_EQ(lchown(entry.path().c_str(), ordinary, ordinary), 0);
  }

  bool host() const { return std::string(GetParam().runtime) == "host"; }
  bool podman() const { return std::string(GetParam().runtime) == "podman"; }
  bool charliecloud() const { return std::string(GetParam().runtime) == "charliecloud"; }
  // The last argument of the started program, which distinguishes it from other tests' programs.
  std::string token() const { return directory->path().filename(); }
  std::string probe() const { return host() ? "/build/source/probe" : "/bin/probe"; }

  Outcome run(const std::vector<std::string>& arguments) const {
    Command command;
    command.arguments = {probe()};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.arguments.push_back(token());
    command.environment = {{"PATH", "/bin:/build/source"}, {"HOME", "/build/work"}, {"GIVEN", "a $b"}};
    return run(command);
  }
  Outcome run(const Command& command) const {
    const auto start = std::chrono::steady_clock::now();
    const Json json =
        in_child(GetParam().root, [&] { return as_json(outcome_of(run_inside(enclosure, command))); });
    Outcome outcome;
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!json.is_object()) {
      ADD_FAILURE() << "the child said nothing";
      return outcome;
    }
    outcome.exit_code = json["exit"];
    outcome.output = json["output"];
    outcome.error = json["error"];
    outcome.kind = json["kind"];
    return outcome;
  }
  std::string said(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return outcome.output;
  }
  std::vector<std::string> processes() const {
    std::vector<std::string> lines;
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", code))
      if (const Result<std::string> line = read_file(entry.path() / "cmdline");
          line && line->find(token()) != std::string::npos)
        lines.push_back(*line);
    return lines;
  }
  // Neither the probe nor a runtime.
  void expect_nothing_left() const {
    EXPECT_THAT(processes(), ElementsAre());
    EXPECT_TRUE(fs::is_empty(directory->path() / "tmp"));
  }

  std::optional<TemporaryDirectory> directory;
  std::optional<fs::path> state;
  const std::string path = std::getenv("PATH");
  Enclosure enclosure;
};

TEST_P(Inside, RunsAndSaysWhatCameOfIt) {
  EXPECT_EQ(said({"say", "a b"}), "a b");
  EXPECT_EQ(run({"exit", "7"}).exit_code, 7);
  EXPECT_EQ(said({"directory"}), "/");
  Command command;
  command.arguments = {"probe", "directory"}; // on the PATH inside
  command.environment = {{"PATH", "/nonexistent:/bin:/build/source"}};
  command.directory = "/build/work";
  command.output = directory->path() / "work/log";
  EXPECT_EQ(run(command).exit_code, 0);
  EXPECT_EQ(run(command).exit_code, 0);
  EXPECT_EQ(*read_file(*command.output), "/build/work\n/build/work\n");
  command.arguments = {"no-such-program"};
  const Outcome absent = run(command);
  EXPECT_EQ(absent.kind, kind_text(ErrorKind::missing_tool)) << testing::PrintToString(absent);
  EXPECT_THAT(absent.error, HasSubstr("no-such-program"));
  if (!podman()) // process 1 does not get its own signals
    EXPECT_EQ(run({"abort"}).exit_code, 128 + SIGABRT);
  expect_nothing_left();
}

TEST_P(Inside, HasNoNetwork) {
  const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(tcp, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(tcp, 5), 0);
  ASSERT_EQ(getsockname(tcp, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));

  const std::string name = "@xaas-test-" + std::to_string(getpid());
  const int abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un unix_address{};
  unix_address.sun_family = AF_UNIX;
  name.copy(unix_address.sun_path, name.size());
  unix_address.sun_path[0] = 0;
  ASSERT_EQ(bind(abstract, reinterpret_cast<sockaddr*>(&unix_address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
            0);
  ASSERT_EQ(listen(abstract, 5), 0);

  // The probe can reach both if nothing prevents it.
  Command outside;
  outside.arguments = {XAAS_INSIDE_PROBE, "tcp", port};
  EXPECT_EQ(trim(xaas::run_process(outside)->output), "yes");
  outside.arguments = {XAAS_INSIDE_PROBE, "unix", name};
  EXPECT_EQ(trim(xaas::run_process(outside)->output), "yes");

  EXPECT_EQ(said({"tcp", port}), "ECONNREFUSED");
  EXPECT_EQ(said({"unix", name}), "ECONNREFUSED");
  EXPECT_EQ(said({"itself"}), "yes"); // its own processes reach each other
  EXPECT_THAT(split(said({"print", "/proc/net/dev"}), '\n'), testing::SizeIs(3)); // two header lines, and lo
  close(tcp);
  close(abstract);
}

TEST_P(Inside, SeesNoProcessButItsOwn) {
  const std::string here = std::to_string(getpid());
  EXPECT_EQ(said({"signal", here}), "ESRCH");
  for (const std::string& name : split(said({"list", "/proc"}), '\n'))
    if (std::isdigit(static_cast<unsigned char>(name[0])))
      EXPECT_LT(std::atoi(name.c_str()), 10);
  // Its first process may be a copy of this one and must reveal nothing.
  const bool of_runtime = podman() || std::string(GetParam().runtime) == "bwrap";
  for (const char* file : {"/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc"})
    EXPECT_THAT(said({"read", file}), of_runtime ? testing::_ : testing::Matcher<std::string>("EACCES"))
        << file;
  EXPECT_THAT(said({"print", "/proc/1/environ"}), Not(HasSubstr("TMPDIR=" + directory->path().string())));
  EXPECT_THAT(said({"print", "/proc/1/cmdline"}), Not(HasSubstr("test_sandbox")));
}

TEST_P(Inside, HasNeitherPrivilegesNorATerminal) {
  const std::string identity = said({"identity"});
  EXPECT_THAT(identity, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(identity, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(identity, HasSubstr("NoNewPrivs:\t1"));
  const std::string user = std::to_string(GetParam().root ? 1000 : geteuid() == 0 ? ordinary : geteuid());
  if (!podman())
    EXPECT_THAT(identity, HasSubstr("uid " + user + " gid " + user));
  EXPECT_EQ(said({"stdin"}), "end");
  EXPECT_THAT(said({"write", "/dev/tty"}), AnyOf("ENXIO", "EROFS", "ENOENT"));
  EXPECT_EQ(said({"write", "/dev/null"}), "yes");
  EXPECT_THAT(said({"device", "/tmp/disk"}), "EPERM");
  EXPECT_EQ(said({"unmount"}), "no");
  for (const char* setting :
       {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"})
    EXPECT_THAT(said({"write", setting}), AnyOf("EROFS", "EACCES", "ENOENT")) << setting;
  EXPECT_EQ(said({"list", "/proc/self/fd"}), "0\n1\n2");
}

TEST_P(Inside, InheritsNoOpenFile) {
  const int file = open((directory->path() / "home/secret").c_str(), O_RDONLY); // not closed by exec
  ASSERT_GE(fcntl(file, F_DUPFD, 30), 30);
  EXPECT_EQ(said({"list", "/proc/self/fd"}), "0\n1\n2");
  close(30);
  close(file);
}

TEST_P(Inside, HasTheEnvironmentThatItIsGiven) {
  std::vector<std::string> variables = split(said({"environment"}), '\n');
  EXPECT_THAT(variables, Contains("GIVEN=a $b"));
  EXPECT_THAT(variables, Contains("PATH=/bin:/build/source"));
  EXPECT_THAT(variables, Contains("HOME=/build/work"));
  std::erase_if(variables, [](const std::string& each) {
    const std::string name = each.substr(0, each.find('='));
    return name == "GIVEN" || name == "PATH" || name == "HOME" || each == "PWD=/";
  });
  if (podman())
    EXPECT_THAT(variables, ElementsAre("HOSTNAME=localhost"));
  else if (charliecloud())
    EXPECT_THAT(variables, testing::IsSubsetOf({testing::Matcher<std::string>(StartsWith("CH_RUNNING=")),
                                                testing::Matcher<std::string>(StartsWith("USER="))}));
  else
    EXPECT_THAT(variables, ElementsAre());
}

TEST_P(Inside, WritesOnlyWhereItMay) {
  const std::vector<std::string> closed = {"/x",
                                           "/bin/x",
                                           "/build/x",
                                           "/build/source/x",
                                           podman() ? "/x" : "/dev/x",
                                           host() ? "/usr/x" : "/etc/passwd",
                                           "/proc/x",
                                           "/etc/x"};
  for (const std::string& path : closed)
    EXPECT_THAT(said({"write", path}), AnyOf("EROFS", "EACCES", "ENOENT")) << path;
  for (const char* path : {"/tmp/x", "/dev/shm/x", "/build/work/x"})
    EXPECT_EQ(said({"write", path}), "yes") << path;
  EXPECT_EQ(said({"read", "/tmp/x"}), "ENOENT"); // a new one each time
  EXPECT_TRUE(fs::exists(directory->path() / "work/x"));
  struct stat status{};
  ASSERT_EQ(stat((directory->path() / "work/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, GetParam().root || geteuid() != 0 ? geteuid() : ordinary);
  EXPECT_EQ(said({"print", "/etc/passwd"}) == "of the tree", !host());
  expect_nothing_left();
}

TEST_P(Inside, HasNoHomeNorOtherFilesOfTheUser) {
  EXPECT_EQ(said({"read", (directory->path() / "home/secret").string()}), "ENOENT");
  EXPECT_EQ(said({"list", "/tmp"}), "");
  if (host()) {
    EXPECT_EQ(said({"list", "/home"}) + said({"list", "/root"}) + said({"list", "/run"}), "");
    EXPECT_EQ(said({"read", "/usr/bin/env"}), "yes");
  }
}

TEST_P(Inside, MountsBelowMountsAndLinksOfTheTree) {
  if (!host())
    fs::create_directory_symlink("/../../build", enclosure.tree / "link");
  enclosure.mounts.push_back({directory->path() / "source", "/build/work/below", false});
  enclosure.mounts.push_back({directory->path() / "source/probe", "/tmp/deep/probe", false});
  if (!host())
    enclosure.mounts.push_back({directory->path() / "home/secret", "/link/file", false});
  const Json made = in_child(GetParam().root, [&] {
    const Result<void> places = make_build_mount_points(enclosure);
    return Json(places ? "" : places.error().message);
  });
  ASSERT_EQ(made, "");
  EXPECT_EQ(said({"read", "/tmp/deep/probe"}), "yes");
  EXPECT_EQ(said({"read", "/build/work/below/probe"}), "yes");
  EXPECT_EQ(said({"write", "/build/work/below/x"}), "EROFS");
  if (!host())
    EXPECT_EQ(said({"print", "/build/file"}), "secret");
  // A link that a build left there may lead anywhere.
  fs::remove(directory->path() / "work/below");
  fs::create_directory_symlink(directory->path() / "home", directory->path() / "work/below");
  enclosure.mounts.push_back({directory->path() / "source", "/build/work/below/new", false});
  const Outcome link = run({"say", "x"});
  EXPECT_EQ(link.kind, kind_text(ErrorKind::storage)) << testing::PrintToString(link);
  EXPECT_THAT(link.error, HasSubstr("work/below is not a directory"));
  EXPECT_FALSE(fs::exists(directory->path() / "home/new"));
}

TEST_P(Inside, AForkBombIsStopped) {
  const Outcome outcome = run({"bomb"});
  EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << testing::PrintToString(outcome);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("more than 500 processes"), HasSubstr("raise the limit on processes")));
  EXPECT_LT(outcome.seconds, 20);
  expect_nothing_left();
}

TEST_P(Inside, WhatEatsTheMemoryIsStopped) {
  enclosure.limits.memory = uint64_t(200) << 20;
  for (const char* how : {"memory", "shared-memory"}) {
    const Outcome outcome = run({how});
    EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << testing::PrintToString(outcome);
    EXPECT_THAT(outcome.error,
                AllOf(HasSubstr("more than 200.0 MiB of memory"), HasSubstr("raise the limit on memory")));
    EXPECT_LT(outcome.seconds, 20);
  }
  // 64 MiB in eight processes are 64 MiB.
  EXPECT_EQ(run({"same-memory"}).exit_code, 0);
  expect_nothing_left();
}

TEST_P(Inside, WhatFillsTheDiskIsStopped) {
  enclosure.limits.disk = uint64_t(20) << 20;
  ASSERT_TRUE(write_file(directory->path() / "work/before", std::string(30 << 20, 'x')));
  for (const auto& [how, path] :
       {std::pair("fill", "/build/work/big"), std::pair("fill", "/tmp/big"),
        std::pair("fill", "/dev/shm/big"), std::pair("fill-nameless", "/build/work/none"),
        std::pair("fill-nameless", "/tmp/none")}) {
    const Outcome outcome = run({how, path, "1000"});
    EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << path << testing::PrintToString(outcome);
    EXPECT_THAT(outcome.error,
                AllOf(HasSubstr("more than 20.0 MiB to disk"), HasSubstr("raise the limit on disk")));
    EXPECT_LT(outcome.seconds, 20);
    fs::remove(directory->path() / "work/big");
  }
  // Too much, but finished before the first check; and little.
  EXPECT_THAT(run({"fill", "/build/work/big", "25"}).error, HasSubstr("20.0 MiB to disk"));
  fs::remove(directory->path() / "work/big");
  EXPECT_EQ(run({"fill", "/build/work/big", "10"}).exit_code, 0);
  expect_nothing_left();
}

TEST_P(Inside, WhatNeverEndsIsStopped) {
  enclosure.limits.seconds = 1;
  const Outcome busy = run({"spin"});
  EXPECT_EQ(busy.kind, kind_text(ErrorKind::failed)) << testing::PrintToString(busy);
  EXPECT_THAT(busy.error, AllOf(HasSubstr("more than 1 seconds"), HasSubstr("raise the limit on time")));
  EXPECT_LT(busy.seconds, 20);
  enclosure.limits.seconds = 30;
  enclosure.limits.idle_seconds = 1;
  const Outcome idle = run({"sleep"});
  EXPECT_EQ(idle.kind, kind_text(ErrorKind::failed)) << testing::PrintToString(idle);
  EXPECT_THAT(idle.error,
              AllOf(HasSubstr("did nothing for 1 seconds"), HasSubstr("raise the limit on idle time")));
  EXPECT_LT(idle.seconds, 20);
  EXPECT_EQ(run({"doze"}).exit_code, 0); // sleeps longer in total
  expect_nothing_left();
}

TEST_P(Inside, TheCallersWatchEndsIt) {
  const Json json = in_child(GetParam().root, [&] {
    Command command;
    command.arguments = {probe(), "sleep", token()};
    int calls = 0;
    command.watch_period = std::chrono::milliseconds(300);
    command.watch = [&]() -> Result<void> {
      return ++calls < 3 ? Result<void>() : make_error(ErrorKind::storage, "enough");
    };
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome = outcome_of(run_inside(enclosure, command));
    if (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(850))
      outcome.error += ", too soon";
    return as_json(outcome);
  });
  EXPECT_EQ(json["kind"], kind_text(ErrorKind::storage));
  EXPECT_EQ(json["error"], "running " + probe() + " inside: enough; ");
  expect_nothing_left();
}

TEST_P(Inside, NothingOutlivesIt) {
  EXPECT_EQ(run({"daemon", "/build/work/alive"}).exit_code, 0);
  const fs::path file = directory->path() / "work/alive";
  const auto size = fs::file_size(file);
  EXPECT_GT(size, 0U);
  expect_nothing_left();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(fs::file_size(file), size);
}

TEST_P(Inside, AnInterruptEndsIt) {
  for (const char* word : {"sleep", "bomb"}) {
    enclosure.limits.processes = 0;
    const auto start = std::chrono::steady_clock::now();
    const Json json = in_child(GetParam().root, [&] {
      install_interrupt_handler();
      const pid_t self = getpid();
      std::thread([self] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
        kill(self, SIGINT);
      }).detach();
      Command command;
      command.arguments = {probe(), word, token()};
      return as_json(outcome_of(run_inside(enclosure, command)));
    });
    EXPECT_EQ(json["kind"], kind_text(ErrorKind::interrupted)) << json;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    expect_nothing_left();
  }
}

// The runtimes that this machine has for builds.
class OnHost : public Inside {};

TEST_P(OnHost, TheMachinesCompiler) {
  if (!find_program("cc"))
    GTEST_SKIP() << "SKIPPED, NOT SHOWN: no cc";
  ASSERT_TRUE(write_file(directory->path() / "source/x.c", "int main(void) { return 7; }\n"));
  Command command;
  command.arguments = {"cc", "-o", "x", "/build/source/x.c"};
  command.directory = "/build/work";
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  const Outcome compiled = run(command);
  ASSERT_EQ(compiled.exit_code, 0) << testing::PrintToString(compiled);
  command.arguments = {"./x"};
  EXPECT_EQ(run(command).exit_code, 7);
}

// The process that starts it may be killed itself.
TEST_P(Inside, NothingOutlivesWhoStartedIt) {
  const pid_t child = fork();
  if (child == 0) {
    (void)in_child(GetParam().root, [&] {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Command command;
      command.arguments = {probe(), "sleep", token()};
      return as_json(outcome_of(run_inside(enclosure, command)));
    });
    _exit(0);
  }
  const auto is_there = [&] {
    const std::vector<std::string> lines = processes();
    const std::string line = probe() + std::string(1, '\0') + "sleep";
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& each) { return each.starts_with(line); });
  };
  for (int i = 0; i < 300 && !is_there(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(is_there());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 300 && is_there(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_there());
  for (int i = 0; i < 300 && !processes().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(processes(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(Builders, Inside,
                         testing::Values(Kind{"bwrap", true}, Kind{"bwrap", false}, Kind{"namespaces", true},
                                         Kind{"namespaces", false}, Kind{"podman", true},
                                         Kind{"charliecloud", true}, Kind{"charliecloud", false},
                                         Kind{"host", true}, Kind{"host", false}, Kind{"apptainer", false}),
                         kind_name);

INSTANTIATE_TEST_SUITE_P(Builders, OnHost, testing::Values(Kind{"host", true}, Kind{"host", false}),
                         kind_name);

} // namespace
