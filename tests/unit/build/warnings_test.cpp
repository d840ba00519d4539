// Which place of the build system a warning about compiled machine flags names.
#include "warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using project::Finding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

image::Coverage compiled(const ir::MachineFlags& machine) {
  image::Coverage coverage;
  coverage.machine_sources = {{"main.c", machine}};
  return coverage;
}

Finding writes(const std::string& flag, uint64_t line) {
  return {Finding::Kind::native, "CMakeLists.txt", line, flag, false};
}

TEST(NativeWarnings, ABranchForAnotherArchitectureIsNotNamed) {
  WarningCollector collector;
  collector.add_findings({writes("-mcpu=native", 3), writes("-march=native", 5)});
  const std::vector<Warning> warnings = collector.finish(compiled({"native", "", {}}), "x86_64");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].line, 5u);
  EXPECT_THAT(warnings[0].message, HasSubstr("-march=native for 1 source (main.c)"));
}

TEST(NativeWarnings, WhatWasNotCompiledIsNoWarning) {
  WarningCollector collector;
  collector.add_findings({writes("-mcpu=native", 3), writes("-march=native", 5), writes("-mtune=native", 6)});
  EXPECT_THAT(collector.finish(compiled({"", "", {}}), "x86_64"), IsEmpty());
  const std::vector<Warning> tuned = collector.finish(compiled({"", "native", {}}), "x86_64");
  ASSERT_THAT(tuned, SizeIs(1));
  EXPECT_EQ(tuned[0].line, 6u);
}

TEST(NativeWarnings, SeveralPlacesAreOneWarningWithCandidates) {
  WarningCollector collector;
  collector.add_findings({writes("-march=native", 5), writes("-march=native", 9)});
  const std::vector<Warning> warnings = collector.finish(compiled({"native", "", {}}), "x86_64");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].file, "");
  EXPECT_THAT(warnings[0].message, HasSubstr("it may come from CMakeLists.txt:5 or CMakeLists.txt:9"));
}

TEST(NativeWarnings, AFlagThatOnlyAnotherArchitecturesBranchWritesHasNoPlace) {
  WarningCollector collector;
  collector.add_findings({writes("-mcpu=native", 3)}); // the spec's own arguments gave -march=native
  const std::vector<Warning> warnings = collector.finish(compiled({"native", "", {}}), "x86_64");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].file, "");
  EXPECT_THAT(warnings[0].message, Not(HasSubstr("mcpu")));
  EXPECT_EQ(collector.finish(compiled({"native", "", {}}), "aarch64")[0].line, 3u);
}

TEST(OptimizationWarnings, UnoptimizedSourcesAreOneWarning) {
  image::Coverage coverage;
  coverage.unoptimized = {"a.c", "b.c"};
  EXPECT_THAT(WarningCollector().finish(coverage, "x86_64"),
              ElementsAre(::testing::Field(&Warning::kind, "optimization")));
}

} // namespace
} // namespace xaas::build
