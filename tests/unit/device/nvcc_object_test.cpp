#include <xaas/device/nvcc_object.h>

#include <xaas/base/file.h>
#include <xaas/base/process.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::device {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string object_of(const std::string& assembly) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path source = directory.path() / "a.s", object = directory.path() / "a.o";
  EXPECT_TRUE(write_file(source, assembly));
  const Result<ProcessResult> made =
      run_process({.arguments = {XAAS_TEST_CLANG, "--target=x86_64-linux-gnu", "-c", source.string(), "-o",
                                 object.string()}});
  EXPECT_TRUE(made && made->exit_code == 0) << made->output;
  return *read_file(object);
}

std::string with_symbols(const std::string& section, std::initializer_list<const char*> symbols) {
  std::string text = ".section " + section + ",\"a\"\n.quad 0\n.text\n";
  for (const char* symbol : symbols)
    text += std::string(symbol) + ": ret\n";
  return object_of(text);
}

TEST(NvccObject, KernelsOfNvcc) {
  EXPECT_THAT(nvcc_kernels(with_symbols(".nv_fatbin", {"_Z24__device_stub__Z5plainPiPi",
                                                       "_Z24__device_stub__Z5plainPiPi.cold",
                                                       "_ZZL28__device_stub__Z9local_onePiPiE5__tmp",
                                                       "_Z1fPiPf", "_ZL29__device_stub__Z5twiceIfEvPT_Pf"})),
              ElementsAre("_Z5plainPi", "_Z5twiceIfEvPT_", "_Z9local_onePi"));
  EXPECT_THAT(nvcc_kernels(with_symbols("__nv_relfatbin", {"_Z24__device_stub__Z5plainPiPi"})),
              ElementsAre("_Z5plainPi"));
}

TEST(NvccObject, KernelsOfClang) {
  EXPECT_THAT(nvcc_kernels(with_symbols(".nv_fatbin", {"_Z20__device_stub__scalePf", "__device_stub__plain",
                                                       "_ZN2ns20__device_stub__scaleEPf"})),
              ElementsAre("_Z5scalePf", "_ZN2ns5scaleEPf", "plain"));
}

TEST(NvccObject, KernelsWithoutNames) {
  EXPECT_THAT(nvcc_kernels(with_symbols(".nv_fatbin",
                                        {"_Z1fPiPf", "_Z99__device_stub__Z5plainPiPi", "_Z14__device_stub_",
                                         "_Z15__device_stub__", "x__device_stub__y"})),
              ElementsAre(""));
}

TEST(NvccObject, KernelsInArchives) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path archive = directory.path() / "a.a";
  Command command;
  command.arguments = {XAAS_TEST_AR, "rcs", archive.string()};
  int number = 0;
  for (const std::string& object :
       {with_symbols(".nv_fatbin", {"_Z24__device_stub__Z5plainPiPi"}),
        with_symbols(".rodata", {"_Z29__device_stub__Z5twiceIfEvPT_Pf"}),
        with_symbols(".nv_fatbin", {"_Z20__device_stub__scalePf"}), std::string("text")}) {
    const fs::path member = directory.path() / (std::to_string(++number) + ".o");
    ASSERT_TRUE(write_file(member, object));
    command.arguments.push_back(member.string());
  }
  const Result<ProcessResult> made = run_process(command);
  ASSERT_TRUE(made && made->exit_code == 0) << made->output;
  const std::string bytes = *read_file(archive);
  EXPECT_THAT(nvcc_kernels(bytes), ElementsAre("_Z5plainPi", "_Z5scalePf"));
  for (size_t length = 0; length < bytes.size(); ++length)
    nvcc_kernels(bytes.substr(0, length));
}

TEST(NvccObject, OtherFilesHaveNone) {
  EXPECT_THAT(nvcc_kernels(with_symbols(".rodata", {"_Z24__device_stub__Z5plainPiPi"})), IsEmpty());
  EXPECT_THAT(nvcc_kernels("!<arch>\n"), IsEmpty());
  EXPECT_THAT(nvcc_kernels(""), IsEmpty());
}

TEST(NvccObject, DamageIsNoError) {
  const std::string sound = with_symbols(".nv_fatbin", {"_Z24__device_stub__Z5plainPiPi"});
  for (size_t length = 0; length < sound.size(); ++length)
    nvcc_kernels(sound.substr(0, length));
  for (size_t at = 0; at < sound.size(); ++at) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    nvcc_kernels(damaged);
  }
}

} // namespace

} // namespace xaas::device
