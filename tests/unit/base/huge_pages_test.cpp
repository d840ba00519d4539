#include <xaas/base/file.h>
#include <xaas/base/huge_pages.h>
#include <xaas/base/text.h>
#include <xaas/base/worker.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas {

namespace {

// Mappings as the kernel lists them (proc_pid_smaps(5)): a line for each, followed by those of its
// properties.
std::vector<std::string> mappings() {
  const Result<std::string> smaps = read_file("/proc/self/smaps");
  std::vector<std::string> all;
  for (const std::string& line : split(smaps ? *smaps : "", '\n')) {
    char* end = nullptr;
    std::strtoul(line.c_str(), &end, 16);
    if (*end == '-')
      all.emplace_back();
    if (!all.empty())
      all.back() += line + "\n";
  }
  return all;
}

std::string mapping_of(const void* address) {
  for (const std::string& mapping : mappings()) {
    char* end = nullptr;
    const uintptr_t start = std::strtoul(mapping.c_str(), &end, 16);
    if (const auto at = reinterpret_cast<uintptr_t>(address);
        start <= at && at < std::strtoul(end + 1, nullptr, 16))
      return mapping;
  }
  return {};
}

// The mapping of code that no file has.
std::string moved_code() {
  for (const std::string& mapping : mappings())
    if (mapping.find(" r-xp 00000000 00:00 0") != std::string::npos &&
        mapping.find("[v") == std::string::npos)
      return mapping;
  return {};
}

bool kernel_has_huge_pages() {
  const Result<std::string> enabled = read_file("/sys/kernel/mm/transparent_hugepage/enabled");
  const Result<std::string> overcommit = read_file("/proc/sys/vm/overcommit_memory");
  return enabled && enabled->find("[never]") == std::string::npos && overcommit &&
         !overcommit->starts_with("2");
}

// A worker, because the change lasts as long as the process.
std::string in_a_child(const WorkerTask& task) {
  WorkerLimits limits{0, 60, 1 << 20};
  limits.readable = {"/proc", "/sys"};
  const Result<std::string> answer = run_worker(task, limits);
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? *answer : std::string();
}

TEST(HugePages, CodeAndHeapRunOn) {
  if (!kernel_has_huge_pages())
    GTEST_SKIP() << "the kernel has no transparent huge pages, or grants no memory beyond what exists";
  const std::string found = in_a_child([]() -> Result<std::string> {
    use_huge_pages_for_workers();
    use_huge_pages_for_workers();          // the code has moved
    const std::string block(8 << 20, 'x'); // longer than what comes before the first huge page
    return moved_code() + "heap:\n" + mapping_of(block.data() + block.size() / 2);
  });
  const size_t heap = found.find("heap:\n");
  ASSERT_NE(heap, std::string::npos) << found;
  const std::string code = found.substr(0, heap), rest = found.substr(heap);
  EXPECT_TRUE(moved_code().empty());
  EXPECT_THAT(code, testing::ContainsRegex("VmFlags:.* hg"));
  EXPECT_THAT(rest, testing::ContainsRegex("VmFlags:.* hg"));
}

TEST(HugePages, BlocksKeepTheirContents) {
  const std::string found = in_a_child([]() -> Result<std::string> {
    std::vector<std::string> blocks;
    for (size_t i = 0; i < 1000; ++i)
      blocks.emplace_back(i * 10, static_cast<char>('a' + i % 26));
    for (size_t i = 0; i < blocks.size(); i += 2)
      std::string().swap(blocks[i]);
    use_huge_pages_for_workers();
    for (size_t i = 0; i < blocks.size(); i += 2)
      blocks[i] = std::string(100'000, static_cast<char>('a' + i % 26));
    for (size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i] != std::string(i % 2 ? i * 10 : 100'000, static_cast<char>('a' + i % 26)))
        return std::to_string(i);
    return std::string("all");
  });
  EXPECT_EQ(found, "all");
}

TEST(HugePages, ReservingABuffer) {
  std::string buffer = "start";
  reserve(buffer, 8 << 20);
  EXPECT_GE(buffer.capacity(), size_t(8) << 20);
  EXPECT_EQ(buffer, "start");
  if (kernel_has_huge_pages())
    EXPECT_THAT(mapping_of(buffer.data() + (4 << 20)), testing::ContainsRegex("VmFlags:.* hg"));
}

} // namespace

} // namespace xaas
