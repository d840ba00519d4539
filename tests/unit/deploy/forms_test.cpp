// What units become for links with and without LTO.
#include "forms.h"

#include <gmock/gmock.h>

namespace xaas::deploy {
namespace {

using link::FileRef;

class FormsTest : public ::testing::Test {
protected:
  FormsTest() {
    add_unit("main", 2);
    add_unit("util", 3);
    add_unit("runtime", 1);
    add_unit("old", 0); // -O0 is an obstacle of ThinLTO
    link::ArchiveRecord archive;
    archive.members = {{"util.o", unit("util")}, {"runtime.o", unit("runtime")}};
    archive_ = {FileRef::Kind::archive, archive.digest(), "libutil.a"};
    bundle_.archives[archive.digest()] = archive;
    usage_.archives = {archive.digest()};
  }

  void add_unit(const std::string& name, int level) {
    ir::UnitOptions options;
    options.codegen = {{"OptimizationLevel", level}, {"UseInitArray", 1}};
    bundle_.options[options.digest()] = options;
    const ir::Unit unit{name + ".c", digest_of(name), options.digest(), {}};
    ids_[name] = unit.id();
    bundle_.units[unit.id()] = unit;
    usage_.units.insert(unit.id());
  }

  FileRef unit(const std::string& name) const { return {FileRef::Kind::unit, ids_.at(name), name + ".o"}; }

  link::LinkRecord add_link(const std::string& name, const std::vector<FileRef>& files,
                            const std::vector<ir::AskedPlugin>& plugins = {},
                            const std::set<Digest>& objects = {},
                            link::OutputKind kind = link::OutputKind::executable) {
    link::LinkRecord record;
    record.kind = kind;
    record.name = name;
    for (const FileRef& file : files)
      record.items.push_back({link::LinkItem::Kind::input, "", "", file});
    record.plugins = plugins;
    record.objects = objects;
    bundle_.links[record.digest()] = record;
    usage_.links.push_back(record.digest());
    return record;
  }

  Forms forms(bool lto) const { return forms_of(bundle_, configuration_, usage_, lto); }

  image::Bundle bundle_;
  image::BundleConfiguration configuration_;
  image::Usage usage_;
  std::map<std::string, Digest> ids_;
  FileRef archive_;
  const std::vector<ir::AskedPlugin> plugins_ = {{"enzyme", "22", digest_of("enzyme"), {}}};
};

TEST_F(FormsTest, WithoutLtoEverythingIsAnObject) {
  const link::LinkRecord record = add_link("program", {unit("main"), archive_});
  const Forms made = forms(false);
  EXPECT_FALSE(made.has_lto());
  EXPECT_EQ(made.bitcode(), 0U);
  EXPECT_EQ(made.reader(record.digest(), record), Reader{});
  EXPECT_EQ(made.of(ids_["util"], {}), lower::Form::object);
  EXPECT_EQ(made.read.at({}).archives.size(), 1U);
}

TEST_F(FormsTest, WithLtoOptionsDecide) {
  const link::LinkRecord record = add_link("program", {unit("main"), unit("old"), archive_});
  const Forms made = forms(true);
  EXPECT_EQ(made.reader(record.digest(), record).form, LinkForm::thin);
  EXPECT_EQ(made.of(ids_["util"], {LinkForm::thin}), lower::Form::thin_lto);
  EXPECT_EQ(made.of(ids_["old"], {LinkForm::thin}), lower::Form::object);
  EXPECT_EQ(made.bitcode(), 3U);
  EXPECT_EQ(made.without.size(), 1U);
  EXPECT_EQ(made.lto_level, 3U);
}

TEST_F(FormsTest, PluginsOfALinkSeeWhatWasCompiledForLto) {
  const link::LinkRecord merged =
      add_link("solver", {unit("main"), unit("old"), archive_}, plugins_, {ids_["runtime"]});
  const link::LinkRecord other = add_link("tool", {unit("main")});
  const Reader in_merged{LinkForm::merged, merged.digest()};
  for (const bool lto : {false, true}) {
    const Forms made = forms(lto);
    EXPECT_TRUE(made.has_lto());
    EXPECT_EQ(made.reader(merged.digest(), merged), in_merged);
    EXPECT_EQ(made.reader(other.digest(), other).form, lto ? LinkForm::thin : LinkForm::plain);
    for (const char* name : {"main", "old", "util"})
      EXPECT_EQ(made.of(ids_[name], in_merged), lower::Form::lto) << name;
    EXPECT_EQ(made.of(ids_["runtime"], in_merged), lower::Form::object);
    EXPECT_EQ(made.without, (std::map<std::string, uint64_t>{{"compiled without -flto", 1}}));
    EXPECT_EQ(made.lto_level, lto ? 2U : 1U); // of the other link alone
  }
}

// One program was linked with an object of util.c that was compiled without -flto, the other with another
// one.
TEST_F(FormsTest, EachLinkWithPluginsHasItsOwnObjects) {
  const link::LinkRecord one = add_link("one", {unit("main"), unit("util")}, plugins_, {ids_["util"]});
  const link::LinkRecord two = add_link("two", {unit("main"), unit("util")}, plugins_);
  const Forms made = forms(false);
  EXPECT_EQ(made.of(ids_["util"], made.reader(one.digest(), one)), lower::Form::object);
  EXPECT_EQ(made.of(ids_["util"], made.reader(two.digest(), two)), lower::Form::lto);
  EXPECT_EQ(made.bitcode(), 2U);
  EXPECT_EQ(made.without, (std::map<std::string, uint64_t>{{"compiled without -flto", 1}}));
}

TEST_F(FormsTest, RelocatableOutputsHaveNoIr) {
  const link::LinkRecord record =
      add_link("all.o", {unit("main")}, plugins_, {}, link::OutputKind::relocatable);
  const Forms made = forms(true);
  EXPECT_EQ(made.reader(record.digest(), record), Reader{});
  EXPECT_EQ(made.of(ids_["main"], {}), lower::Form::object);
  EXPECT_FALSE(made.has_lto());
}

} // namespace
} // namespace xaas::deploy
