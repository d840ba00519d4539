// Notes about reference libraries of an image.
#include "references.h"

#include <gmock/gmock.h>

namespace xaas::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class References : public ::testing::Test {
protected:
  void add(const fs::path& path) const {
    ASSERT_TRUE(make_directories((directory_.path() / path).parent_path()));
    ASSERT_TRUE(write_file(directory_.path() / path, "x"));
  }
  std::vector<std::string> notes(const std::vector<image::PreferredOfHost>& preferred = {}) const {
    return notes_of_references(directory_.path() / "tree", {"/usr/local/lib", "/usr/lib", "/lib"},
                               {directory_.path() / "opt", directory_.path() / "lib"}, preferred);
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(References, NeedBothTheImagesAndABetterOne) {
  add("tree/usr/lib/libblas.so.3.11");
  EXPECT_THAT(notes(), IsEmpty());
  fs::create_symlink("libblas.so.3.11", directory_.path() / "tree/usr/lib/libblas.so.3");
  EXPECT_THAT(notes(), IsEmpty());
  add("lib/libblas.so.3"); // no better
  EXPECT_THAT(notes(), IsEmpty());
  add("lib/libblis.so.4");
  EXPECT_THAT(
      notes(),
      ElementsAre("/usr/lib/libblas.so.3 of the image may be the reference blas; `--host blas` takes " +
                  (directory_.path() / "lib/libblis.so.4").string() + " instead"));
  add("opt/libopenblas.so.0"); // better than that
  add("tree/usr/local/lib/liblapack.so.3");
  EXPECT_THAT(notes(), ElementsAre(testing::HasSubstr("opt/libopenblas.so.0"),
                                   testing::HasSubstr("reference lapack")));
  EXPECT_THAT(notes({{"blas", "", {}}, {"lapack", "", {}}}), IsEmpty());
}

TEST_F(References, AreNotWhatImplementationsAreNamed) {
  add("tree/usr/lib/libopenblas.so.0");
  add("tree/usr/lib/libfftw3.so.3");
  add("lib/libopenblas.so.0");
  add("lib/libmkl_rt.so.2");
  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(References, StayInTheTree) {
  add("tree/usr/lib/other");
  add("outside/libblas.so.3");
  add("lib/libopenblas.so.0");
  fs::create_symlink(directory_.path() / "outside/libblas.so.3",
                     directory_.path() / "tree/usr/lib/libblas.so.3");
  EXPECT_THAT(notes(), IsEmpty());
}

} // namespace
} // namespace xaas::run
