#include <xaas/link/needs.h>

#include "link/testing.h"

#include <gmock/gmock.h>

namespace xaas::link {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

LinkItem option(const std::string& name, const std::string& value = {}) {
  return {LinkItem::Kind::option, name, value, {}};
}

LinkItem input(FileRef::Kind kind, const std::string& name) {
  return {LinkItem::Kind::input, "", "", {kind, digest_of(name), name}};
}

std::vector<std::string> names_of(const std::set<FileRef>& files) {
  std::vector<std::string> names;
  for (const FileRef& file : files)
    names.push_back(file.name);
  return names;
}

TEST(Needs, ArchivesAreReadByNeedUnlessAnOptionSaysOtherwise) {
  LinkRecord record;
  record.items = {input(FileRef::Kind::unit, "main.o"),
                  input(FileRef::Kind::archive, "libneeded.a"),
                  option("--push-state"),
                  option("--whole-archive"),
                  input(FileRef::Kind::archive, "libwhole.a"),
                  option("--pop-state"),
                  input(FileRef::Kind::archive, "libafter.a"),
                  option("--whole-archive"),
                  option("--no-whole-archive"),
                  input(FileRef::Kind::archive, "liblast.a"),
                  option("--wrap", "malloc"),
                  option("--defsym", "alias=target+8")};
  const Needs needs = needs_of(record);
  EXPECT_THAT(names_of(needs.archives),
              testing::UnorderedElementsAre("libneeded.a", "libafter.a", "liblast.a"));
  EXPECT_THAT(names_of(needs.whole), testing::UnorderedElementsAre("main.o", "libwhole.a"));
  EXPECT_THAT(needs.names,
              IsSupersetOf({"_start", "malloc", "__wrap_malloc", "__real_malloc", "alias", "target"}));

  LinkRecord patterns = record;
  patterns.items.push_back(option("--undefined-glob", "plugin_*"));
  EXPECT_THAT(needs_of(patterns).archives, IsEmpty());
  record.kind = OutputKind::relocatable;
  EXPECT_THAT(needs_of(record).archives, IsEmpty());
}

class NamesTest : public LinkTest {};

TEST_F(NamesTest, OfObjectsArchivesLibrariesAndScripts) {
  write("a.c", "int from_a(void); int a(void) { return from_a(); }\n");
  write("b.c", "int from_b(void); int common; int b(void) { return from_b(); }\n");
  write("c.c", "int from_c(void); int c(void) { return from_c(); }\n");
  write("script", "{ global: exported; local: *; };\n");
  write("assigns", "end_of_all = . ;\nPROVIDE(provided=0x10);\nASSERT(one == two, \"no\")\n");
  sh("clang-22 -fcommon -fPIC -c a.c b.c c.c && llvm-ar-22 rc libb.a b.o && clang-22 -shared -s -o libc.so "
     "c.o");
  const auto names = names_wanted_by({{path("a.o"), "a.o"},
                                      {path("libb.a"), "libb.a"},
                                      {path("libc.so"), "libc.so"},
                                      {path("script"), "script"}});
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, IsSupersetOf({"from_a", "from_b", "common", "from_c", "exported"}));
  EXPECT_THAT(*names, AllOf(Not(Contains("a")), Not(Contains("b")), Not(Contains("c"))));
  const auto defined = names_defined_by({{path("libb.a"), "libb.a"},
                                         {path("libc.so"), "libc.so"},
                                         {path("script"), "script"},
                                         {path("assigns"), "assigns"}});
  ASSERT_TRUE(defined) << defined.error().message;
  EXPECT_THAT(*defined, IsSupersetOf({"b", "c", "common", "end_of_all", "provided"}));
  for (const char* name : {"from_b", "exported", "one", "PROVIDE"})
    EXPECT_THAT(*defined, Not(Contains(name)));

  write("damaged.a", "!<arch>\nwhat");
  const auto damaged = names_wanted_by({{path("damaged.a"), "libfoo.a"}});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::integrity);
  EXPECT_THAT(damaged.error().message, HasSubstr("libfoo.a"));
}

} // namespace
} // namespace xaas::link
