// Applications on a base image: the places of their files, and the libraries that they take from it.
#include "base.h"
#include "closure.h"

#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>

#include <gmock/gmock.h>

#include <cstdlib>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Kind = link::InstalledFile::Kind;

// A library: its code, its version script, and what it links.
struct Code {
  std::string text, versions, links;
};

constexpr const char* puts_code = "int puts(const char *text) { return !text; }";

class BaseImageTest : public ::testing::Test {
protected:
  void SetUp() override {
    // A merged /usr, and directories that are not root's or have more than 0755.
    layer_ = std::make_unique<oci::LayerBuilder>(
        0, oci::Directories{{"usr/local", {02775, 0, 50}}, {"tmp", {01777, 0, 0}}});
    EXPECT_TRUE(layer_->add_directory("usr/lib"));
    EXPECT_TRUE(layer_->add_directory("usr/local/share"));
    EXPECT_TRUE(layer_->add_directory("tmp"));
    EXPECT_TRUE(layer_->add_symlink("lib", "usr/lib"));
    EXPECT_TRUE(layer_->add_file("etc/release", "base"));
  }

  std::string compile(const std::string& name, const Code& code) {
    const fs::path file = directory_.path() / "machine" / name;
    EXPECT_TRUE(make_directories(file.parent_path()));
    const std::string source = directory_.path() / "code.c", script = directory_.path() / "versions";
    EXPECT_TRUE(write_file(source, code.text));
    EXPECT_TRUE(write_file(script, code.versions));
    const std::string command = "clang-22 -fuse-ld=lld -nostdlib -shared -fPIC " + source + " " + code.links +
                                (code.versions.empty() ? "" : " -Wl,--version-script," + script) +
                                " -Wl,-soname," + fs::path(name).filename().string() + " -o " + file.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return file;
  }
  void in_base(const std::string& name, const Code& code) {
    EXPECT_TRUE(layer_->add_file("usr/lib/" + multiarch_ + "/" + name,
                                 *read_file(compile("of-base/" + name, code)), 0644));
  }
  void c_library_in_base(const std::string& version = "GLIBC_2.2.5") {
    in_base("libc.so.6", {puts_code, version + " { global: puts; };", ""});
    in_base("libgcc_s.so.1", {"int unwind(void) { return 1; }", "", ""}); // threads need it
  }

  // The program links a library of this machine, and needs these symbols of this version.
  void links(const std::string& name, const Code& code, const std::string& version,
             const std::set<std::string>& symbols) {
    program_.libraries[name] = compile(name, code);
    program_.dynamic.needed.push_back(name);
    if (!version.empty())
      program_.dynamic.needed_versions[name] = {version};
    program_.symbols.insert(symbols.begin(), symbols.end());
  }

  Result<void> open_base(const std::map<std::string, std::string>& annotations = {}) {
    oci::NewImage image;
    image.config.architecture = target::oci_architecture(target::host_arch());
    image.config.env = {"PATH=/opt/bin", "A=b"};
    image.config.labels = {{"vendor", "v"}, {"org.opencontainers.image.title", "base"}};
    image.config.others = {{"User", "1000"}};
    image.annotations = annotations;
    image.layers.push_back(*layer_->finish(oci::Compression::gzip, "base"));
    const std::string name = "oci:" + (directory_.path() / "layout").string() + ":base";
    const Result<Digest> written = oci::write_image(*oci::parse_reference(name), image);
    EXPECT_TRUE(written);
    auto opened = build::open_base(name, target::host_arch(), directory_.path() / "tree", environment_, {},
                                   no_progress());
    if (!opened)
      return std::move(opened).error();
    base_ = std::move(opened->image);
    name_ = opened->name;
    return {};
  }

  Result<Closure> gather() {
    EXPECT_TRUE(open_base());
    return gather_again();
  }
  Result<Closure> gather_again() {
    ClosureInput input{target::host_arch(), {program_}, {}, extras_, {}, {}};
    input.base = base_.get();
    return gather_closure(input, content_);
  }
  static std::vector<std::string> paths(const Result<Closure>& closure) {
    EXPECT_TRUE(closure) << closure.error().message;
    std::vector<std::string> found;
    if (closure)
      for (const link::InstalledFile& file : closure->files)
        found.push_back(file.path);
    return found;
  }
  std::vector<std::string> of_base() const {
    std::vector<std::string> names;
    for (const auto& [name, versions] : base_->description().libraries)
      names.push_back(name);
    return names;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  store::ContentStore content_{directory_.path() / "store"};
  std::string multiarch_ = target::host_arch() + "-linux-gnu";
  std::unique_ptr<oci::LayerBuilder> layer_;
  std::unique_ptr<image::BaseImage> base_;
  std::string name_;
  std::map<std::string, std::string> environment_; // of the application
  std::vector<std::string> extras_;                // `runtime` of the spec
  Linked program_{"/usr/bin/program", {}, {}};
};

constexpr const char* one = "int f(void) { return 1; }";
constexpr const char* two = "int f(void) { return 1; } int g(void) { return 2; }";

TEST_F(BaseImageTest, ALibraryWithEverythingThatIsNeededIsTheBases) {
  c_library_in_base();
  in_base("libx.so.1", {two, "V1 { global: f; }; V2 { global: g; } V1;", ""});
  links("libx.so.1", {two, "V1 { global: f; }; V2 { global: g; } V1;", ""}, "V1", {"f"});
  EXPECT_THAT(paths(gather()), IsEmpty());
  EXPECT_THAT(base_->description().libraries,
              ElementsAre(Pair("libx.so.1", UnorderedElementsAre("libx.so.1", "V1", "V2"))));
}

TEST_F(BaseImageTest, ALibraryWithoutAVersionIsReplaced) {
  c_library_in_base();
  in_base("libx.so.1", {one, "V1 { global: f; };", ""});
  links("libx.so.1", {two, "V1 { global: f; }; V2 { global: g; } V1;", ""}, "V2", {"g"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
  EXPECT_THAT(base_->replaced(), ElementsAre("libx.so.1"));
  EXPECT_THAT(of_base(), IsEmpty());
}

TEST_F(BaseImageTest, ALibraryWithoutASymbolIsReplaced) {
  c_library_in_base();
  in_base("libx.so.1", {one, "", ""});
  links("libx.so.1", {two, "", ""}, "", {"g", "of_another"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
}

TEST_F(BaseImageTest, NothingIsNeededOfALibraryOfTheBaseButTheLibrary) {
  c_library_in_base();
  in_base("libx.so.1", {one, "", ""});
  const std::string inner = compile("liby.so.1", {"int y(void) { return 1; }", "", ""});
  links("libx.so.1", {"int y(void); int f(void) { return y(); }", "", inner}, "", {"f"});
  program_.libraries["liby.so.1"] = inner; // found by the search of the link
  EXPECT_THAT(paths(gather()), IsEmpty());
}

TEST_F(BaseImageTest, ALibraryThatComesAlongRulesOutOthers) {
  c_library_in_base();
  in_base("libx.so.1", {one, "", ""});
  in_base("liby.so.1", {"int y(void) { return 1; }", "", ""});
  const std::string inner =
      compile("liby.so.1", {"int y(void) { return 1; } int z(void) { return 2; }", "", ""});
  links("libx.so.1", {"int z(void); int f(void) { return z(); } int g(void) { return 2; }", "", inner}, "",
        {"g"});
  program_.libraries["liby.so.1"] = inner;
  EXPECT_THAT(paths(gather()),
              ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1", "usr/lib/" + multiarch_ + "/liby.so.1"));
}

TEST_F(BaseImageTest, ALibraryOfTheBaseThatLacksItsOwnIsNone) {
  c_library_in_base();
  const std::string gone = compile("libgone.so.1", {"int gone(void) { return 1; }", "", ""});
  in_base("libx.so.1", {"int gone(void); int f(void) { return gone(); }", "", gone});
  links("libx.so.1", {one, "", ""}, "", {"f"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
}

TEST_F(BaseImageTest, CopiesForBetterCpusMustServeAsWell) {
  if (target::host_arch() != "x86_64")
    GTEST_SKIP() << "glibc has no levels of this architecture";
  c_library_in_base();
  in_base("libx.so.1", {two, "", ""});
  in_base("glibc-hwcaps/x86-64-v3/libx.so.1", {two, "", ""});
  links("libx.so.1", {two, "", ""}, "", {"g"});
  EXPECT_THAT(paths(gather()), IsEmpty());

  in_base("glibc-hwcaps/x86-64-v2/libx.so.1", {one, "", ""});
  fs::remove_all(directory_.path() / "tree");
  const Result<Closure> closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_THAT(closure.error().message, HasSubstr("glibc-hwcaps/x86-64-v2/libx.so.1"));
  EXPECT_THAT(closure.error().message, HasSubstr("which its loader prefers on some CPUs"));
}

TEST_F(BaseImageTest, ARunpathThatLeadsToAnUnfitLibraryIsAnError) {
  c_library_in_base();
  EXPECT_TRUE(
      layer_->add_file("usr/local/lib/libx.so.1", *read_file(compile("old/libx.so.1", {one, "", ""}))));
  links("libx.so.1", {two, "", ""}, "", {"g"});
  program_.dynamic.runpath = {"$ORIGIN/../local/lib"};
  const Result<Closure> closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_THAT(closure.error().message, HasSubstr("which /usr/bin/program finds first, by its RUNPATH"));
}

TEST_F(BaseImageTest, TheApplicationsOwnVariableLeadsToLibraries) {
  c_library_in_base();
  EXPECT_TRUE(layer_->add_file("opt/f/libx.so.1", *read_file(compile("of-opt/libx.so.1", {one, "", ""}))));
  links("libx.so.1", {one, "", ""}, "", {"f"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
  environment_ = {{"LD_LIBRARY_PATH", "/opt/f"}};
  fs::remove_all(directory_.path() / "tree");
  EXPECT_THAT(paths(gather()), IsEmpty());
}

// As it is compiled into the loader. Those of two distributions differ.
TEST_F(BaseImageTest, TheBasesLoaderDecidesWhereLibrariesAre) {
  if (target::host_arch() != "x86_64")
    GTEST_SKIP() << "the path of the loader is that of x86-64";
  c_library_in_base();
  const std::string directories = std::string(1, '\0') + "/usr/lib/" + multiarch_ + "/" + '\0';
  EXPECT_TRUE(layer_->add_file("lib64/ld-linux-x86-64.so.2", directories));
  EXPECT_TRUE(
      layer_->add_file("usr/lib64/libx.so.1", *read_file(compile("of-lib64/libx.so.1", {one, "", ""}))));
  links("libx.so.1", {one, "", ""}, "", {"f"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
}

// What one configuration needs changes nothing for the next.
TEST_F(BaseImageTest, EachConfigurationStartsWithTheBasesLoader) {
  if (target::host_arch() != "x86_64")
    GTEST_SKIP() << "the path of the loader is that of x86-64";
  const auto loader_of = [](const std::string& directory) {
    return std::string(1, '\0') + directory + "/" + '\0';
  };
  c_library_in_base();
  const std::string directory = "/usr/lib/" + multiarch_;
  EXPECT_TRUE(layer_->add_file("lib64/ld-linux-x86-64.so.2", loader_of("/usr/lib64") + loader_of(directory)));
  EXPECT_TRUE(
      layer_->add_file("usr/lib64/libx.so.1", *read_file(compile("of-lib64/libx.so.1", {one, "", ""}))));
  const std::string loader = directory_.path() / "loader";
  ASSERT_TRUE(write_file(loader, loader_of(directory)));
  program_.dynamic.interpreter = loader; // the base does not have it, so the C library comes along
  links("libx.so.1", {one, "", ""}, "", {"f"});
  links("libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}, "GLIBC_2.2.5", {"puts"});
  EXPECT_THAT(paths(gather()), ::testing::Contains("usr/lib/" + multiarch_ + "/libx.so.1"));

  program_.dynamic.interpreter = "/lib64/ld-linux-x86-64.so.2";
  EXPECT_THAT(paths(gather_again()), IsEmpty());
}

TEST_F(BaseImageTest, ARunTimeFileThatIsAPartOfTheCLibraryIsTheBases) {
  c_library_in_base();
  in_base("libm.so.6", {"double sin(double x) { return x; }", "", ""});
  links("libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}, "GLIBC_2.2.5", {"puts"});
  extras_ = {compile("libm.so.6", {"double sin(double x) { return x; }", "", ""})};
  EXPECT_THAT(paths(gather()), IsEmpty());

  extras_ = {compile("libBrokenLocale.so.1", {"int broken(void) { return 1; }", "", ""})};
  fs::remove_all(directory_.path() / "tree");
  const Result<Closure> closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_THAT(closure.error().message, HasSubstr("has no libBrokenLocale.so.1"));
}

TEST_F(BaseImageTest, AnotherLoaderMustFindTheLibrariesOfTheBase) {
  if (target::host_arch() != "x86_64")
    GTEST_SKIP() << "the path of the loader is that of x86-64";
  EXPECT_TRUE(layer_->add_file("lib64/ld-linux-x86-64.so.2", std::string(1, '\0') + "/usr/lib64/" + '\0'));
  EXPECT_TRUE(layer_->add_file(
      "usr/lib64/libc.so.6",
      *read_file(compile("of-lib64/libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}))));
  const std::string loader = directory_.path() / "loader";
  ASSERT_TRUE(write_file(loader, std::string(1, '\0') + "/usr/lib/" + multiarch_ + "/" + '\0'));
  program_.dynamic.interpreter = loader;
  links("libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}, "GLIBC_2.2.5", {"puts"});
  const Result<Closure> closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_THAT(closure.error().message, HasSubstr("its loader does not search /usr/lib64"));
}

TEST_F(BaseImageTest, NeitherLibraryCanReplaceTheOther) {
  c_library_in_base();
  in_base("libx.so.1", {one, "OF_BASE { global: f; };", ""});
  links("libx.so.1", {two, "V2 { global: f; g; };", ""}, "V2", {"g"});
  const Result<Closure> closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_EQ(closure.error().kind, ErrorKind::failed);
  EXPECT_THAT(closure.error().message, HasSubstr("cannot replace /usr/lib/" + multiarch_ + "/libx.so.1"));
  EXPECT_THAT(closure.error().message, HasSubstr("it lacks OF_BASE"));
}

TEST_F(BaseImageTest, ANewerCLibraryComesWithAllItsPartsThatTheBaseHas) {
  c_library_in_base();
  in_base("libBrokenLocale.so.1", {"int broken(void) { return 1; }", "", ""});
  const Code newer{std::string(puts_code) + "int more(void) { return 2; }",
                   "GLIBC_2.2.5 { global: puts; }; GLIBC_2.99 { global: more; } GLIBC_2.2.5;", ""};
  links("libc.so.6", newer, "GLIBC_2.99", {"more"});
  const Result<Closure> incomplete = gather();
  ASSERT_FALSE(incomplete);
  EXPECT_THAT(incomplete.error().message, HasSubstr("this machine has no libBrokenLocale.so.1"));

  compile("libBrokenLocale.so.1", {"int broken(void) { return 1; }", "", ""});
  compile("libm.so.6", {"double sin(double x) { return x; }", "", ""});
  fs::remove_all(directory_.path() / "tree");
  const std::string place = "usr/lib/" + multiarch_ + "/";
  EXPECT_THAT(paths(gather()),
              ElementsAre(place + "libBrokenLocale.so.1", place + "libc.so.6", place + "libm.so.6"));
}

TEST_F(BaseImageTest, AnOldEnoughCLibraryBringsNoPartOfIt) {
  c_library_in_base();
  links("libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}, "GLIBC_2.2.5", {"puts"});
  compile("libm.so.6", {"double sin(double x) { return x; }", "", ""});
  EXPECT_THAT(paths(gather()), IsEmpty());
  EXPECT_THAT(of_base(), ElementsAre("libc.so.6", "libgcc_s.so.1"));
}

TEST_F(BaseImageTest, WithoutTheLoaderThatProgramsNameTheCLibraryIsNone) {
  c_library_in_base();
  links("libc.so.6", {puts_code, "GLIBC_2.2.5 { global: puts; };", ""}, "GLIBC_2.2.5", {"puts"});
  const std::string loader = directory_.path() / "loader"; // a file that the base does not have
  ASSERT_TRUE(write_file(loader, "loader"));
  program_.dynamic.interpreter = loader;
  EXPECT_THAT(paths(gather()),
              UnorderedElementsAre(loader.substr(1), "usr/lib/" + multiarch_ + "/libc.so.6"));
}

// musl's base images have libraries by the same names.
TEST_F(BaseImageTest, ABaseWithoutGlibcHasNoLibraries) {
  in_base("libx.so.1", {one, "", ""});
  links("libx.so.1", {one, "", ""}, "", {"f"});
  EXPECT_THAT(paths(gather()), ElementsAre("usr/lib/" + multiarch_ + "/libx.so.1"));
  EXPECT_THAT(base_->replaced(), IsEmpty());
}

link::InstalledFile file(const std::string& path) {
  return {.kind = Kind::file, .path = path, .mode = 0644};
}
link::InstalledFile link_to(const std::string& path, const std::string& destination) {
  return {.kind = Kind::symlink, .path = path, .mode = 0777, .destination = destination};
}

TEST_F(BaseImageTest, FilesLieBehindTheLinksOfTheBase) {
  ASSERT_TRUE(open_base());
  std::vector<link::InstalledFile> files = {{.kind = Kind::directory, .path = "lib", .mode = 0755},
                                            {.kind = Kind::directory, .path = "opt", .mode = 0700},
                                            file("lib/data"),
                                            link_to("lib/here", "data"),
                                            link_to("lib/there", "../etc/x"),
                                            link_to("lib/root", "/etc/x"),
                                            file("tmp/y"),
                                            file("usr/local/share/z")};
  ASSERT_TRUE(base_->place_files(files));
  std::map<std::string, std::string> placed;
  for (const link::InstalledFile& each : files)
    placed[each.path] = each.destination;
  EXPECT_THAT(placed, ElementsAre(Pair("opt", ""), Pair("tmp/y", ""), Pair("usr/lib/data", ""),
                                  Pair("usr/lib/here", "data"), Pair("usr/lib/root", "/etc/x"),
                                  Pair("usr/lib/there", "../../etc/x"), Pair("usr/local/share/z", "")));
  EXPECT_THAT(base_->description().directories,
              ElementsAre(Pair("tmp", oci::Directory{01777, 0, 0}), Pair("usr", oci::Directory{}),
                          Pair("usr/lib", oci::Directory{}), Pair("usr/local", oci::Directory{02775, 0, 50}),
                          Pair("usr/local/share", oci::Directory{})));
}

TEST_F(BaseImageTest, FilesInTheWayAreNamed) {
  EXPECT_TRUE(layer_->add_symlink("srv", "nowhere"));
  ASSERT_TRUE(open_base());
  const std::pair<link::InstalledFile, const char*> cases[] = {
      {file("usr/lib"), "/usr/lib: the base image has a directory there"},
      {link_to("tmp", "var/tmp"), "/tmp: the base image has a directory there"},
      {file("etc/release/x"), "/etc/release/x: the base image has the file /etc/release"},
      {file("srv/x"), "/srv/x: the base image has the link /srv to nowhere, where it has no directory"},
      {{.kind = Kind::directory, .path = "etc/release", .mode = 0755},
       "/etc/release: the base image has a file there"}};
  for (const auto& [each, message] : cases) {
    std::vector<link::InstalledFile> files = {each};
    const auto placed = base_->place_files(files);
    ASSERT_FALSE(placed) << message;
    EXPECT_EQ(placed.error().message, message);
  }
  std::vector<link::InstalledFile> twice = {file("lib/a"), file("usr/lib/a")};
  EXPECT_TRUE(base_->place_files(twice)); // they are equal
  EXPECT_THAT(twice, ::testing::SizeIs(1));
  twice = {file("lib/a"), link_to("usr/lib/a", "b")};
  EXPECT_THAT(base_->place_files(twice).error().message, HasSubstr("has the same path, /usr/lib/a"));
}

TEST_F(BaseImageTest, WhatTheBaseSaysOfContainers) {
  ASSERT_TRUE(open_base());
  const image::Base& base = base_->description();
  EXPECT_THAT(base.config.labels, ElementsAre(Pair("vendor", "v"))); // not what describes the base
  EXPECT_THAT(base.config.env, ElementsAre("PATH=/opt/bin", "A=b"));
  EXPECT_EQ(base.config.others, Json({{"User", "1000"}}));
  EXPECT_EQ(name_, base.digest.to_string()); // nothing of where it was
  EXPECT_EQ(base.reference, "");
}

TEST_F(BaseImageTest, AnIrImageIsNoBase) {
  const Result<void> opened = open_base({{image::annotation::kind, "ir"}});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::usage);
  EXPECT_THAT(opened.error().message, HasSubstr("an IR image cannot be the base of an application"));
}

} // namespace
} // namespace xaas::build
