#include "device/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace xaas::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Programs that stand in for ptxas.
class AssemblerTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(make_directories(path("tmp")));
    ASSERT_EQ(setenv("TMPDIR", path("tmp").c_str(), 1), 0);
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(path("tmp"))) << "what was temporary is still there";
    unsetenv("TMPDIR");
  }
  fs::path path(const std::string& name) const { return directory_.path() / name; }

  // A script with this `name` that also reports its version.
  fs::path program(const std::string& name, const std::string& version,
                   const std::string& script = "exit 1") {
    const std::string release = version.substr(0, version.rfind('.'));
    const std::string text =
        "#!/bin/sh\nif [ \"$1\" = --version ]; then\n  echo 'Cuda compilation tools, release " + release +
        ", V" + version + "'\n  exit\nfi\n" + script + "\n";
    EXPECT_TRUE(make_directories(path(name).parent_path()));
    EXPECT_TRUE(write_file(path(name), text, 0755));
    return path(name);
  }
  // One that runs this instead of assembling.
  Assembler assembler(const std::string& script) {
    return {program("ptxas", "12.4.99", script), {12, 4}, "12.4.99"};
  }

  // No directory of this machine.
  AssemblerPlaces places() const { return {.local = path("local")}; }
  std::string found(const AssemblerPlaces& places) const {
    const Result<Assembler> assembler = find_assembler(places);
    return assembler ? assembler->version + " " + fs::relative(assembler->program, directory_.path()).string()
                     : assembler.error().message;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(AssemblerTest, IsFoundInOrder) {
  AssemblerPlaces all = places();
  const Result<Assembler> none = find_assembler(all);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::missing_tool);
  EXPECT_THAT(none.error().hint, AllOf(HasSubstr("CUDA_HOME"), HasSubstr("PTX")));

  program("local/cuda-9.2/bin/ptxas", "9.2.148");
  program("local/cuda-12.10/bin/ptxas", "12.10.1");
  program("local/cuda-12.9/bin/ptxas", "12.9.86");
  program("local/cuda-old/bin/ptxas", "99.0.0");
  EXPECT_EQ(found(all), "12.10.1 local/cuda-12.10/bin/ptxas");
  program("local/cuda/bin/ptxas", "11.8.89");
  EXPECT_EQ(found(all), "11.8.89 local/cuda/bin/ptxas");
  program("home/bin/ptxas", "12.2.140");
  all.toolkits = {path("nothing"), path("home")};
  EXPECT_EQ(found(all), "12.2.140 home/bin/ptxas");
  program("bin/ptxas", "12.6.85");
  all.path = {path("nothing"), path("bin")};
  EXPECT_EQ(found(all), "12.6.85 bin/ptxas");
  all.given = program("mine", "13.0.88");
  EXPECT_EQ(found(all), "13.0.88 mine");
  EXPECT_EQ(find_assembler(all)->release, (CudaRelease{13, 0}));
}

TEST_F(AssemblerTest, ThatDoesNotSayItsVersionIsPassedOver) {
  AssemblerPlaces all = places();
  all.path = {path("bin"), "relative", ""};
  ASSERT_TRUE(make_directories(path("bin")));
  ASSERT_TRUE(write_file(path("bin/ptxas"), "#!/bin/sh\necho ptxas\n", 0755));
  EXPECT_THAT(found(all), AllOf(HasSubstr("no ptxas that works"), HasSubstr("bin/ptxas does not report")));
  program("local/cuda/bin/ptxas", "12.8.93");
  EXPECT_EQ(found(all), "12.8.93 local/cuda/bin/ptxas");
  // A file that cannot be executed does not count.
  fs::permissions(path("bin/ptxas"), fs::perms::owner_read);
  EXPECT_EQ(found(all), "12.8.93 local/cuda/bin/ptxas");
}

TEST_F(AssemblerTest, ThatWasGivenHasNoSubstitute) {
  program("local/cuda/bin/ptxas", "12.8.93");
  AssemblerPlaces all = places();
  all.given = path("missing");
  EXPECT_EQ(find_assembler(all).error().kind, ErrorKind::not_found);
  ASSERT_TRUE(write_file(path("text"), "no program\n"));
  all.given = path("text");
  EXPECT_EQ(find_assembler(all).error().kind, ErrorKind::missing_tool);
  all.given = "/bin/true";
  const Result<Assembler> silent = find_assembler(all);
  EXPECT_EQ(silent.error().kind, ErrorKind::missing_tool);
  EXPECT_THAT(silent.error().message, HasSubstr("/bin/true"));
}

TEST_F(AssemblerTest, IsLookedForWhereTheEnvironmentSays) {
  const char* const path_before = std::getenv("PATH");
  const std::string before = path_before ? path_before : "";
  ASSERT_EQ(setenv("PATH", "/a:/b", 1), 0);
  ASSERT_EQ(setenv("CUDA_HOME", "/home", 1), 0);
  ASSERT_EQ(setenv("CUDA_PATH", "/path", 1), 0);
  const AssemblerPlaces found = places_of_environment("/mine");
  ASSERT_EQ(setenv("PATH", before.c_str(), 1), 0);
  unsetenv("CUDA_HOME");
  unsetenv("CUDA_PATH");
  EXPECT_EQ(found.given, "/mine");
  EXPECT_EQ(found.path, (std::vector<fs::path>{"/a", "/b"}));
  EXPECT_EQ(found.toolkits, (std::vector<fs::path>{"/home", "/path"}));
  EXPECT_EQ(found.local, "/usr/local");
}

TEST_F(AssemblerTest, SeesNothingOfThisProcess) {
  const int open_file = open("/etc/passwd", O_RDONLY); // without close-on-exec
  ASSERT_GE(open_file, 3);
  ASSERT_EQ(setenv("XAAS_TEST_SECRET", "secret", 1), 0);
  const Result<std::string> seen = assemble(assembler("{ printf '\\177ELF'; echo arguments $*; pwd; env; ls "
                                                      "-l /proc/self/fd; ulimit -c; ls; cat kernel.ptx; "
                                                      "grep NoNewPrivs /proc/self/status; } >kernel.cubin"),
                                            "the PTX", "sm_80", {.opt_level = 2, .relocatable = true});
  close(open_file);
  unsetenv("XAAS_TEST_SECRET");
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_THAT(*seen, AllOf(HasSubstr("arguments -arch=sm_80 -O2 -c kernel.ptx -o kernel.cubin\n"),
                           HasSubstr(path("tmp").string()), HasSubstr("the PTX"), Not(HasSubstr("passwd")),
                           Not(HasSubstr("secret")), Not(HasSubstr("HOME=")), HasSubstr("\n0\n"),
                           HasSubstr("NoNewPrivs:\t1")));
}

TEST_F(AssemblerTest, IsStoppedWhenItTakesTooLong) {
  const Result<std::string> busy =
      assemble(assembler("while :; do :; done"), "", "sm_80", {.time = std::chrono::seconds(1)});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, ErrorKind::failed);
  EXPECT_THAT(busy.error().message, AllOf(HasSubstr("sm_80"), HasSubstr("used up its time")));
  const auto start = std::chrono::steady_clock::now();
  const Result<std::string> asleep =
      assemble(assembler("sleep 600"), "", "sm_80", {.time = std::chrono::seconds(1)});
  ASSERT_FALSE(asleep);
  EXPECT_EQ(asleep.error().kind, ErrorKind::failed);
  EXPECT_THAT(asleep.error().message, AllOf(HasSubstr("sm_80"), HasSubstr("not finished after 4 s")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(120));
}

TEST_F(AssemblerTest, HasAsMuchMemoryAsItIsGiven) {
  // A shell that doubles a text, up to 64 MiB.
  const Assembler hungry =
      assembler("x=0123456789abcdef\nfor i in 1 2 3 4 5 6 7 8 9 10 11; do x=$x$x$x$x; done\n"
                "printf '\\177ELF' >kernel.cubin");
  const Result<std::string> starved = assemble(hungry, "", "sm_80", {.memory = uint64_t(1) << 24});
  ASSERT_FALSE(starved);
  EXPECT_EQ(starved.error().kind, ErrorKind::failed);
  const Result<std::string> fed = assemble(hungry, "", "sm_80", {.memory = uint64_t(1) << 31});
  EXPECT_TRUE(fed) << fed.error().message;
}

TEST_F(AssemblerTest, ThatDiesOrMakesNothingIsAnError) {
  const auto message = [&](const std::string& script) {
    const Result<std::string> cubin = assemble(assembler(script), "", "sm_80");
    return cubin ? std::string("a cubin") : cubin.error().message;
  };
  EXPECT_THAT(message("kill -SEGV $$"), HasSubstr("ended by signal 11"));
  EXPECT_THAT(message("exit 3"), HasSubstr("ptxas 12.4.99 ends with 3"));
  EXPECT_THAT(message("exit 0"), HasSubstr("made no cubin"));
  EXPECT_THAT(message("echo text >kernel.cubin"), HasSubstr("made no cubin"));
  const Result<std::string> gone = assemble({path("gone"), {12, 4}, "12.4.99"}, "", "sm_80");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::missing_tool);
}

TEST_F(AssemblerTest, ThatSaysOrWritesTooMuchIsStopped) {
  const Result<std::string> chatty = assemble(assembler("yes"), "", "sm_80");
  ASSERT_FALSE(chatty);
  EXPECT_EQ(chatty.error().kind, ErrorKind::failed);
  EXPECT_THAT(chatty.error().message,
              AllOf(HasSubstr("sm_80"), HasSubstr("prints more than 16777216 bytes")));
  AssemblerPlaces all = places();
  all.given = path("chatty");
  ASSERT_TRUE(write_file(all.given, "#!/bin/sh\nyes\n", 0755));
  EXPECT_THAT(found(all), HasSubstr("chatty: prints more than"));

  const Result<std::string> huge = assemble(
      assembler("printf '\\177ELF' >kernel.cubin; truncate -s 1073741825 kernel.cubin"), "", "sm_80");
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind, ErrorKind::failed);
}

TEST_F(AssemblerTest, WhoseOutputIsNoPlainFileIsAnError) {
  for (const char* const script :
       {"mkfifo kernel.cubin", "ln -s /dev/zero kernel.cubin", "mkdir kernel.cubin"}) {
    const Result<std::string> cubin = assemble(assembler(script), "", "sm_80");
    ASSERT_FALSE(cubin) << script;
    EXPECT_EQ(cubin.error().kind, ErrorKind::failed);
    EXPECT_THAT(cubin.error().message,
                AllOf(HasSubstr("made no cubin: kernel.cubin: "), Not(HasSubstr("tmp"))))
        << script;
  }
}

TEST_F(AssemblerTest, IsQuotedWithItsFirstLines) {
  const Result<std::string> cubin = assemble(
      assembler("i=0; while [ $i -lt 100 ]; do echo \"line $i: \033[31mbad\"; i=$((i + 1)); done; exit 255"),
      "", "sm_80");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::failed);
  EXPECT_EQ(cubin.error().message, R"(assembling for sm_80: line 0: \u001b[31mbad)");
  EXPECT_THAT(cubin.error().output,
              AllOf(HasSubstr("line 9:"), Not(HasSubstr("line 10:")), Not(HasSubstr("\033"))));
}

TEST_F(AssemblerTest, IsNotAskedForWhatIsNone) {
  const Assembler never = assembler("printf '\\177ELF' >kernel.cubin");
  for (const char* arch : {"gfx90a", "sm_90 -v", "", "@file", "-h", "compute_90"})
    EXPECT_EQ(assemble(never, "", arch).error().kind, ErrorKind::usage) << arch;
  EXPECT_EQ(assemble(never, "", "sm_90", {.opt_level = 4}).error().kind, ErrorKind::usage);
}

// --- with a CUDA toolkit

class Ptxas : public AssemblerTest {
protected:
  void SetUp() override {
    AssemblerTest::SetUp();
    const std::optional<Assembler> assembler = machines_assembler();
    if (!assembler)
      GTEST_SKIP() << "NO CUDA TOOLKIT on this machine: nothing is assembled";
    ptxas_ = *assembler;
    // Every release from 11.0 to 13.x has it.
    if (ptxas_.release < CudaRelease{11, 0})
      GTEST_SKIP() << "A CUDA TOOLKIT older than 11.0: nothing is assembled";
  }
  Assembler ptxas_;
};

unsigned elf_type(const std::string& elf) {
  return static_cast<unsigned char>(elf.at(16));
}

TEST_F(Ptxas, MakesMachineCode) {
  const std::string ptx = kernel("sm_80", "7.0");
  const Result<std::string> cubin = assemble(ptxas_, ptx, "sm_80");
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(elf_type(*cubin), 2u); // a program
  EXPECT_TRUE(*assemble(ptxas_, ptx, "sm_80") == *cubin) << "not the same again";
  const Result<std::string> relocatable = assemble(ptxas_, ptx, "sm_80", {.relocatable = true});
  ASSERT_TRUE(relocatable) << relocatable.error().message;
  EXPECT_EQ(elf_type(*relocatable), 1u);
  const Result<std::string> debug = assemble(ptxas_, ptx, "sm_80", {.debug = true});
  ASSERT_TRUE(debug) << debug.error().message;
  const Result<std::string> later = assemble(ptxas_, ptx, "sm_86", {.opt_level = 0});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_FALSE(*later == *cubin);
}

TEST_F(Ptxas, SaysWhichArchitectureItDoesNotKnow) {
  for (const std::string arch : {"sm_20", "sm_999"}) {
    const Result<std::string> cubin = assemble(ptxas_, kernel("sm_50", "6.3"), arch);
    ASSERT_FALSE(cubin);
    EXPECT_EQ(cubin.error().kind, ErrorKind::unsatisfied);
    EXPECT_THAT(cubin.error().message, AllOf(HasSubstr("does not know " + arch), HasSubstr(ptxas_.version)));
    EXPECT_THAT(cubin.error().hint, HasSubstr("PTX"));
  }
  if (ptxas_.release >= CudaRelease{13, 0}) {
    EXPECT_EQ(assemble(ptxas_, kernel("sm_70", "6.3"), "sm_70").error().kind, ErrorKind::unsatisfied);
  }
}

TEST_F(Ptxas, SaysThatPtxIsTooNew) {
  const Result<std::string> cubin = assemble(ptxas_, kernel("sm_80", "99.0"), "sm_80");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(cubin.error().message, AllOf(HasSubstr("sm_80"), HasSubstr("version")));
  EXPECT_THAT(cubin.error().output, HasSubstr("99.0"));
}

TEST_F(Ptxas, SaysWhatIsWrong) {
  const Result<std::string> cubin = assemble(ptxas_, kernel("sm_80", "7.0", "%nothing"), "sm_80");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::failed);
  EXPECT_THAT(cubin.error().message,
              AllOf(HasSubstr("assembling for sm_80"), HasSubstr("kernel.ptx, line 9")));
  EXPECT_THAT(cubin.error().output, HasSubstr("%nothing"));
  const Result<std::string> empty = assemble(ptxas_, "", "sm_80");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::failed);
  const Result<std::string> for_later = assemble(ptxas_, kernel("sm_90", "7.8"), "sm_80");
  ASSERT_FALSE(for_later);
  EXPECT_EQ(for_later.error().kind, ErrorKind::failed);
}

} // namespace
} // namespace xaas::device
