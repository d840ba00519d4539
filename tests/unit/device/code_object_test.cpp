// Bundles of code objects that Clang compiles here.
#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/device/code_object.h>

#include <xaas/target/gpu.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace xaas::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string content(const std::string& path) {
  const auto text = read_file(path);
  return text ? *text : std::string();
}

class CodeObjects : public ::testing::Test {
protected:
  CodeObjects() : directory_(*TemporaryDirectory::create()) {}

  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

  // The linked code object of two kernels; empty if there is no linker next to Clang.
  std::string code_object(const std::string& arch, const std::string& version = "5") {
    EXPECT_TRUE(write_file(path("a.cl"), "kernel void one(global int* p) { *p = 1; }\n"
                                         "kernel void two(global int* p) { *p = 2; }\n"));
    const auto made = run_process(
        {.arguments = {XAAS_TEST_CLANG, "--target=amdgcn-amd-amdhsa", "-mcpu=" + arch, "-nogpulib",
                       "-mcode-object-version=" + version, "-O1", "-o", path("a.co"), path("a.cl")}});
    if (!made || made->exit_code != 0)
      return {};
    return content(path("a.co"));
  }

  TemporaryDirectory directory_;
};

TEST_F(CodeObjects, SayWhatTheyAre) {
  for (const auto& [arch, named] : {std::pair("gfx90a", "gfx90a"), std::pair("gfx1030", "gfx1030"),
                                    std::pair("gfx90a:xnack+", "gfx90a:xnack+"),
                                    std::pair("gfx90a:sramecc-:xnack+", "gfx90a:sramecc-:xnack+")}) {
    const std::string bytes = code_object(arch);
    if (bytes.empty())
      GTEST_SKIP() << "no linker for AMD's GPUs beside Clang";
    const auto facts = read_code_object(bytes);
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->arch, named);
    EXPECT_EQ(facts->version, 5u);
    EXPECT_THAT(facts->kernels, ElementsAre("one", "two"));
  }
  EXPECT_EQ(read_code_object(code_object("gfx90a", "4"))->version, 4u);
  EXPECT_EQ(read_code_object(code_object("gfx90a", "6"))->version, 6u);
}

TEST_F(CodeObjects, DamagedOnes) {
  const std::string bytes = code_object("gfx90a");
  if (bytes.empty())
    GTEST_SKIP() << "no linker for AMD's GPUs beside Clang";
  const auto refused = [](const std::string& damaged) {
    const auto facts = read_code_object(damaged);
    EXPECT_FALSE(facts);
    if (facts)
      return std::string();
    EXPECT_EQ(facts.error().kind, ErrorKind::integrity);
    return facts.error().message;
  };
  refused("");
  refused(bytes.substr(0, 63));
  const auto with = [&](size_t at, char byte) {
    std::string changed = bytes;
    changed[at] = byte;
    return changed;
  };
  EXPECT_THAT(refused(with(18, 62)), HasSubstr("not an ELF file for an AMD GPU")); // e_machine: x86-64
  EXPECT_THAT(refused(with(16, 1)), HasSubstr("not linked"));                      // e_type: an object
  EXPECT_THAT(refused(with(8, 9)), HasSubstr("ABI version 9"));
  EXPECT_THAT(refused(with(48, 0)), HasSubstr("no GPU")); // e_flags
  std::set<std::string> named;                            // of every number that the flags may have
  for (int processor = 0; processor < 256; ++processor)
    if (const auto facts = read_code_object(with(48, static_cast<char>(processor))))
      named.insert(facts->arch.substr(0, facts->arch.find(':')));
  EXPECT_GT(named.size(), 50u);
  EXPECT_TRUE(named.contains("gfx942") && named.contains("gfx9-4-generic"));
  for (const std::string& name : named)
    EXPECT_TRUE(name.ends_with("-generic") || target::gpu_arch(name)) << name;
  // The kernel's descriptor has another name.
  std::string renamed = bytes;
  for (size_t at = 0; (at = renamed.find(std::string("one.kd\0", 7), at)) != std::string::npos; ++at)
    renamed[at] = 'x';
  EXPECT_THAT(refused(renamed), HasSubstr("one.kd has no descriptor"));
  for (size_t size = 64; size < bytes.size(); size += 97) // none of these crashes
    static_cast<void>(read_code_object(bytes.substr(0, size)));
}

TEST_F(CodeObjects, InABundleAsTheBundlerMakesIt) {
  const std::string a = code_object("gfx908"), b = code_object("gfx90a");
  if (a.empty() || b.empty())
    GTEST_SKIP() << "no linker for AMD's GPUs beside Clang";
  const auto bundle = code_object_bundle({{"gfx908", a}, {"gfx90a", b}});
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto entries = parse_code_object_bundle(*bundle);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ(arch_of_entry((*entries)[0].id), "");
  EXPECT_EQ(arch_of_entry((*entries)[1].id), "gfx908");
  EXPECT_EQ((*entries)[1].bytes, a);
  EXPECT_EQ((*entries)[2].bytes, b);

  const fs::path bundler = fs::path(XAAS_TEST_CLANG).parent_path() / "clang-offload-bundler";
  if (!fs::exists(bundler))
    GTEST_SKIP() << "no clang-offload-bundler to compare with";
  ASSERT_TRUE(write_file(path("a"), a) && write_file(path("b"), b));
  const std::vector<std::string> common = {bundler.string(), "-type=o", "-bundle-align=4096",
                                           "-output=" + path("bundle"), "-input=/dev/null"};
  const auto bundled = [&](const std::string& targets, const std::vector<std::string>& inputs) {
    std::vector<std::string> arguments = common;
    arguments.push_back("-targets=host-x86_64-unknown-linux-gnu" + targets);
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    const auto made = run_process({.arguments = arguments});
    EXPECT_TRUE(made && made->exit_code == 0);
    return content(path("bundle"));
  };
  EXPECT_TRUE(*bundle == bundled(",hipv4-amdgcn-amd-amdhsa--gfx908,hipv4-amdgcn-amd-amdhsa--gfx90a",
                                 {"-input=" + path("a"), "-input=" + path("b")}));
  EXPECT_TRUE(*code_object_bundle({}) == bundled("", {}));
}

TEST_F(CodeObjects, SeveralBundlesInOneSection) {
  const std::string a = code_object("gfx90a");
  if (a.empty())
    GTEST_SKIP() << "no linker for AMD's GPUs beside Clang";
  std::string section = *code_object_bundle({{"gfx90a", a}});
  section.resize((section.size() + 4095) / 4096 * 4096);
  section += *code_object_bundle({});
  section += *code_object_bundle({{"gfx90a", a}});
  const auto entries = parse_code_object_bundle(section);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 5u);
  EXPECT_EQ(entries->back().bytes, a);
}

TEST(CodeObjectBundles, WhatCannotBe) {
  EXPECT_EQ(code_object_bundle({{"gfx90a", "no code object"}}).error().kind, ErrorKind::integrity);
  EXPECT_EQ(code_object_bundle({{"sm_90", ""}}).error().kind, ErrorKind::usage);
  EXPECT_EQ(code_object_bundle({{"gfx9999", ""}}).error().kind, ErrorKind::usage);
}

TEST(CodeObjectBundles, DamagedOnes) {
  const std::string good = *code_object_bundle({});
  ASSERT_TRUE(parse_code_object_bundle(good));
  const auto refused = [](const std::string& damaged) {
    const auto entries = parse_code_object_bundle(damaged);
    EXPECT_FALSE(entries);
    return entries ? ErrorKind::usage : entries.error().kind;
  };
  const auto with = [&](size_t at, char byte) {
    std::string changed = good;
    changed[at] = byte;
    return changed;
  };
  constexpr size_t count_at = 24, offset_at = 32, size_at = 40, length_at = 48;
  for (const std::string& damaged : {std::string(), good.substr(0, 31), good.substr(0, 40), with(0, 'x'),
                                     with(count_at, 2), with(count_at + 7, 1), with(size_at + 7, 1),
                                     with(length_at + 3, 1), good + "x", good.substr(0, 200) + "x"})
    EXPECT_EQ(refused(damaged), ErrorKind::integrity);
  std::string inside = with(size_at, 8); // bytes that are the list itself
  inside[offset_at] = 0, inside[offset_at + 1] = 0;
  EXPECT_EQ(refused(inside), ErrorKind::integrity);
}

} // namespace
} // namespace xaas::device
