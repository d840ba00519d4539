// The host's instruction set on a command line, and the command line that the front door makes of it.
#include "arguments.h"

#include <xaas/base/text.h>

#include <gmock/gmock.h>

namespace xaas::frontdoor {

namespace {

using testing::HasSubstr;
using ArgumentWords = std::vector<std::string>;

Arguments arguments_of(const ArgumentWords& words, const std::string& arch = "x86_64",
                       const std::string& level = "x86-64-v3") {
  session::Session session;
  session.arch = arch;
  session.level = level;
  return front_door_arguments(session, words);
}

std::string line_of(const ArgumentWords& words) {
  return " " + join(arguments_of(words).all, " ") + " ";
}

TEST(Arguments, TheHostsCpuIsWhatTheHostIsTold) {
  const std::pair<ArgumentWords, std::string> cases[] = {
      {{"-march=haswell"}, "haswell"},
      {{"-march=haswell", "-O2", "-march=skylake"}, "skylake"},
      {{"-Xarch_host", "-march=haswell"}, "haswell"},
      {{"-Xarch_x86_64", "-march=haswell"}, "haswell"},
      {{"-Xclang", "-target-cpu", "-Xclang", "znver3"}, "znver3"},
      {{"-march=haswell", ""}, "haswell"},
      // Options of other jobs, and values of other options.
      {{"-Xopenmp-target", "-march=sm_80"}, ""},
      {{"-Xopenmp-target=nvptx64-nvidia-cuda", "-march=sm_80"}, ""},
      {{"-march=haswell", "-Xopenmp-target", "-march=sm_80"}, "haswell"},
      {{"-Xarch_device", "-march=haswell"}, ""},
      {{"-Xarch_gfx90a", "-march=haswell"}, ""},
      {{"-Xclang", "-march=haswell"}, ""},
      {{"-Xassembler", "-march=haswell"}, ""},
      {{"-Wa,-march=haswell"}, ""},
      {{"-Wp,-march=haswell"}, ""},
      {{"-Xpreprocessor", "-march=haswell"}, ""},
      {{"-Xlinker", "-march=haswell"}, ""},
      {{"-Xcuda-ptxas", "-march=haswell"}, ""},
      {{"-Xoffload-linker", "-march=haswell"}, ""},
      {{"-o", "-march=haswell"}, ""},
      {{"-MF", "-march=haswell"}, ""},
      {{"-D", "-march=haswell"}, ""},
      {{"-include", "-march=haswell"}, ""},
      {{"-mllvm", "-march=haswell"}, ""},
      {{"--sysroot", "-march=haswell"}, ""},
      {{"-c", "--", "-march=haswell"}, ""},
  };
  for (const auto& [words, cpu] : cases) {
    const Arguments arguments = arguments_of(words);
    EXPECT_EQ(arguments.written.march, cpu) << join(words, " ");
    EXPECT_FALSE(arguments.written.other_triple) << join(words, " ");
  }
  EXPECT_EQ(arguments_of({"-mcpu=neoverse-v1"}, "aarch64", "armv8-a").written.march, "neoverse-v1");
  EXPECT_EQ(arguments_of({"-mtune=skylake", "-o", "-mtune=haswell"}).written.mtune, "skylake");
}

TEST(Arguments, OtherTargets) {
  for (const ArgumentWords& words :
       {ArgumentWords{"-m32"}, {"--target=i386-linux-gnu"}, {"-target", "i386-linux-gnu"}})
    EXPECT_TRUE(arguments_of(words).written.other_triple) << join(words, " ");
  for (const ArgumentWords& words :
       {ArgumentWords{"-o", "-m32"}, {"-Xlinker", "-m32"}, {"-m64"}, {"-include", "--target=x"}})
    EXPECT_FALSE(arguments_of(words).written.other_triple) << join(words, " ");
}

TEST(Arguments, AnyOptionForOptimizationCounts) {
  for (const ArgumentWords& words :
       {ArgumentWords{"-O"}, {"-O0"}, {"-O2"}, {"-Og"}, {"-Os"}, {"-O4"}, {"-Ofast"}, {"-g", "-O3"}})
    EXPECT_TRUE(arguments_of(words).written.optimization) << join(words, " ");
  for (const ArgumentWords& words :
       {ArgumentWords{"-c", "a.c"}, {"-g"}, {"-o", "-O2"}, {"-Wl,-O2"}, {"-Xlinker", "-O1"}})
    EXPECT_FALSE(arguments_of(words).written.optimization) << join(words, " ");
}

TEST(Arguments, NativeIsTheLevel) {
  EXPECT_THAT(line_of({"-march=native"}), HasSubstr(" -march=x86-64-v3 "));
  EXPECT_THAT(line_of({"-Xarch_host", "-march=native"}), HasSubstr(" -Xarch_host -march=x86-64-v3 "));
  EXPECT_THAT(line_of({"-o", "-march=native"}), HasSubstr(" -o -march=native "));
  EXPECT_EQ(line_of({"-mtune=native"}).find("native"), std::string::npos);
  const Arguments arm = arguments_of({"-mcpu=native"}, "aarch64", "armv8-a");
  EXPECT_EQ(join(arm.all, " ").find("native"), std::string::npos);
  EXPECT_EQ(arm.written.march, "native");
}

TEST(Arguments, WhatKeepsIrFromUsIsDropped) {
  EXPECT_EQ(line_of({"-flto=thin", "-c", "a.c"}).find("-flto"), std::string::npos);
  EXPECT_EQ(line_of({"-Xarch_host", "-flto", "-c", "a.c"}).find("-Xarch_host"), std::string::npos);
  EXPECT_THAT(line_of({"-o", "-flto"}), HasSubstr(" -o -flto "));
  EXPECT_THAT(line_of({"-c", "--", "-flto.c"}), HasSubstr(" -- -flto.c "));
}

TEST(Arguments, AllWordsStayInTheirOrder) {
  const ArgumentWords words = {"-c",       "-Ia", "-I", "b", "-D", "-c", "-Wl,-x,y",
                               "-unknown", "a.c", "-o", "-", "-l", "m",  "-o"};
  EXPECT_THAT(line_of(words), HasSubstr(" " + join(words, " ") + " "));
  // Added words come before the inputs after `--`.
  EXPECT_THAT(line_of({"-fgpu-rdc", "-c", "--", "a.cu"}), HasSubstr("--offload-new-driver"));
  EXPECT_TRUE(line_of({"-fgpu-rdc", "-c", "--", "a.cu"}).ends_with(" -- a.cu "));
}

} // namespace

} // namespace xaas::frontdoor
