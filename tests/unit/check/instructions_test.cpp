// The features that instructions need, compared with an authority: every intrinsic of Clang's headers names
// the features that it requires, and its instructions may need no others.
#include "audit.h"
#include "x86_instructions.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>

#include <gmock/gmock.h>

#include <regex>
#include <set>

namespace xaas::check {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

std::string run_clang(const fs::path& directory, const std::string& arguments) {
  const std::string command = "cd '" + directory.string() + "' && " XAAS_TEST_CLANG " " + arguments + " 2>&1";
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, count);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output.substr(0, 2000);
  return output;
}

// The functions of the headers, with the features in their `target` attributes.
std::map<std::string, std::vector<std::string>> intrinsics(const fs::path& directory) {
  const std::string text =
      run_clang(directory, "--target=x86_64-linux-gnu -E -P -x c -include x86intrin.h /dev/null");
  const std::regex pattern(R"x(__target__\("([^"]*)"\)[^;{}]*?\)\)\s*(\w+)\s*\([^;{}]*\)\s*\{)x");
  std::map<std::string, std::vector<std::string>> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    // LLVM 22 cannot select these for AVX512-FP16 without AVX512VL.
    if (const std::string name = (*at)[2];
        name.find("_reduce_") == std::string::npos || !name.ends_with("_ph"))
      found[name] = split(std::regex_replace((*at)[1].str(), std::regex(" "), ""), ',');
  return found;
}

TEST(X86Instructions, IntrinsicsNeedWhatTheyAskFor) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  const auto asked = intrinsics(directory->path());
  ASSERT_GT(asked.size(), 4000u);
  std::string source = "#include <x86intrin.h>\nvoid *const table[] = {\n";
  for (const auto& [name, features] : asked)
    source += "(void *)&" + name + ",\n";
  source += "};\n";
  ASSERT_TRUE(write_file(directory->path() / "all.c", source));
  run_clang(directory->path(), "--target=x86_64-linux-gnu -march=x86-64 -O2 -w -c all.c -o all.o");
  const auto object = read_file(directory->path() / "all.o");
  ASSERT_TRUE(object);

  const auto cpu = target::cpu_by_name("x86_64", "x86-64");
  const auto uses = instructions_beyond(*object, *cpu, 100000);
  ASSERT_TRUE(uses) << uses.error().message;
  std::set<std::string> explained;
  for (const auto& [feature, use] : *uses)
    for (const std::string& function : use.functions) {
      const auto found = asked.find(function);
      ASSERT_NE(found, asked.end()) << function;
      const auto implied = target::with_implied("x86_64", found->second);
      EXPECT_THAT(implied, Contains(feature)) << function << " asks for " << join(found->second, ",");
      explained.insert(function);
    }

  // The reverse: an intrinsic that requires a feature needs it, except for a few that LLVM implements
  // without.
  std::vector<std::string> without;
  size_t asking = 0;
  for (const auto& [name, features] : asked) {
    if (target::missing_features(features, cpu->features).empty())
      continue;
    ++asking;
    if (!explained.count(name))
      without.push_back(name);
  }
  EXPECT_LT(without.size(), asking / 40) << join(without, " ");
}

// Instructions without needs are not mistaken for others with similar names.
TEST(X86Instructions, OfEveryCpu) {
  for (const char* opcode :
       {"PEXTRWrri", "MOVAPSrr", "TZCNT32rr", "BSF32rr", "XGETBV", "AND32rr", "ENDBR64", "PAUSE"})
    EXPECT_THAT(x86_features(opcode, Encoding::legacy), IsEmpty()) << opcode;
}

TEST(X86Instructions, TheEncodingDecides) {
  using ::testing::ElementsAre;
  EXPECT_THAT(x86_features("VADDPSZ128rr", Encoding::evex), ElementsAre("avx512f", "avx512vl"));
  EXPECT_THAT(x86_features("VADDPSYrr", Encoding::vex), ElementsAre("avx"));
  EXPECT_THAT(x86_features("VPADDDYrr", Encoding::vex), ElementsAre("avx2"));
  EXPECT_THAT(x86_features("VPMOVZXBWZ128rr", Encoding::evex), ElementsAre("avx512bw", "avx512vl"));
  EXPECT_THAT(x86_features("ADD64rr", Encoding::rex2), ElementsAre("egpr"));
  EXPECT_THAT(x86_features("VFMADDPS4rr", Encoding::vex), ElementsAre("fma4"));
  const uint8_t vex[] = {0xc5, 0xf8, 0x77}, evex[] = {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0},
                lock[] = {0xf0, 0x0f, 0xc1, 0x00}, xop[] = {0x8f, 0xe8, 0x78}, pop[] = {0x8f, 0xc0, 0x90};
  EXPECT_EQ(encoding_of(vex, sizeof(vex)), Encoding::vex);
  EXPECT_EQ(encoding_of(evex, sizeof(evex)), Encoding::evex);
  EXPECT_EQ(encoding_of(lock, sizeof(lock)), Encoding::legacy);
  EXPECT_EQ(encoding_of(xop, sizeof(xop)), Encoding::xop);
  EXPECT_EQ(encoding_of(pop, sizeof(pop)), Encoding::legacy);
}

TEST(Audit, AArch64) {
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  ASSERT_TRUE(write_file(directory->path() / "a.c",
                         "void plain(float *x) { x[0] += 1; }\n"
                         "__attribute__((target(\"sve\"))) void wide(float *x, int n) {\n"
                         "  for (int i = 0; i < n; ++i) x[i] += 1;\n}\n"));
  run_clang(directory->path(), "--target=aarch64-linux-gnu -O2 -c a.c -o a.o");
  const auto object = read_file(directory->path() / "a.o");
  const auto uses = instructions_beyond(*object, *target::cpu_by_name("aarch64", "armv8-a"));
  ASSERT_TRUE(uses) << uses.error().message;
  ASSERT_EQ(uses->size(), 1u);
  EXPECT_EQ(uses->begin()->first, "sve");
  EXPECT_EQ(uses->begin()->second.functions, std::vector<std::string>{"wide"});
  EXPECT_THAT(*instructions_beyond(*object, *target::cpu_by_name("aarch64", "neoverse-v1")), IsEmpty());
}

} // namespace
} // namespace xaas::check
