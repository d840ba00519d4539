#include <xaas/link/record.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::link {
namespace {

using ::testing::HasSubstr;

const std::string some_digest = "sha256:" + std::string(64, 'a');

LinkRecord sample() {
  const FileRef unit{FileRef::Kind::unit, digest_of("unit"), "x.o"};
  const FileRef map{FileRef::Kind::kit, digest_of("map"), "x.map"};
  return {OutputKind::shared,
          "libx.so.1",
          {{LinkItem::Kind::option, "--as-needed", "", {}},
           {LinkItem::Kind::option, "-z", "now", {}},
           {LinkItem::Kind::option, "--rpath", "", {}},
           {LinkItem::Kind::option, "--build-id", "", {}},
           {LinkItem::Kind::file_option, "--version-script", "", map},
           {LinkItem::Kind::input, "", "", unit}}};
}

Result<LinkRecord> parse(const std::string& text) {
  const auto json = parse_json(text, "record");
  EXPECT_TRUE(json) << text;
  return parse_link_record(JsonReader(*json, "/links/0"));
}

Result<LinkRecord> parse_items(const std::string& items) {
  return parse(R"({"kind":"shared","name":"x","items":[)" + items + "]}");
}

TEST(LinkRecordTest, IsTheSameAfterJson) {
  const auto again = parse(to_json(sample()).dump());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, sample());
  EXPECT_EQ(again->digest(), sample().digest());
  LinkRecord other = sample();
  std::swap(other.items[0], other.items[1]);
  EXPECT_NE(other.digest(), sample().digest());
}

TEST(LinkRecordTest, PluginsAreAPartOfIt) {
  LinkRecord record = sample();
  EXPECT_FALSE(to_json(record).contains("plugins")); // as older versions wrote it
  record.plugins = {{"enzyme", "22", digest_of("enzyme"), {"enzyme-width=2"}}};
  EXPECT_NE(record.digest(), sample().digest());
  const auto again = parse(to_json(record).dump());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, record);
  record.objects = {digest_of("unit")};
  record.lto_level = 3;
  const auto whole = parse(to_json(record).dump());
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(*whole, record);
  Json bad = to_json(record);
  bad["lto_level"] = 4;
  EXPECT_FALSE(parse(bad.dump()));
  bad = to_json(record);
  bad.erase("plugins");
  EXPECT_FALSE(parse(bad.dump()));
  record.kind = OutputKind::relocatable;
  EXPECT_FALSE(parse(to_json(record).dump()));
}

TEST(LinkRecordTest, HasTheFormThatTheHeaderSays) {
  EXPECT_EQ(to_json(sample())["items"][1].dump(), R"({"option":"-z","value":"now"})");
  EXPECT_EQ(to_json(sample())["items"][5].dump(),
            R"({"input":{"unit":")" + digest_of("unit").to_string() + R"(","name":"x.o"}})");
}

TEST(LinkRecordTest, HostileItems) {
  const auto file = [](const std::string& name) {
    return R"({"kit":")" + some_digest + R"(","name":")" + name + R"("})";
  };
  for (const std::string& item : {
           std::string(R"({"option":"-Map","value":"/x"})"),
           std::string(R"({"option":"--Map","value":"/x"})"),
           std::string(R"({"option":"--format","value":"binary"})"),
           std::string(R"({"option":"--just-symbols","value":"/etc/passwd"})"),
           std::string(R"({"option":"--version-script","value":"/etc/passwd"})"),
           std::string(R"({"option":"@/etc/passwd"})"),
           std::string(R"({"option":"--mllvm","value":"-x"})"),
           std::string(R"({"option":"--load-pass-plugin","value":"x.so"})"),
           std::string(R"({"option":"--output","value":"/x"})"),
           std::string(R"({"option":"-L","value":"/"})"),
           std::string(R"({"option":"--library","value":"c"})"),
           std::string(R"({"option":"--threads","value":"1"})"),
           std::string(R"({"option":"--sysroot","value":"/"})"),
           std::string(R"({"option":"-s"})"),
           std::string(R"({"option":"--as-needed","value":"x"})"),
           std::string(R"({"option":"--as-needed","value":""})"),
           std::string(R"({"option":"--as-needed","more":1})"),
           std::string(R"({"option":"--soname"})"),
           std::string(R"({"option":"--soname","value":7})"),
           std::string(R"({"option":"--soname","value":"a\u0000b"})"),
           std::string(R"({"option":"-z","value":"@x"})"),
           std::string(R"({"option":"--icf","value":"all --Map=/x"})"),
           std::string(R"({"option":"--build-id","value":"uuid"})"),
           R"({"option":"--as-needed","file":)" + file("x") + "}",
           R"({"input":)" + file("../x") + "}",
           R"({"input":)" + file("/etc/passwd") + "}",
           R"({"input":)" + file("..") + "}",
           R"({"input":)" + file("") + "}",
           R"({"input":)" + file("a\\u0000b") + "}",
           R"({"input":)" + file("x") + R"(,"option":"--as-needed"})",
           R"({"input":{"kit":")" + some_digest + R"(","unit":")" + some_digest + R"(","name":"x"}})",
           std::string(R"({"input":{"name":"x"}})"),
           std::string(R"({"input":{"kit":"sha256:00","name":"x"}})"),
           std::string(R"({"input":"x.o"})"),
           std::string("{}"),
           std::string("7"),
       }) {
    const auto record = parse_items(item);
    ASSERT_FALSE(record) << item;
    EXPECT_EQ(record.error().kind, ErrorKind::integrity) << item;
    EXPECT_THAT(record.error().message, HasSubstr("/links/0/items/0"));
  }
}

TEST(LinkRecordTest, HostileRecords) {
  for (const char* text : {R"({"kind":"shared","name":"x"})", R"({"kind":"other","name":"x","items":[]})",
                           R"({"kind":"shared","name":"a/b","items":[]})", R"([])",
                           R"({"kind":"shared","name":"x","items":[],"command":"sh"})",
                           R"({"kind":"shared","name":"x","items":{}})"}) {
    const auto record = parse(text);
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().kind, ErrorKind::integrity);
  }
}

TEST(ArchiveRecordTest, JsonBothWays) {
  const ArchiveRecord record{{{"x.o", {FileRef::Kind::unit, digest_of("1"), "x.o"}},
                              {"x.o", {FileRef::Kind::kit, digest_of("2"), "y.o"}}}};
  const Json json = to_json(record);
  const auto again = parse_archive_record(JsonReader(json, ""));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, record);
  Json nested = json;
  nested["members"][0]["file"] = Json{{"archive", some_digest}, {"name", "x.a"}};
  EXPECT_FALSE(parse_archive_record(JsonReader(nested, "")));
  nested = json;
  nested["members"][0]["name"] = "../x.o";
  EXPECT_FALSE(parse_archive_record(JsonReader(nested, "")));
}

} // namespace
} // namespace xaas::link
