// Files of device code and their origins.
#include "device/files.h"
#include "frontdoor/testing.h"

#include <xaas/harvest/device_file.h>
#include <xaas/harvest/harvest.h>

#include <gmock/gmock.h>

namespace xaas::frontdoor {

namespace {

using Form = link::DeviceFile::Form;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// "form arch,arch" of a file with these contents; "" if it has no device code.
std::string what_is(const session::Session& session, const std::string& content) {
  const auto device = harvest::device_file_of(session, content);
  EXPECT_TRUE(device) << device.error().message;
  if (!device || !*device)
    return "";
  std::string text = to_string((*device)->form);
  for (const auto& [arch, unit] : (*device)->units)
    text += " " + arch;
  return text;
}

std::string elf(unsigned machine) {
  std::string header("\177ELF\2\1\1", 7);
  header.resize(64);
  header[18] = static_cast<char>(machine);
  return header;
}

} // namespace

TEST(DeviceFiles, AreKnownByTheirContents) {
  const session::Session session;
  EXPECT_EQ(what_is(session, ".version 8.8\n.target sm_80\n"), "ptx");
  EXPECT_EQ(what_is(session, "//\n// a compiler\n\n/* of\n * many */\t.version\t7.0\n"), "ptx");
  EXPECT_EQ(what_is(session, elf(190)), "cubin");
  EXPECT_EQ(what_is(session, elf(224)), "code-object");
  EXPECT_EQ(what_is(session, std::string("\x03\x02\x23\x07\0\0", 6)), "spirv");
  EXPECT_EQ(what_is(session, std::string("\x07\x23\x02\x03\0\0", 6)), "spirv");
  EXPECT_EQ(what_is(session, std::string("\x50\xed\x55\xba\1\0", 6)), "fatbin");
}

TEST(DeviceFiles, OthersAreNot) {
  const session::Session session;
  for (const std::string& content :
       {std::string(), std::string("\n"), std::string("//"), std::string("/*"),
        std::string("/* .version 8.8"), std::string(".versions 8"), std::string(".version"),
        std::string("text .version 8.8"), std::string("\177ELF"), elf(62), std::string("kernel void k() {}"),
        std::string("\x03\x02\x23", 3)})
    EXPECT_EQ(what_is(session, content), "") << content;
}

class DeviceFilesMade : public FrontDoorTest {
protected:
  // The installed file of this name, after the whole build tree was installed.
  link::InstalledFile installed(const std::string& name) {
    const auto files = harvest::harvest(session_, path("build"));
    EXPECT_TRUE(files) << files.error().message;
    for (const link::InstalledFile& file : files ? *files : std::vector<link::InstalledFile>())
      if (file.path == name)
        return file;
    return {};
  }
};

// These need no toolkit, which would determine the version of PTX.
TEST_F(DeviceFilesMade, PtxOfPlainCAndOpenClCIsCaptured) {
  write("src/k.c", "__attribute__((device_kernel)) void set(float *x, float a) { *x = a; }\n");
  write("src/k.cl", "kernel void set(global float *x, float a) { *x = a; }\n");
  sh("$CC -O2 --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx78 -S k.c -o "
     "../build/k.ptx");
  sh("$CC -O2 --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx78 -x cl -S k.cl "
     "-o ../build/cl.ptx");
  for (const char* const name : {"k.ptx", "cl.ptx"}) {
    const link::InstalledFile file = installed(name);
    ASSERT_TRUE(file.device) << name;
    EXPECT_EQ(file.device->form, Form::ptx);
    EXPECT_THAT(file.device->units, ElementsAre(Pair("sm_80", testing::_))) << file.device->reason;
    EXPECT_FALSE(file.native);
    // The build's own file is carried.
    EXPECT_EQ(*session_.content().get(file.digest), read("build/" + std::string(name)));
  }
  session_.gpus = {"sm_75", "sm_90"};
  use_level("gpus", "x86-64");
  sh("$CC -O1 --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx78 -S k.c -o "
     "../build/k.ptx");
  EXPECT_THAT(installed("k.ptx").device->units,
              ElementsAre(Pair("sm_75", testing::_), Pair("sm_90", testing::_)));
}

TEST_F(DeviceFilesMade, ChangedOrWithoutAnArchitectureTheyAreCarried) {
  write("src/k.c", "__attribute__((device_kernel)) void set(float *x, float a) { *x = a; }\n");
  sh("$CC --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx78 -S k.c -o "
     "../build/k.ptx");
  write("build/changed.ptx", read("build/k.ptx") + "// a remark\n");
  sh("$CC --target=nvptx64-nvidia-cuda -S k.c -o ../build/any.ptx");
  for (const char* const name : {"changed.ptx", "any.ptx"}) {
    const link::InstalledFile file = installed(name);
    ASSERT_TRUE(file.device) << name;
    EXPECT_TRUE(file.device->units.empty());
    EXPECT_TRUE(file.native);
  }
  EXPECT_THAT(installed("any.ptx").device->reason, HasSubstr("no GPU architecture"));
}

TEST_F(DeviceFilesMade, SpirvIsPortable) {
  write("src/k.cl", "kernel void set(global float *x, float a) { *x = a; }\n");
  sh("$CC --target=spirv64 -O2 -x cl k.cl -c -o ../build/k.spv");
  sh("$CC -target spirv64-unknown-unknown -cl-std=CL3.0 -x cl k.cl -c -o ../build/l.spv");
  for (const char* const name : {"k.spv", "l.spv"}) {
    const link::InstalledFile file = installed(name);
    ASSERT_TRUE(file.device) << name;
    EXPECT_EQ(file.device->form, Form::spirv);
    EXPECT_FALSE(file.native);
  }
}

TEST_F(DeviceFilesMade, CodeForAmdsGpusIsCarriedAndCounted) {
  write("src/k.cl", "kernel void set(global float *x, float a) { *x = a; }\n");
  sh("$CC --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -x cl k.cl -o ../build/k.hsaco");
  const link::InstalledFile file = installed("k.hsaco");
  ASSERT_TRUE(file.device);
  EXPECT_EQ(file.device->form, Form::code_object);
  EXPECT_TRUE(file.native);
}

} // namespace xaas::frontdoor
