// The launcher's table, and what it refuses. Its choice is tested with whole trees (tests/e2e/cases).
#include <xaas/launcher/launcher.h>

#include <xaas/target/feature_bits.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table.h"

namespace xaas::launcher {
namespace {

using ::testing::HasSubstr;

Target target(const std::string& name) {
  return {name, name, {"avx2"}, ""};
}

TEST(Launcher, HasRoomForEveryFeature) {
  for (const char* arch : {"x86_64", "aarch64"}) {
    EXPECT_LE(target::feature_bits(arch).size(), size_t(launcher_most_features));
    for (const target::FeatureBit& bit : target::feature_bits(arch))
      EXPECT_LT(std::string(bit.name).size(), sizeof(cpu_feature::name)) << bit.name;
  }
}

TEST(Launcher, IsAFunctionOfItsArguments) {
  const auto first = program("x86_64", {target("a"), target("b")}, {"usr/lib"});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->substr(0, 4), "\x7f"
                                 "ELF");
  EXPECT_EQ(*first, *program("x86_64", {target("a"), target("b")}, {"usr/lib"}));
  EXPECT_NE(*first, *program("x86_64", {target("b"), target("a")}, {"usr/lib"}));
  EXPECT_NE(*first, *program("x86_64", {target("a"), target("b")}, {}));
}

TEST(Launcher, RefusesWhatItsTableCannotHold) {
  const auto message = [](const Result<std::string>& result) {
    return result ? "made" : result.error().message;
  };
  EXPECT_EQ(message(program("aarch64", {target("a")}, {})), "made");
  EXPECT_THAT(message(program("riscv64", {target("a")}, {})), HasSubstr("do not exist for riscv64"));
  EXPECT_THAT(message(program("x86_64", {}, {})), HasSubstr("0 targets"));
  std::vector<Target> many(launcher_most_targets, target("a"));
  EXPECT_EQ(message(program("x86_64", many, {})), "made");
  many.push_back(target("b"));
  EXPECT_THAT(message(program("x86_64", many, {})), HasSubstr("65 targets"));
  EXPECT_THAT(message(program("x86_64", {target("a")}, {std::string(4096, 'd')})), HasSubstr("room for"));
  EXPECT_THAT(message(program("x86_64", {target("print")}, {})), HasSubstr("'print' cannot be"));
  Target outside = target("a");
  outside.directory = "../a";
  EXPECT_FALSE(program("x86_64", {outside}, {}));
}

TEST(Launcher, NamesArePlainFileNames) {
  for (const char* const name : {"zen4", "x86-64-v3", "gpu_node.2", "c++"})
    EXPECT_TRUE(is_target_name(name)) << name;
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("."), std::string(".."), std::string("print"),
        std::string("a b"), std::string("ä"), std::string(64, 'a'), std::string("a\0b", 3)})
    EXPECT_FALSE(is_target_name(name)) << name;
}

TEST(ForwardingLibrary, NeedsTheOtherAlone) {
  const auto bytes = forwarding_library("x86_64", "$ORIGIN/../m.so", "/lib");
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_THAT(*bytes, HasSubstr(std::string("\0$ORIGIN/../m.so\0", 17)));
  EXPECT_THAT(*bytes, HasSubstr(std::string("\0/lib\0", 6)));
  EXPECT_LT(bytes->size(), 8192u);
  EXPECT_FALSE(forwarding_library("x86_64", std::string(2048, 'n'), "/lib"));
  EXPECT_TRUE(forwarding_library("x86_64", std::string(2047, 'n'), "/lib"));
  EXPECT_TRUE(forwarding_library("aarch64", "m.so", "/lib"));
  EXPECT_FALSE(forwarding_library("riscv64", "m.so", "/lib"));
}

} // namespace
} // namespace xaas::launcher
