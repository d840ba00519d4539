// Which pass plugins run on which units, and in which links.
#include <xaas/deploy/plugins.h>

#include <gmock/gmock.h>

namespace xaas::deploy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PluginChoiceTest : public ::testing::Test {
protected:
  PluginChoiceTest() {
    add("plain.c", {});
    add("gradient.c", {{"enzyme", "22", digest_of("enzyme"), {"enzyme-width=2"}}});
  }

  void add(const std::string& source, const std::vector<ir::AskedPlugin>& plugins) {
    ir::Unit unit{source, digest_of(source), digest_of("options"), {}};
    unit.plugins = plugins;
    ids_[source] = unit.id();
    bundle_.units[unit.id()] = unit;
    usage_.units.insert(unit.id());
  }

  static lower::PassPlugin plugin(const std::string& name, const std::string& contents,
                                  const std::vector<std::string>& options) {
    return {"/plugins/" + contents + ".so", digest_of(contents), name, "22", options, {}};
  }

  Result<PluginChoice> choose() const { return choose_plugins(bundle_, usage_, request_); }
  void expect_refused(ErrorKind kind, const std::string& message, const std::string& hint) const {
    const Result<PluginChoice> refused = choose();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, kind);
    EXPECT_THAT(refused.error().message, HasSubstr(message));
    EXPECT_THAT(refused.error().hint, HasSubstr(hint));
  }
  // Names and options of the plugins of a unit.
  std::vector<std::string> of(const PluginChoice& choice, const std::string& source) const {
    std::vector<std::string> all;
    for (const lower::PluginUse& use : choice.of(ids_.at(source)))
      all.push_back(use.plugin.name + Json(use.options).dump());
    return all;
  }

  image::Bundle bundle_;
  image::Usage usage_;
  std::map<std::string, Digest> ids_;
  PluginRequest request_;
  lower::PassPlugin enzyme_ = plugin("enzyme", "enzyme", {"enzyme-print", "enzyme-width"});
  lower::PassPlugin count_ = plugin("count", "count", {});
};

TEST_F(PluginChoiceTest, UnitsGetWhatTheyAskFor) {
  request_ = {.given = {enzyme_}, .options = {"enzyme-width"}};
  const Result<PluginChoice> choice = choose();
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_THAT(of(*choice, "gradient.c"), ElementsAre("enzyme[\"enzyme-width=2\"]"));
  EXPECT_THAT(of(*choice, "plain.c"), ElementsAre());
  EXPECT_THAT(choice->used,
              ElementsAre(image::UsedPlugin{"enzyme", "22", digest_of("enzyme"), false, 1, 0, {}}));
  EXPECT_EQ(choice->key(ids_["plain.c"]), "");
  EXPECT_THAT(choice->key(ids_["gradient.c"]), HasSubstr(digest_of("enzyme").to_string()));
}

TEST_F(PluginChoiceTest, ThoseForAllComeLast) {
  request_ = {.given = {count_, enzyme_}, .for_all = true, .options = {"enzyme-width=4", "enzyme-print"}};
  const Result<PluginChoice> choice = choose();
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_THAT(of(*choice, "gradient.c"), ElementsAre("enzyme[\"enzyme-width=4\"]", "count[]"));
  EXPECT_THAT(of(*choice, "plain.c"), ElementsAre("count[]"));
  EXPECT_THAT(
      choice->used,
      ElementsAre(image::UsedPlugin{"count", "22", digest_of("count"), true, 2, 0, {}},
                  image::UsedPlugin{"enzyme", "22", digest_of("enzyme"), false, 1, 0, {"enzyme-width=4"}}));
}

TEST_F(PluginChoiceTest, WhatIsMissingIsNamed) {
  expect_refused(ErrorKind::unsatisfied,
                 "gradient.c asks for the pass plugin enzyme 22 (sha256:", "--pass-plugin FILE");
  request_ = {.given = {plugin("enzyme", "other", {"enzyme-width"})}, .options = {"enzyme-width"}};
  expect_refused(ErrorKind::unsatisfied, "/plugins/other.so is enzyme 22 (", "--any-plugin-build");
  request_.any_build = true;
  const Result<PluginChoice> choice = choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->used.front().digest, digest_of("other"));
  request_ = {.given = {enzyme_}};
  expect_refused(ErrorKind::unsatisfied,
                 "gradient.c sets the option -enzyme-width=2 of the pass plugin enzyme",
                 "--plugin-option enzyme-width");
}

TEST_F(PluginChoiceTest, LinksAskAsUnitsDo) {
  link::LinkRecord record;
  record.name = "solver";
  record.plugins = {{"count", "22", digest_of("count"), {}}};
  bundle_.links[record.digest()] = record;
  usage_.links = {record.digest()};
  request_ = {.given = {enzyme_}, .options = {"enzyme-width"}};
  expect_refused(ErrorKind::unsatisfied, "the link of solver asks for the pass plugin count 22",
                 "--pass-plugin FILE");
  request_.given.push_back(count_);
  const Result<PluginChoice> choice = choose();
  ASSERT_TRUE(choice) << choice.error().message;
  ASSERT_EQ(choice->links.size(), 1U);
  EXPECT_EQ(choice->links.at(record.digest()).front().plugin.name, "count");
  EXPECT_EQ(choice->used.back(), (image::UsedPlugin{"count", "22", digest_of("count"), false, 0, 1, {}}));
  EXPECT_THAT(of(*choice, "plain.c"), ElementsAre());
  // An option that only LLVM itself has.
  bundle_.links[record.digest()].plugins[0].options = {"inline-threshold=3"};
  request_.options.emplace_back("inline-threshold");
  EXPECT_FALSE(choose());
}

TEST_F(PluginChoiceTest, NothingIsIgnored) {
  request_ = {.given = {enzyme_, count_}, .options = {"enzyme-width"}};
  expect_refused(ErrorKind::usage, "nothing in this configuration asks for the pass plugin count",
                 "--for all");
  request_.options = {"enzyme-width", "inline-threshold=3"};
  expect_refused(ErrorKind::usage, "--plugin-option inline-threshold=3", "enzyme-print, enzyme-width");
}

} // namespace
} // namespace xaas::deploy
