// Steps that exceed a limit, or whose caller ends, leave nothing behind under any runtime.
#include "enclose/testing.h"

#include <algorithm>
#include <csignal>
#include <thread>

namespace xaas::enclose {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(Inside, AForkBombIsStopped) {
  const Outcome outcome = run({"bomb"});
  EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << ::testing::PrintToString(outcome);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("more than 500 processes"), HasSubstr("raise the limit on processes")));
  EXPECT_LT(outcome.seconds, 20);
  expect_nothing_left();
}

TEST_P(Inside, WhatEatsTheMemoryIsStopped) {
  enclosure.limits.memory = uint64_t(200) << 20;
  for (const char* how : {"memory", "shared-memory"}) {
    const Outcome outcome = run({how});
    EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << ::testing::PrintToString(outcome);
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
    EXPECT_EQ(outcome.kind, kind_text(ErrorKind::failed)) << path << ::testing::PrintToString(outcome);
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
  EXPECT_EQ(busy.kind, kind_text(ErrorKind::failed)) << ::testing::PrintToString(busy);
  EXPECT_THAT(busy.error, AllOf(HasSubstr("more than 1 seconds"), HasSubstr("raise the limit on time")));
  EXPECT_LT(busy.seconds, 20);
  enclosure.limits.seconds = 30;
  enclosure.limits.idle_seconds = 1;
  const Outcome idle = run({"sleep"});
  EXPECT_EQ(idle.kind, kind_text(ErrorKind::failed)) << ::testing::PrintToString(idle);
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

} // namespace

} // namespace xaas::enclose
