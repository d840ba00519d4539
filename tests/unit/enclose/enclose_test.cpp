// What a build step can see and do under each runtime that is installed, as root and as an ordinary user.
#include "enclose/testing.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstddef>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

using namespace xaas;
using namespace xaas::enclose;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

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
  EXPECT_THAT(said({"print", "/proc/1/cmdline"}), Not(HasSubstr("test_enclose")));
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

// Also for the tests in stopping_test.cpp.
INSTANTIATE_TEST_SUITE_P(Builders, Inside,
                         testing::Values(Kind{"bwrap", true}, Kind{"bwrap", false}, Kind{"namespaces", true},
                                         Kind{"namespaces", false}, Kind{"podman", true},
                                         Kind{"charliecloud", true}, Kind{"charliecloud", false},
                                         Kind{"host", true}, Kind{"host", false}, Kind{"apptainer", false}),
                         kind_name);

INSTANTIATE_TEST_SUITE_P(Builders, OnHost, testing::Values(Kind{"host", true}, Kind{"host", false}),
                         kind_name);

} // namespace
