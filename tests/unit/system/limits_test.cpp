// What hangs, never ends or is too large costs a limited time and is left out.
#include "mounts.h"
#include "system/testing.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::system {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Clock = std::chrono::steady_clock;

class DetectLimits : public Detect {
protected:
  void pipe(const std::string& absolute) {
    const fs::path path = probes_.root / absolute.substr(1);
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
  }
};

TEST_F(DetectLimits, PipesInPlaceOfFiles) {
  for (const char* path :
       {"/proc/cpuinfo", "/proc/meminfo", "/etc/os-release", "/etc/ld.so.conf", "/etc/ld.so.cache",
        "/proc/driver/nvidia/version", "/sys/class/kfd/kfd/topology/nodes/0/properties",
        "/usr/lib64/libfftw3.so.3", "/usr/lib64/libmpi.so.40", "/usr/lib64/libc.so.6", "/proc/self/status",
        "/proc/sys/user/max_user_namespaces", "/s/opt/spack/.spack-db/index.json"})
    pipe(path);
  probes_.environment = {{"SPACK_ROOT", "/s"}};
  file("/proc/sys/kernel/osrelease", "6.1.0\n");
  const auto start = Clock::now();
  const SystemDescription found = detect(probes_);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(found.kernel, "6.1.0");
  EXPECT_THAT(found.libraries, IsEmpty());
  EXPECT_THAT(found.mpi, IsEmpty());
}

// Whoever opens a file that somebody has a lease on waits until that one gives it up: as on a file system
// whose server is gone. Source: fcntl(2), "Leases".
TEST_F(DetectLimits, AFileThatHangsIsLeftOut) {
  file("/etc/os-release", "PRETTY_NAME=\"Debian\"\n");
  file("/proc/meminfo", "MemTotal: 4 kB\n");
  file("/proc/sys/kernel/osrelease", "6.1.0\n");
  const fs::path hung = probes_.root / "etc/os-release";
  const int lease = open(hung.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(lease, 0);
  std::signal(SIGIO, SIG_IGN); // what the kernel sends to who has the lease
  if (fcntl(lease, F_SETLEASE, F_WRLCK) != 0) {
    close(lease);
    GTEST_SKIP() << "no leases on this file system";
  }
  probes_.limits.access = std::chrono::milliseconds(1000);
  const auto start = Clock::now();
  const SystemDescription found = detect(probes_);
  const auto time = Clock::now() - start;
  close(lease);
  EXPECT_LT(time, std::chrono::seconds(6));
  EXPECT_GE(time, std::chrono::milliseconds(1000));
  EXPECT_THAT(found.notes, ElementsAre(hung.string() + " was left out: no answer within 1 s"));
  EXPECT_EQ(found.os, "");
  EXPECT_EQ(found.memory_bytes, 4096u); // all else is there
  EXPECT_EQ(found.kernel, "6.1.0");
}

TEST_F(DetectLimits, NoMoreTimeForFiles) {
  file("/proc/meminfo", "MemTotal: 4 kB\n");
  probes_.limits.files = std::chrono::milliseconds(0);
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.memory_bytes, 0u);
  EXPECT_EQ(found.cpu.name, "znver3");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("the remaining files were skipped")));
}

TEST_F(DetectLimits, LargeDirectoriesAndFiles) {
  const fs::path directory = probes_.root / "many";
  ASSERT_TRUE(make_directories(directory));
  for (int i = 0; i < 20500; ++i)
    close(open((directory / ("x" + std::to_string(i))).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  file("/etc/os-release", std::string(size_t(17) << 20, 'x'));
  probes_.environment["LD_LIBRARY_PATH"] = "/many";
  const auto start = Clock::now();
  const SystemDescription found = detect(probes_);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3));
  EXPECT_THAT(found.notes, testing::UnorderedElementsAre(HasSubstr("/many: more than 20000 entries"),
                                                         HasSubstr("/etc/os-release: larger than 16 MiB")));
}

TEST_F(DetectLimits, RemoteFileSystems) {
  EXPECT_THAT(remote_mounts("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                            "23 22 0:30 / /home rw,nosuid shared:7 master:2 - nfs4 server:/home rw\n"
                            "24 22 0:31 / /my\\040apps rw - fuse.sshfs me@there:/apps rw\n"
                            "25 22 0:32 / /tmp rw - tmpfs none rw\n26 22 0:33 / / rw - nfs server:/ rw\n"
                            "damaged\n27 22 0:34 / /x rw -\n28 - nfs\n"),
              ElementsAre("/home", "/my apps"));
  // Over links, absolute and relative, without a look into the mount.
  const fs::path top = directory_.path() / "links";
  const std::string mount = (top / "mnt").string();
  fs::create_directories(top / "usr");
  fs::create_directory_symlink(mount + "/tree", top / "usr" / "apps");
  fs::create_directory_symlink("../mnt", top / "usr" / "other");
  fs::create_directory_symlink("self", top / "self");
  EXPECT_EQ(place_of(mount + "/a/b", {"/elsewhere", mount}), mount);
  EXPECT_EQ(place_of((top / "usr/apps/lib").string(), {mount}), mount);
  EXPECT_EQ(place_of((top / "usr/./other/lib").string(), {mount}), mount);
  for (const char* path : {"usr/local", "mntx/a", "self/a"})
    EXPECT_EQ(place_of((top / path).string(), {mount}), std::nullopt) << path;
  EXPECT_EQ(place_of(mount, {mount}), mount);
}

// A tree with many programs: only those that are known are looked at.
TEST_F(DetectLimits, ALargeEasyBuildTree) {
  for (int i = 0; i < 2000; ++i)
    fs::create_directories(probes_.root / ("apps/software/Program" + std::to_string(i)));
  for (int i = 0; i < 40; ++i)
    file("/apps/software/FFTW/3." + std::to_string(i) + "-GCC-12/lib/libfftw3.so.3", elf());
  probes_.environment = {{"EASYBUILD_INSTALLPATH", "/apps"}};
  const auto start = Clock::now();
  const SystemDescription found = detect(probes_);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(found.libraries.size(), 32u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("more than 32 of FFTW")));
}

} // namespace
} // namespace xaas::system
