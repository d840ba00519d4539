#include <xaas/base/file.h>
#include <xaas/base/huge_pages.h>
#include <xaas/base/text.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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
#if __has_feature(address_sanitizer)
  return false; // its allocator has no heap of this kind
#endif
  const Result<std::string> size = read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  const Result<std::string> enabled = read_file("/sys/kernel/mm/transparent_hugepage/enabled");
  const Result<std::string> overcommit = read_file("/proc/sys/vm/overcommit_memory");
  return enabled && enabled->find("[never]") == std::string::npos && overcommit &&
         !overcommit->starts_with("2") && size && size->starts_with("2097152");
}

// In a process of its own, because the change lasts as long as the process; without a worker's limits.
std::string in_a_child(const std::function<std::string()>& task) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = task();
    _exit(write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  std::array<char, 4096> buffer;
  for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
    answer.append(buffer.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return answer;
}

TEST(HugePages, CodeAndHeapRunOn) {
  if (!kernel_has_huge_pages())
    GTEST_SKIP()
        << "no transparent huge pages of 2 MiB, memory that is granted strictly, or AddressSanitizer";
  const std::string found = in_a_child([]() -> std::string {
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
  const std::string found = in_a_child([]() -> std::string {
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
    return "all";
  });
  EXPECT_EQ(found, "all");
}

// A limit of the address space stays for what the process needs.
TEST(HugePages, NotWhereTheAddressSpaceIsLimited) {
  const std::string found = in_a_child([]() -> std::string {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t(1) << 40;
    setrlimit(RLIMIT_AS, &limit);
    use_huge_pages_for_workers();
    use_huge_pages_for_heap();
    return moved_code().empty() ? "as it was" : "moved";
  });
  EXPECT_EQ(found, "as it was");
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
