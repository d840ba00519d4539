// Links of device code from objects that the test compiles with Clang.
#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/link/device.h>
#include <xaas/link/note.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::link {

namespace {

using ::testing::HasSubstr;

class CodeObjectLinks : public ::testing::Test {
protected:
  CodeObjectLinks() : directory_(*TemporaryDirectory::create()) {}

  std::string object(const std::string& source) {
    const std::string input = (directory_.path() / "a.cl").string(), output = input + ".o";
    EXPECT_TRUE(write_file(input, source));
    const auto made =
        run_process({.arguments = {XAAS_TEST_CLANG, "--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib",
                                   "-O1", "-c", "-o", output, input}});
    EXPECT_TRUE(made && made->exit_code == 0);
    const auto bytes = read_file(output);
    return bytes ? *bytes : std::string();
  }

  TemporaryDirectory directory_;
};

TEST_F(CodeObjectLinks, MakesASharedObject) {
  const std::string one = object("kernel void one(global int* p) { *p = 1; }\n");
  const auto linked = link_code_object({one});
  ASSERT_TRUE(linked) << linked.error().message;
  EXPECT_TRUE(is_elf(*linked));
  EXPECT_EQ((*linked)[16], 3); // e_type: ET_DYN
  EXPECT_THAT(*linked, HasSubstr("one.kd"));
  EXPECT_EQ(*linked, *link_code_object({one}));
}

TEST_F(CodeObjectLinks, WhatCannotBeLinked) {
  const auto undefined = link_code_object(
      {object("int missing(int i);\nkernel void one(global int* p) { *p = missing(*p); }\n")});
  ASSERT_FALSE(undefined);
  EXPECT_EQ(undefined.error().kind, ErrorKind::failed);
  EXPECT_THAT(undefined.error().message, HasSubstr("missing"));
  const std::string one = object("kernel void one(global int* p) { *p = 1; }\n");
  EXPECT_THAT(link_code_object({one, one}).error().message, HasSubstr("duplicate symbol"));
  EXPECT_EQ(link_code_object({"INPUT(/etc/passwd)"}).error().kind, ErrorKind::integrity);
  for (const size_t size : {size_t(64), one.size() / 2, one.size() - 1})
    EXPECT_FALSE(link_code_object({one.substr(0, size)}));
}

} // namespace

} // namespace xaas::link
