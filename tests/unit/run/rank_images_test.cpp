#include <xaas/run/rank_images.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

namespace xaas::run {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RankImages : public ::testing::Test {
protected:
  RankImages() : directory(*TemporaryDirectory::create()) {}
  static RankImage image(const std::string& cpu, const std::string& gpu = "none") {
    return {
        "oci:app:here", digest_of(cpu + gpu), {{image::annotation::cpu, cpu}, {image::annotation::gpu, gpu}}};
  }
  std::optional<std::string> note(const RankImage& own) const {
    return note_of_ranks(directory.path(), environment, own);
  }
  TemporaryDirectory directory;
  std::map<std::string, std::string> environment = {{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}};
};

TEST_F(RankImages, OneRankTells) {
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  EXPECT_EQ(
      note(image("znver4", "sm_90")),
      "ranks of this job run different images of oci:app:here: those for haswell and for znver4, sm_90");
  EXPECT_EQ(note(image("znver4", "sm_90")), std::nullopt);
  EXPECT_EQ(note(image("nehalem")), std::nullopt);
}

TEST_F(RankImages, JobsAreApart) {
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  environment["SLURM_STEP_ID"] = "1";
  EXPECT_EQ(note(image("nehalem")), std::nullopt);
  EXPECT_TRUE(note(image("haswell")));
  RankImage other = image("haswell");
  other.reference = "oci:other:here";
  EXPECT_EQ(note(other), std::nullopt);
}

// Without a name of the job nothing is written.
TEST_F(RankImages, LaunchersWithoutANameOfTheJob) {
  environment.erase("SLURM_STEP_ID");
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  EXPECT_EQ(note(image("nehalem")), std::nullopt);
  EXPECT_TRUE(fs::is_empty(directory.path()));
  environment = {{"PMIX_NAMESPACE", "prterun-1"}};
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  EXPECT_TRUE(note(image("nehalem")));
}

TEST_F(RankImages, NamesAreUsedAgain) {
  EXPECT_EQ(note(image("haswell")), std::nullopt);
  const timespec old[2] = {{1, 0}, {1, 0}};
  for (const auto& entry : fs::directory_iterator(directory.path()))
    ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_EQ(note(image("nehalem")), std::nullopt);
  EXPECT_TRUE(note(image("haswell")));
  // Those of other jobs are removed when a job begins.
  for (const auto& entry : fs::directory_iterator(directory.path()))
    ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
  environment["SLURM_JOB_ID"] = "13";
  EXPECT_EQ(note(image("nehalem")), std::nullopt);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST_F(RankImages, WhatOthersWroteIsNoText) {
  EXPECT_EQ(note(image("\x1b[31m")), std::nullopt);
  EXPECT_THAT(*note(image("a\nb")),
              ::testing::AllOf(HasSubstr("sha256:"), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

TEST_F(RankImages, ADirectoryThatCannotBeWritten) {
  EXPECT_EQ(note_of_ranks(directory.path() / "none", environment, image("haswell")), std::nullopt);
}

} // namespace
} // namespace xaas::run
