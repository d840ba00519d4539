#include <xaas/provenance/slsa.h>

#include <gmock/gmock.h>

#include <map>

namespace xaas::provenance {
namespace {

using ::testing::ElementsAre;

const std::string commit(40, 'a');

Inventory inventory() {
  Inventory inventory{.kind = "ir",
                      .image = digest_of("manifest"),
                      .annotations = {{image::annotation::title, "solver"},
                                      {image::annotation::version, "1.2"},
                                      {image::annotation::source, "https://example.org/solver.git"},
                                      {image::annotation::revision, commit},
                                      {image::annotation::tool, "0.1.0"},
                                      {image::annotation::llvm, "22.1.8"}}};
  image::PackageUse package;
  package.package = {"deb", "libm", "1.0", "amd64", "glibc", "debian-12", {}};
  image::PackageUse file;
  file.package.name = "libown.so";
  file.file = digest_of("content");
  inventory.packages = {package, file};
  return inventory;
}

TEST(Slsa, TheStatement) {
  const Json statement = to_slsa(inventory(), {"isa=x86-64", "isa=x86-64-v3"},
                                 {"https://ci.example.org/runner/1", "https://ci.example.org/job/7"});
  EXPECT_EQ(statement["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(statement["predicateType"], "https://slsa.dev/provenance/v1");
  EXPECT_EQ(statement["subject"], Json::parse(R"([{"name": "solver", "digest": {"sha256": ")" +
                                              digest_of("manifest").hex() + R"("}}])"));
  const Json& definition = statement["predicate"]["buildDefinition"];
  EXPECT_EQ(definition["buildType"], "https://xaas.dev/build/v1");
  EXPECT_EQ(definition["externalParameters"]["configurations"],
            Json::parse(R"(["isa=x86-64", "isa=x86-64-v3"])"));
  EXPECT_EQ(definition["externalParameters"]["kind"], "ir");
  const Json& dependencies = definition["resolvedDependencies"];
  ASSERT_EQ(dependencies.size(), 3u);
  EXPECT_EQ(dependencies[0]["uri"], "git+https://example.org/solver.git@" + commit);
  EXPECT_EQ(dependencies[0]["digest"]["gitCommit"], commit);
  EXPECT_EQ(dependencies[1]["uri"], "pkg:deb/debian/libm@1.0?arch=amd64&distro=debian-12&upstream=glibc");
  EXPECT_EQ(dependencies[2]["name"], "libown.so");
  EXPECT_EQ(dependencies[2]["digest"]["sha256"], digest_of("content").hex());
  const Json& run = statement["predicate"]["runDetails"];
  EXPECT_EQ(run["builder"]["id"], "https://ci.example.org/runner/1");
  EXPECT_EQ(run["builder"]["version"], Json::parse(R"({"xaas": "0.1.0", "llvm": "22.1.8"})"));
  EXPECT_EQ(run["metadata"]["invocationId"], "https://ci.example.org/job/7");
}

TEST(Slsa, WhatIsUnknownIsLeftOut) {
  Inventory little = inventory();
  little.packages.clear();
  little.annotations = {{image::annotation::revision, commit + "-dirty"}, {image::annotation::tool, "0.1.0"}};
  Json statement = to_slsa(little, {}, {"x:y", ""});
  EXPECT_FALSE(statement["predicate"]["runDetails"].contains("metadata"));
  const Json dirty = statement["predicate"]["buildDefinition"]["resolvedDependencies"];
  ASSERT_EQ(dirty.size(), 1u);
  EXPECT_FALSE(dirty[0].contains("digest")); // no commit has this content
  EXPECT_EQ(dirty[0]["annotations"]["revision"], commit + "-dirty");
  little.annotations = {{image::annotation::base_name, "debian:12"},
                        {image::annotation::base_digest, digest_of("base").to_string()}};
  statement = to_slsa(little, {}, {"x:y", ""});
  EXPECT_EQ(statement["predicate"]["buildDefinition"]["resolvedDependencies"],
            Json::parse(R"([{"name": "base image", "digest": {"sha256": ")" + digest_of("base").hex() +
                        R"("}, "annotations": {"reference": "debian:12"}}])"));
}

TEST(Slsa, Uris) {
  for (const char* good : {"x:y", "https://ci.example.org/1", "urn:hpc:ci"})
    EXPECT_TRUE(is_uri(good)) << good;
  for (const char* bad : {"", ":", "me", "x:", ":x", "1x:y", "x y:z", "x:a b"})
    EXPECT_FALSE(is_uri(bad)) << bad;
}

TEST(Slsa, BuildersOfJobs) {
  std::map<std::string, std::string> variables;
  const auto builder = [&] {
    return builder_of_job([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  EXPECT_FALSE(builder());
  variables = {{"GITHUB_ACTIONS", "true"},
               {"GITHUB_SERVER_URL", "https://github.com"},
               {"GITHUB_WORKFLOW_REF", "lab/solver/.github/workflows/ci.yml@refs/heads/main"},
               {"GITHUB_REPOSITORY", "lab/solver"},
               {"GITHUB_RUN_ID", "7"},
               {"GITHUB_RUN_ATTEMPT", "2"}};
  ASSERT_TRUE(builder());
  EXPECT_EQ(builder()->id, "https://github.com/lab/solver/.github/workflows/ci.yml@refs/heads/main");
  EXPECT_EQ(builder()->invocation, "https://github.com/lab/solver/actions/runs/7/attempts/2");
  variables = {{"GITLAB_CI", "true"},
               {"CI_PROJECT_URL", "https://gitlab.com/lab/solver"},
               {"CI_RUNNER_ID", "12"},
               {"CI_JOB_URL", "https://gitlab.com/lab/solver/-/jobs/3"}};
  ASSERT_TRUE(builder());
  EXPECT_EQ(builder()->id, "https://gitlab.com/lab/solver/-/runners/12");
  EXPECT_EQ(builder()->invocation, "https://gitlab.com/lab/solver/-/jobs/3");
}

} // namespace
} // namespace xaas::provenance
