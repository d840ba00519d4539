#include <xaas/config/machines.h>
#include <xaas/config/settings.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace xaas::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MachinesOfASite : public testing::Test {
protected:
  MachinesOfASite() : directory_(*TemporaryDirectory::create()) {
    sources_.site = directory_.path() / "site/config.json";
    sources_.user = directory_.path() / "user/config.json";
    sources_.owners = {0, geteuid()};
  }

  void put(const fs::path& file) {
    ASSERT_TRUE(make_directories((directory_.path() / file).parent_path()));
    ASSERT_TRUE(write_file(directory_.path() / file, "{}"));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Machine& machine : Machines(sources_).all())
      names.push_back(machine.name + " " + name_of(machine.origin));
    return names;
  }

  TemporaryDirectory directory_;
  Sources sources_;
};

TEST_F(MachinesOfASite, TheUsersHideTheSites) {
  EXPECT_THAT(names(), ElementsAre());
  for (const char* file : {"site/machines/zen4.json", "site/machines/old.json", "user/machines/zen4.json",
                           "user/machines/notes.txt", "user/machines/.json", "user/machines/-x.json"})
    put(file);
  ASSERT_TRUE(make_directories(directory_.path() / "user/machines/directory.json"));
  EXPECT_THAT(names(), ElementsAre("old site", "zen4 user"));
  EXPECT_EQ(*Machines(sources_).file_of("zen4"), directory_.path() / "user/machines/zen4.json");
  EXPECT_EQ(*Machines(sources_).file_of("old"), directory_.path() / "site/machines/old.json");
}

TEST_F(MachinesOfASite, PathsAreFiles) {
  for (const char* path : {"./zen4", "dir/zen4", "zen4.json", "/dev/fd/63", "missing.json"})
    EXPECT_EQ(*Machines(sources_).file_of(path), path);
  EXPECT_EQ(*Machines().file_of("zen4.json"), "zen4.json");
}

TEST_F(MachinesOfASite, UnknownOnesNameThoseThatExist) {
  EXPECT_EQ(Machines(sources_).file_of("zen4").error().kind, ErrorKind::not_found);
  EXPECT_THAT(Machines(sources_).file_of("zen4").error().hint, HasSubstr("xaas detect --save zen4"));
  put("site/machines/zen4.json");
  put("site/machines/haswell.json");
  EXPECT_THAT(Machines(sources_).file_of("zen5").error().hint, HasSubstr("did you mean `zen4`"));
  EXPECT_THAT(Machines(sources_).file_of("gpu-nodes").error().hint, HasSubstr("haswell, zen4"));
}

TEST_F(MachinesOfASite, OthersCannotPutOneThere) {
  put("site/machines/zen4.json");
  const fs::path file = directory_.path() / "site/machines/zen4.json";
  chmod(file.c_str(), 0666);
  EXPECT_EQ(Machines(sources_).file_of("zen4").error().kind, ErrorKind::storage);
  chmod(file.c_str(), 0644);
  chmod(file.parent_path().c_str(), 0777);
  EXPECT_EQ(Machines(sources_).file_of("zen4").error().kind, ErrorKind::storage);
  chmod(file.parent_path().c_str(), 0755);
  EXPECT_TRUE(Machines(sources_).file_of("zen4"));
}

// Whatever the umask is, a machine that was saved can be used, and a site's by everybody.
TEST_F(MachinesOfASite, SavedOnesAreTrusted) {
  for (const mode_t mask : {0002, 0077, 0022}) {
    const std::string name = "m" + std::to_string(mask);
    sources_.site = directory_.path() / name / "etc/config.json";
    sources_.user = directory_.path() / name / "home/config.json";
    const Machines machines(sources_);
    const mode_t before = umask(mask);
    const Result<fs::path> site = machines.save("site", Origin::site, "{}");
    const Result<fs::path> user = machines.save("user", Origin::user, "{}");
    umask(before);
    ASSERT_TRUE(site && user);
    EXPECT_TRUE(machines.file_of("site")) << mask;
    EXPECT_TRUE(machines.file_of("user")) << mask;
    struct stat status{};
    ASSERT_EQ(stat(site->c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0644u);
    ASSERT_EQ(stat(site->parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0755u);
  }
}

TEST_F(MachinesOfASite, SavingCreatesAndReplaces) {
  const Machines machines(sources_);
  EXPECT_EQ(*machines.save("zen4", Origin::user, "one"), directory_.path() / "user/machines/zen4.json");
  EXPECT_EQ(*read_file(*machines.save("zen4", Origin::user, "two")), "two");
  EXPECT_EQ(*machines.save("gpu-1.x_y", Origin::site, ""),
            directory_.path() / "site/machines/gpu-1.x_y.json");
  for (const char* name : {"", ".", "..", "a/b", "-a", "zen4.json", "a b", "\u00e9"})
    EXPECT_EQ(machines.save(name, Origin::user, "").error().kind, ErrorKind::usage) << name;
  sources_.user.clear();
  EXPECT_EQ(Machines(sources_).save("zen4", Origin::user, "").error().kind, ErrorKind::usage);
}

} // namespace
} // namespace xaas::config
