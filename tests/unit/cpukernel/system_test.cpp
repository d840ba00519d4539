// library/system.h against the headers of the C libraries of this machine.
#include <xaas/base/file.h>
#include <xaas/target/cpu.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace xaas::cpukernel {

namespace {

// Values that must be equal, and sizes of which ours may be larger.
const std::string names = R"(
const long equal[] = {
  sizeof(struct timespec), sizeof(((struct timespec*)0)->tv_sec), sizeof(((struct timespec*)0)->tv_nsec),
  (long)&((struct timespec*)0)->tv_nsec, sizeof(pid_t), sizeof(pthread_t), sizeof(cpu_set_t), CLOCK_MONOTONIC,
  _SC_PAGESIZE, _SC_PHYS_PAGES, _SC_AVPHYS_PAGES, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, PROT_READ,
  PROT_WRITE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MADV_HUGEPAGE, (long)MAP_FAILED,
  PTHREAD_CREATE_DETACHED, PROT_NONE, EFAULT, F_OK, SIGSEGV, SA_SIGINFO, SA_ONSTACK, SS_DISABLE,
  sizeof(sigset_t), sizeof(siginfo_t), (long)&((siginfo_t*)0)->si_addr, sizeof(struct sigaction),
  (long)&((struct sigaction*)0)->sa_sigaction, (long)&((struct sigaction*)0)->sa_mask,
  (long)&((struct sigaction*)0)->sa_flags, sizeof(stack_t), (long)&((stack_t*)0)->ss_flags,
  (long)&((stack_t*)0)->ss_size, sizeof(va_list), sizeof(fflush(stdout)), sizeof(fwrite("", 1, 1, stdout)),
  sizeof(vsnprintf((char*)0, 0, "", *(va_list*)0))};
const long storage[] = {
  sizeof(pthread_attr_t), sizeof(pthread_mutex_t), sizeof(pthread_cond_t),
  _Alignof(pthread_attr_t), _Alignof(pthread_mutex_t), _Alignof(pthread_cond_t)};
const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
)";

class CpuKernelSystem : public ::testing::TestWithParam<const char*> { // architectures
protected:
  // The text IR of `names` after these lines.
  std::string compiled(const std::string& includes, const std::string& options) {
    auto directory = TemporaryDirectory::create(temporary_root(), "xaas-cpukernel-");
    EXPECT_TRUE(directory);
    const fs::path source = directory->path() / "names.c", ir = directory->path() / "names.ll";
    EXPECT_TRUE(write_file(source, includes + names, 0644, false));
    const std::string command = std::string(XAAS_TEST_CLANG) + " --target=" + GetParam() + "-linux-gnu " +
                                options + " -std=c11 -S -emit-llvm -o " + ir.string() + " " + source.string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    return *read_file(ir);
  }

  // The elements of an array of 64-bit numbers.
  static std::vector<long> values(const std::string& ir, const std::string& name) {
    std::istringstream text(ir.substr(ir.find("@" + name + " ")));
    std::string line, word;
    std::getline(text, line);
    std::istringstream words(line.substr(line.find(" x i64] [") + 8));
    std::vector<long> result;
    while (words >> word) {
      if (!word.ends_with("i64"))
        break;
      words >> word;
      result.push_back(std::atol(word.c_str()));
    }
    return result;
  }

  static bool is_zero(const std::string& ir, const std::string& name) {
    const std::string line = ir.substr(ir.find("@" + name + " "));
    return line.substr(0, line.find('\n')).find(" zeroinitializer") != std::string::npos;
  }
};

TEST_P(CpuKernelSystem, AgreesWithTheHeaders) {
  if (GetParam() != target::host_arch() &&
      !fs::exists("/usr/" + std::string(GetParam()) + "-linux-gnu/include/pthread.h"))
    GTEST_SKIP() << "no headers of a C library for " << GetParam() << " here (libc6-dev-arm64-cross)";
  const std::string own = compiled("#include \"system.h\"\n", "-nostdlibinc -I" XAAS_CPUKERNEL_LIBRARY);
  const std::string theirs = compiled("#include <errno.h>\n#include <pthread.h>\n#include <sched.h>\n"
                                      "#include <signal.h>\n#include <stdarg.h>\n#include <stdio.h>\n"
                                      "#include <sys/mman.h>\n#include <time.h>\n#include <unistd.h>\n",
                                      "-D_GNU_SOURCE");
  ASSERT_EQ(values(own, "equal").size(), 42u) << own;
  EXPECT_EQ(values(own, "equal"), values(theirs, "equal"));
  const std::vector<long> ours = values(own, "storage"), needed = values(theirs, "storage");
  ASSERT_EQ(ours.size(), 6u);
  ASSERT_EQ(needed.size(), 6u);
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_GE(ours[i], needed[i]) << i;
  for (const char* name : {"mutex", "condition"}) {
    EXPECT_TRUE(is_zero(own, name));
    EXPECT_TRUE(is_zero(theirs, name)) << name << " does not start with all bits 0";
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, CpuKernelSystem, ::testing::Values("x86_64", "aarch64"));

} // namespace

} // namespace xaas::cpukernel
