#include <xaas/image/warning.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using FileKind = link::InstalledFile::Kind;

TEST(Warnings, UnoptimizedSourcesAreCountedAndTheFirstNamed) {
  EXPECT_FALSE(unoptimized_warning({}));
  const std::optional<Warning> one = unoptimized_warning({"a.f90"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->kind, "optimization");
  EXPECT_THAT(one->message, HasSubstr("1 source (a.f90) is compiled without an -O option"));
  const std::optional<Warning> many = unoptimized_warning({"a.c", "b.c", "c.c", "d.c", "e.c"});
  EXPECT_THAT(many->message, HasSubstr("5 sources (a.c, b.c, c.c and 2 more) are compiled"));
}

TEST(Warnings, ProgramsAreLinkedOnesAndScripts) {
  Bundle bundle;
  bundle.image.prefix = "/usr/local";
  BundleConfiguration configuration;
  const auto add = [&](const std::string& path, FileKind kind, unsigned mode, link::OutputKind output) {
    link::InstalledFile file;
    file.path = path;
    file.kind = kind;
    file.mode = mode;
    link::LinkRecord record;
    record.name = path;
    record.kind = output;
    file.digest = record.digest();
    if (kind == FileKind::link)
      bundle.links[file.digest] = record;
    configuration.installed.push_back(file);
  };
  add("usr/local/bin/solver", FileKind::link, 0755, link::OutputKind::executable);
  add("usr/local/libexec/worker", FileKind::link, 0755, link::OutputKind::executable);
  add("usr/local/lib/libsolver.so", FileKind::link, 0755, link::OutputKind::shared);
  add("usr/local/bin/plot", FileKind::file, 0755, {});
  add("usr/local/bin/notes", FileKind::file, 0644, {});
  add("usr/local/share/run", FileKind::file, 0755, {});
  EXPECT_THAT(programs_of(bundle, configuration), ElementsAre("/usr/local/libexec/worker", "plot", "solver"));
  bundle.image.env["PATH"] = "/usr/local/libexec";
  EXPECT_THAT(programs_of(bundle, configuration),
              ElementsAre("/usr/local/bin/plot", "/usr/local/bin/solver", "worker"));
}

TEST(Warnings, OnlyAnImageWithProgramsAndWithoutEntryPointIsWorthOne) {
  spec::Image image;
  EXPECT_FALSE(entrypoint_warning(image, {}));
  const std::optional<Warning> warning = entrypoint_warning(image, {"a", "b"});
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "entrypoint");
  EXPECT_THAT(warning->message, HasSubstr(": a, b"));
  image.entrypoint = {"/usr/local/bin/a"};
  EXPECT_FALSE(entrypoint_warning(image, {"a", "b"}));
}

} // namespace
} // namespace xaas::image
