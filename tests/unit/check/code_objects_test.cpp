// AMD GPU code in a program that Clang compiles here.
#include "code_objects.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/device/code_object.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::check {

namespace {

using ::testing::HasSubstr;

class CodeObjectsOfPrograms : public ::testing::Test {
protected:
  CodeObjectsOfPrograms() : directory_(*TemporaryDirectory::create()) {}

  std::string made(const std::string& input, const std::string& text,
                   const std::vector<std::string>& options) {
    const std::string source = (directory_.path() / input).string(), output = source + ".out";
    EXPECT_TRUE(write_file(source, text));
    Command command{.arguments = {XAAS_TEST_CLANG, "-o", output, source}};
    command.arguments.insert(command.arguments.end(), options.begin(), options.end());
    command.directory = directory_.path();
    const auto ran = run_process(command);
    const auto bytes = read_file(output);
    return ran && ran->exit_code == 0 && bytes ? *bytes : std::string();
  }
  // Empty if there is no linker for it next to Clang.
  std::string code_object() {
    return made("a.cl", "kernel void one(global int* p) { *p = 1; }\n",
                {"--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-O1"});
  }
  std::string program_with(const std::string& section, const std::string& bytes) {
    EXPECT_TRUE(write_file(directory_.path() / "bytes", bytes));
    return made("a.s", ".section " + section + ",\"a\",@progbits\n.balign 4096\n.incbin \"bytes\"\n",
                {"--target=x86_64-linux-gnu", "-shared", "-nostdlib", "-fuse-ld=lld"});
  }

  TemporaryDirectory directory_;
};

TEST_F(CodeObjectsOfPrograms, WholeOnesAndDamagedOnes) {
  const std::string object = code_object();
  if (object.empty())
    GTEST_SKIP() << "no linker for AMD's GPUs beside Clang";
  const std::string bundle = *device::code_object_bundle({{"gfx90a", object}});
  EXPECT_TRUE(check_code_objects(program_with(".hip_fatbin", bundle)));
  EXPECT_TRUE(check_code_objects(program_with(".hip_fatbin", *device::code_object_bundle({}))));
  EXPECT_TRUE(check_code_objects(program_with(".rodata", "no code for GPUs")));
  EXPECT_TRUE(check_code_objects(program_with(".hip_fatbin", "CCOB, compressed by Clang")));

  const auto refused = [&](const std::string& damaged) {
    const auto checked = check_code_objects(program_with(".hip_fatbin", damaged));
    EXPECT_FALSE(checked);
    if (checked)
      return std::string();
    EXPECT_EQ(checked.error().kind, ErrorKind::integrity);
    return checked.error().message;
  };
  std::string changed = bundle;
  changed.replace(changed.find("gfx90a"), 6, "gfx908"); // the entry's ID
  EXPECT_THAT(refused(changed), HasSubstr("is for gfx90a"));
  changed = bundle;
  changed[4096 + 18] = 62; // e_machine: x86-64
  EXPECT_THAT(refused(changed), HasSubstr("not an ELF file for an AMD GPU"));
  EXPECT_THAT(refused(bundle.substr(0, bundle.size() - 1)), HasSubstr("bundle"));
  EXPECT_FALSE(check_code_objects("no ELF file"));
}

} // namespace

} // namespace xaas::check
