// Helpers of the enclose module's tests: a tree with a probe, in which a runtime runs a step.
#pragma once

#include "enclosing.h"

#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/enclose/enclose.h>

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace xaas::enclose {

inline constexpr uid_t ordinary = 54321;

struct Outcome {
  int exit_code = -1;
  std::string output, error, kind;
  double seconds = 0;
};

inline void PrintTo(const Outcome& outcome, std::ostream* stream) {
  *stream << "exit " << outcome.exit_code << ", output: " << outcome.output << ", error: " << outcome.error;
}

inline Outcome outcome_of(const Result<ProcessResult>& result) {
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

inline std::string kind_text(ErrorKind kind) {
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

inline Json as_json(const Outcome& outcome) {
  return {{"exit", outcome.exit_code},
          {"output", outcome.output},
          {"error", outcome.error},
          {"kind", outcome.kind}};
}

struct Kind {
  const char* runtime;
  bool root;
};

// Printed instead of the value's bytes, so that the test has the same name in every run.
inline void PrintTo(const Kind& kind, std::ostream* stream) {
  *stream << kind.runtime << (kind.root ? "AsRoot" : "AsUser");
}

inline std::string kind_name(const ::testing::TestParamInfo<Kind>& info) {
  return ::testing::PrintToString(info.param);
}

class Inside : public ::testing::TestWithParam<Kind> {
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
    EXPECT_THAT(processes(), ::testing::ElementsAre());
    EXPECT_TRUE(fs::is_empty(directory->path() / "tmp"));
  }

  std::optional<TemporaryDirectory> directory;
  std::optional<fs::path> state;
  const std::string path = std::getenv("PATH");
  Enclosure enclosure;
};

} // namespace xaas::enclose
