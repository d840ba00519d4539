// Names of shared libraries that other links define in another way.
#include "interposition.h"

#include <gmock/gmock.h>

namespace xaas::deploy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class Interposition : public ::testing::Test {
protected:
  Digest unit(const std::string& name, const std::set<std::string>& defined) {
    const Digest id = digest_of(name);
    bundle_.units[id].source = name;
    defined_[id] = defined;
    return id;
  }
  void link(link::OutputKind kind, const std::string& name, const std::vector<link::FileRef>& files,
            const std::string& symbol = "") {
    link::LinkRecord record;
    record.kind = kind;
    record.name = name;
    for (const link::FileRef& file : files) {
      link::LinkItem item;
      item.file = file;
      record.items.push_back(item);
    }
    if (!symbol.empty()) {
      link::LinkItem item;
      item.kind = link::LinkItem::Kind::option;
      item.option = "--defsym";
      item.value = symbol;
      record.items.push_back(item);
    }
    links_.push_back(record.digest());
    bundle_.links[record.digest()] = record;
  }
  static link::FileRef of(const Digest& unit) { return {link::FileRef::Kind::unit, unit, ""}; }
  auto names() const { return interposed_names(bundle_, links_, defined_); }

  image::Bundle bundle_;
  std::vector<Digest> links_;
  std::map<Digest, std::set<std::string>> defined_;
};

TEST_F(Interposition, IsAboutOtherDefinitionsInOtherLinks) {
  const Digest library = unit("xerbla.f", {"xerbla_", "other_"}), more = unit("more.f", {"more_"}),
               program = unit("test.f", {"xerbla_", "main"});
  link(link::OutputKind::shared, "liblapack.so.3", {of(library), of(more)});
  EXPECT_FALSE(may_interpose(bundle_, links_));
  link(link::OutputKind::executable, "test", {of(program)});
  EXPECT_TRUE(may_interpose(bundle_, links_));
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("xerbla_"))));
}

// Its static variables, and what it calls, are others.
TEST_F(Interposition, TheSameUnitInSeveralLinksIsReplaced) {
  const Digest common = unit("common.c", {"common"}), main = unit("main.c", {"main"});
  link(link::OutputKind::shared, "liba.so", {of(common)});
  link(link::OutputKind::executable, "a", {of(common), of(main)});
  EXPECT_THAT(names(), ElementsAre(Pair(common, ElementsAre("common"))));
}

TEST_F(Interposition, OptionsAndUnitsThatMayDefineAnyName) {
  const Digest library = unit("a.c", {"a", "b"}), main = unit("main.c", {"main", "f"});
  link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::executable, "main", {of(main)}, "a=f");
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a"))));
  defined_.erase(main);
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a", "b"))));
  // A unit whose own names are unknown has nothing to mark: its assembly keeps it out of LTO.
  defined_[main] = {"main", "f"};
  defined_.erase(library);
  EXPECT_THAT(names(), IsEmpty());
}

// Also in an archive. LTO sees an object in their place.
TEST_F(Interposition, PartsOfRelocatableObjectsReplace) {
  const Digest library = unit("a.c", {"a", "b", "c"}), part = unit("part.c", {"a"}),
               member = unit("member.c", {"b"});
  link(link::OutputKind::relocatable, "part.o", {of(part)});
  link(link::OutputKind::relocatable, "member.o", {of(member)}, "c");
  const link::FileRef first = {link::FileRef::Kind::link, links_[0], "part.o"};
  link::ArchiveRecord archive;
  archive.members.push_back({"member.o", {link::FileRef::Kind::link, links_[1], "member.o"}});
  bundle_.archives[archive.digest()] = archive;
  link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::executable, "main",
       {first, {link::FileRef::Kind::archive, archive.digest(), "libmember.a"}});
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a", "b", "c"))));
  const LinkInputs inputs = inputs_of_link(bundle_, links_.back());
  EXPECT_THAT(inputs.units, IsEmpty());
  EXPECT_THAT(inputs.relocated, testing::UnorderedElementsAre(part, member));
}

TEST_F(Interposition, NothingReplacesFunctionsOfPrograms) {
  const Digest one = unit("one.c", {"main", "help"}), two = unit("two.c", {"main", "help"});
  link(link::OutputKind::executable, "one", {of(one)});
  link(link::OutputKind::executable, "two", {of(two)});
  EXPECT_FALSE(may_interpose(bundle_, links_));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Interposition, NativeObjectsAndOtherLibrariesDefineNames) {
  const Digest library = unit("a.c", {"a", "common"}), other = unit("b.c", {"b", "common"});
  const Digest native = digest_of("native.o");
  defined_[native] = {"a"};
  link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::shared, "libb.so", {of(other)});
  link(link::OutputKind::executable, "program", {{link::FileRef::Kind::kit, native, "native.o"}});
  EXPECT_THAT(names(), testing::UnorderedElementsAre(Pair(library, ElementsAre("a", "common")),
                                                     Pair(other, ElementsAre("common"))));
}

} // namespace
} // namespace xaas::deploy
