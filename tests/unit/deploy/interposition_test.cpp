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
    known_.defined[id] = defined;
    return id;
  }
  link::FileRef link(link::OutputKind kind, const std::string& name, const std::vector<link::FileRef>& files,
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
    return {link::FileRef::Kind::link, record.digest(), name};
  }
  static link::FileRef of(const Digest& unit) { return {link::FileRef::Kind::unit, unit, ""}; }
  auto names() const {
    std::map<Digest, LinkInputs> links;
    for (const Digest& link : links_)
      links.emplace(link, inputs_of_link(bundle_, link));
    return interposed_names(bundle_, links, known_);
  }

  image::Bundle bundle_;
  std::vector<Digest> links_;
  FileNames known_;
};

TEST_F(Interposition, IsAboutOtherDefinitionsInOtherLinks) {
  const Digest library = unit("xerbla.f", {"xerbla_", "other_"}), more = unit("more.f", {"more_"}),
               program = unit("test.f", {"xerbla_", "main"});
  const link::FileRef lapack = link(link::OutputKind::shared, "liblapack.so.3", {of(library), of(more)});
  EXPECT_FALSE(may_interpose(bundle_, links_));
  link(link::OutputKind::executable, "test", {of(program), lapack});
  EXPECT_TRUE(may_interpose(bundle_, links_));
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("xerbla_"))));
}

// Its static variables, and what it calls, are others.
TEST_F(Interposition, TheSameUnitInSeveralLinksIsReplaced) {
  const Digest common = unit("common.c", {"common"}), main = unit("main.c", {"main"});
  const link::FileRef a = link(link::OutputKind::shared, "liba.so", {of(common)});
  link(link::OutputKind::executable, "a", {of(common), of(main), a});
  EXPECT_THAT(names(), ElementsAre(Pair(common, ElementsAre("common"))));
}

TEST_F(Interposition, OptionsAndUnitsThatMayDefineAnyName) {
  const Digest library = unit("a.c", {"a", "b"}), main = unit("main.c", {"main", "f"});
  const link::FileRef a = link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::executable, "main", {of(main), a}, "a=f");
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a"))));
  known_.defined.erase(main);
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a", "b"))));
  // A unit whose own names are unknown has nothing to mark: its assembly keeps it out of LTO.
  known_.defined[main] = {"main", "f"};
  known_.defined.erase(library);
  EXPECT_THAT(names(), IsEmpty());
}

// Also in an archive. LTO sees an object in their place.
TEST_F(Interposition, PartsOfRelocatableObjectsReplace) {
  const Digest library = unit("a.c", {"a", "b", "c"}), part = unit("part.c", {"a"}),
               member = unit("member.c", {"b"});
  const link::FileRef first = link(link::OutputKind::relocatable, "part.o", {of(part)}),
                      second = link(link::OutputKind::relocatable, "member.o", {of(member)}, "c");
  link::ArchiveRecord archive;
  archive.members.push_back({"member.o", second});
  bundle_.archives[archive.digest()] = archive;
  const link::FileRef a = link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::executable, "main",
       {first, {link::FileRef::Kind::archive, archive.digest(), "libmember.a"}, a});
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
  known_.defined[native] = {"a"};
  link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::shared, "libb.so", {of(other)});
  link(link::OutputKind::executable, "program", {{link::FileRef::Kind::kit, native, "native.o"}});
  EXPECT_THAT(names(), testing::UnorderedElementsAre(Pair(library, ElementsAre("a", "common")),
                                                     Pair(other, ElementsAre("common"))));
}

// As zlib's minigzip, which is linked with libz.a, beside libz.so.
TEST_F(Interposition, ProgramsReplaceOnlyWhatTheyExport) {
  const Digest library = unit("a.c", {"a", "b", "c", "d"}), main = unit("main.c", {"main", "a", "b", "c"});
  const Digest start = digest_of("crt1.o"), prebuilt = digest_of("libp.so");
  known_.defined[start] = {"_start"};
  known_.wanted[start] = {"main"};
  const std::vector<link::FileRef> files = {{link::FileRef::Kind::kit, start, "crt1.o"}, of(main)};
  link(link::OutputKind::shared, "liba.so", {of(library)});
  link(link::OutputKind::executable, "main", files, "d=a");
  EXPECT_THAT(names(), IsEmpty());
  // Neither does one whose names are unknown.
  known_.defined.erase(main);
  EXPECT_THAT(names(), IsEmpty());
  known_.defined[main] = {"main", "a", "b", "c"};

  // What a prebuilt library has or wants is exported.
  known_.defined[prebuilt] = {"b", "p"};
  known_.wanted[prebuilt] = {"c", "q"};
  std::vector<link::FileRef> with_library = files;
  with_library.push_back({link::FileRef::Kind::kit, prebuilt, "libp.so"});
  link(link::OutputKind::executable, "main", with_library, "d=a");
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("b", "c"))));
  known_.defined.erase(main);
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("b", "c"))));
  known_.defined[main] = {"main", "a", "b", "c"};
  known_.wanted.erase(prebuilt);
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a", "b", "c", "d"))));
  known_.wanted[prebuilt] = {"c", "q"};
  known_.defined.erase(prebuilt);
  EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a", "b", "c", "d"))));
}

TEST_F(Interposition, ProgramsExportAllOnRequest) {
  for (const char* option : {"--export-dynamic", "--export-dynamic-symbol", "--export-dynamic-symbol-list",
                             "--dynamic-list", "--version-script"}) {
    bundle_ = {};
    links_.clear();
    const Digest library = unit("a.c", {"a"}), main = unit("main.c", {"main", "a"});
    link(link::OutputKind::shared, "liba.so", {of(library)});
    link(link::OutputKind::executable, "main", {of(main)});
    EXPECT_THAT(names(), IsEmpty()) << option;
    link::LinkRecord record = bundle_.links.at(links_.back());
    link::LinkItem item;
    item.kind = link::LinkItem::Kind::option;
    item.option = option;
    record.items.push_back(item);
    bundle_.links[record.digest()] = record;
    links_.push_back(record.digest());
    EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a")))) << option;
  }
}

// That file may load the library. lld takes a position-independent program for a shared library.
TEST_F(Interposition, ProgramsThatAreLinkedWithAnotherFileExportAll) {
  for (const link::OutputKind kind : {link::OutputKind::shared, link::OutputKind::executable}) {
    bundle_ = {};
    links_.clear();
    const Digest other = unit("other.c", {"other"}), library = unit("a.c", {"a"}),
                 main = unit("main.c", {"main", "a"});
    const link::FileRef b = link(kind, "b", {of(other)});
    link(link::OutputKind::shared, "liba.so", {of(library)});
    link(link::OutputKind::executable, "main", {of(main), b});
    EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a"))));
  }
}

// A linker script assigns them, and --just-symbols takes them from a file.
TEST_F(Interposition, FilesOfOptionsDefineNames) {
  for (const char* option : {"--script", "--default-script", "--just-symbols"}) {
    bundle_ = {};
    links_.clear();
    const Digest library = unit("a.c", {"a"}), main = unit("main.c", {"main"});
    const Digest file = digest_of("file");
    known_.defined[file] = {"a"};
    known_.wanted[file] = {};
    link(link::OutputKind::shared, "liba.so", {of(library)});
    link::LinkRecord record = bundle_.links.at(links_.back());
    record.kind = link::OutputKind::executable;
    record.items[0].file = of(main);
    link::LinkItem item;
    item.kind = link::LinkItem::Kind::file_option;
    item.option = option;
    item.file = {link::FileRef::Kind::kit, file, "file"};
    record.items.push_back(item);
    bundle_.links[record.digest()] = record;
    links_.push_back(record.digest());
    EXPECT_THAT(names(), ElementsAre(Pair(library, ElementsAre("a")))) << option;
  }
}

} // namespace
} // namespace xaas::deploy
