// When a point counts as one that chooses nothing.
#include "effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PointsWithoutEffect : public ::testing::Test {
protected:
  // A configuration that installs one program, which is named after its content.
  void add(const std::map<std::string, std::string>& values, const std::string& program,
           const std::string& library = "") {
    image::BundleConfiguration configuration;
    configuration.configuration = spec::Configuration(values);
    configuration.arguments = {"-DID=" + configuration.configuration.id()};
    link::InstalledFile file;
    file.kind = link::InstalledFile::Kind::link;
    file.path = "usr/local/bin/program";
    file.digest = digest_of(program);
    configuration.installed = {file};
    file.kind = link::InstalledFile::Kind::file;
    file.path = "usr/lib/library.so";
    file.digest = digest_of(library);
    configuration.runtime = {file};
    bundle_.configurations.push_back(configuration);
    for (const auto& [name, value] : values)
      if (std::none_of(bundle_.points.begin(), bundle_.points.end(),
                       [&](const auto& point) { return point.name == name; })) {
        bundle_.points.emplace_back();
        bundle_.points.back().name = name;
      }
  }
  std::vector<std::string> found() const {
    std::vector<std::string> messages;
    for (const Warning& warning : points_without_effect(bundle_)) {
      EXPECT_EQ(warning.kind, "point");
      messages.push_back(warning.message.substr(0, warning.message.find(' ')));
    }
    return messages;
  }

  image::Bundle bundle_;
};

TEST_F(PointsWithoutEffect, IsOneWhoseConfigurationsAreEqual) {
  add({{"isa", "x86-64"}, {"openmp", "off"}}, "a");
  add({{"isa", "x86-64"}, {"openmp", "on"}}, "a");
  EXPECT_THAT(found(), ElementsAre("`openmp`"));
}

TEST_F(PointsWithoutEffect, IsNotOneThatMattersInAnyPair) {
  add({{"isa", "x86-64"}, {"openmp", "off"}}, "a");
  add({{"isa", "x86-64"}, {"openmp", "on"}}, "a");
  add({{"isa", "x86-64-v3"}, {"openmp", "off"}}, "b");
  add({{"isa", "x86-64-v3"}, {"openmp", "on"}}, "c");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PointsWithoutEffect, IsNotOneThatChoosesLibraries) {
  add({{"blas", "a"}}, "a", "libblas-a");
  add({{"blas", "b"}}, "a", "libblas-b");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PointsWithoutEffect, IsNotTheIsa) {
  add({{"isa", "x86-64"}}, "a");
  add({{"isa", "x86-64-v3"}}, "a");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PointsWithoutEffect, IsNotOneWithoutAComparison) {
  // Two points that always change together: neither of them was built with two values.
  add({{"mpi", "off"}, {"openmp", "on"}}, "a");
  add({{"mpi", "on"}, {"openmp", "off"}}, "a");
  EXPECT_THAT(found(), IsEmpty());
  // With a third, one of them was.
  add({{"mpi", "on"}, {"openmp", "on"}}, "a");
  EXPECT_THAT(found(), ElementsAre("`mpi`", "`openmp`"));
}

} // namespace
} // namespace xaas::build
