#include "oci/testing.h"

#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace xaas::oci {
namespace {

using testing::image_of;
using testing::names_below;
using testing::reference_of;

class ConcurrencyTest : public ::testing::Test {
protected:
  Reference tagged(const std::string& tag) const {
    return reference_of("oci:" + layout().string() + ":" + tag);
  }
  fs::path layout() const { return directory_.path() / "layout"; }
  size_t entries() const { return (*read_json(layout() / "index.json"))["manifests"].size(); }
  bool lock_is_gone() const {
    for (const std::string& name : names_below(layout()))
      if (name.find(".xaas") != std::string::npos)
        return false;
    return true;
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(ConcurrencyTest, ThreadsLoseNoTag) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([this, i] {
      for (int round = 0; round < 3; ++round) {
        const auto written = write_image(tagged("t" + std::to_string(i)), image_of("x" + std::to_string(i)));
        EXPECT_TRUE(written) << written.error().message;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(entries(), 6U);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ((*open_image(tagged("t" + std::to_string(i))))->digest(),
              manifest_digest(image_of("x" + std::to_string(i))));
  EXPECT_TRUE(lock_is_gone());
}

TEST_F(ConcurrencyTest, ProcessesLoseNoTag) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 3; ++round)
        good =
            good && write_image(tagged("p" + std::to_string(i) + "." + std::to_string(round)), image_of("x"));
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(entries(), 12U);
  EXPECT_TRUE(lock_is_gone());
}

// A writer is stopped again and again until that is while it holds the lock, and killed there.
TEST_F(ConcurrencyTest, ADeadOwnersLockIsBroken) {
  ASSERT_TRUE(write_image(tagged("a"), image_of("x")));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (true)
      if (!write_image(tagged("b"), image_of("x")))
        _exit(1);
  }
  const fs::path lock = layout() / ".xaas-lock";
  const auto owners = [&] {
    std::error_code code;
    size_t count = 0;
    for (fs::directory_iterator it(lock, code), end; !code && it != end; it.increment(code))
      ++count;
    return count;
  };
  bool caught = false;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!caught && std::chrono::steady_clock::now() < give_up) {
    kill(child, SIGSTOP);
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    ASSERT_TRUE(WIFSTOPPED(status));
    caught = owners() == 1;
    if (!caught)
      kill(child, SIGCONT);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  kill(child, SIGKILL);
  kill(child, SIGCONT);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(caught);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(write_image(tagged("c"), image_of("y")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(open_image(tagged("a")));
  EXPECT_TRUE(open_image(tagged("c")));
}

TEST_F(ConcurrencyTest, AnOldLockOfAnotherHostIsBroken) {
  ASSERT_TRUE(write_image(tagged("a"), image_of("x")));
  const fs::path owner = layout() / ".xaas-lock" / "anotherhost.1.0.0";
  fs::create_directory(owner.parent_path());
  ASSERT_TRUE(write_file(owner, ""));
  fs::last_write_time(owner, fs::file_time_type::clock::now() - std::chrono::seconds(61));
  EXPECT_TRUE(write_image(tagged("b"), image_of("x")));
  EXPECT_EQ(entries(), 2U);
  EXPECT_TRUE(lock_is_gone());
}

TEST_F(ConcurrencyTest, AFreshLockOfAnotherHostIsWaitedFor) {
  ASSERT_TRUE(write_image(tagged("a"), image_of("x")));
  const fs::path owner = layout() / ".xaas-lock" / "anotherhost.1.0.0";
  fs::create_directory(owner.parent_path());
  ASSERT_TRUE(write_file(owner, ""));
  std::thread writer([&] { EXPECT_TRUE(write_image(tagged("b"), image_of("x"))); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(entries(), 1U);
  fs::remove(owner); // and leave the empty directory, as an owner that dies while releasing would
  writer.join();
  EXPECT_EQ(entries(), 2U);
}

} // namespace
} // namespace xaas::oci
