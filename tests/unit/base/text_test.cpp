// JSON, text for people, UTF-8, versions.
#include <xaas/base/json.h>
#include <xaas/base/plain_stream.h>
#include <xaas/base/text.h>
#include <xaas/base/utf8.h>
#include <xaas/base/version.h>

#include <gtest/gtest.h>

#include <sstream>

namespace xaas {
namespace {

TEST(Json, ErrorsHaveLineAndPointer) {
  const auto bad = parse_json("{\n \"a\": ,}", "spec.json");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("spec.json"), std::string::npos);
  EXPECT_NE(bad.error().message.find("line 2"), std::string::npos);

  const Json json = *parse_json("{\"a\": [1, \"x\"]}", "t");
  const auto wrong = JsonReader(json, "bundle").at("a")->strings();
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("bundle/a/0"), std::string::npos);
}

// The last of two would win here, the first elsewhere.
TEST(Json, AKeyThatIsThereTwiceIsRefused) {
  for (const auto& [text, where] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a": 1, "a": 1})", "doc: has the key \"a\" twice"},
           {R"({"a": [{}, [1], {"b": {"c": 1, "d": [], "c": 2}}]})", "doc/a/2/b: has the key \"c\" twice"},
           {R"([{"x": 1}, {"x": {"x": 1}, "x": null}])", "doc/1: has the key \"x\" twice"},
           {std::string(1000, '[') + std::string(1000, ']'), "doc: nested more than 500 levels deep"},
           {R"({"a": 1, "\u0061": 2})", "doc: has the key \"a\" twice"}}) {
    const auto parsed = parse_json(text, "doc", false, ErrorKind::integrity);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::integrity);
    EXPECT_EQ(parsed.error().message, where);
  }
  EXPECT_TRUE(parse_json(R"({"a": {"a": [{"a": 1}, {"a": 1}]}, /* "a": */ "b": {"a": 1}})", "doc", true));
}

TEST(Text, WhatATerminalWouldObeyIsQuoted) {
  for (const auto& [text, plain] : std::vector<std::pair<std::string, std::string>>{
           {"a\tb\n", "a\tb\n"},
           {"\x1b[31m\r\b\x7f", R"(\u001b[31m\u000d\u0008\u007f)"},
           {std::string("\0", 1), R"(\u0000)"},
           {"\u009b31m\u0080\u00a0", "\\u009b31m\\u0080\u00a0"}, // the last is a blank, no control
           {"\u202eabc\u2066\u200f\u061c\u2028", R"(\u202eabc\u2066\u200f\u061c\u2028)"},
           {"Größe 測定 \U0001f600", "Größe 測定 \U0001f600"},
           {"\x9b\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", R"(\x9b\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80)"},
           {"\xe2\x80", R"(\xe2\x80)"}}) {
    EXPECT_EQ(printable(text), plain);
    EXPECT_EQ(printable(plain), plain);
    // In pieces, as a stream gets it.
    std::stringbuf sink;
    PlainStream stream(sink);
    for (const char c : text)
      EXPECT_EQ(stream.sputc(c), static_cast<unsigned char>(c));
    stream.pubsync();
    EXPECT_EQ(sink.str(), plain);
  }
}

TEST(Utf8, JsonNamesWhatItIsNot) {
  EXPECT_EQ(*json_text({{"a", "b\xC3\xA9"}}, "x"), "{\"a\":\"b\xC3\xA9\"}");
  for (const auto& [json, where] : {std::pair(Json{{"files", {"a", "na\xFFme"}}}, "(/files/1)"),
                                    std::pair(Json{{"files", {{"na\xFFme", 1}}}}, "(/files/na\\xFFme)")}) {
    const auto text = json_text(json, "a record");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().kind, ErrorKind::failed);
    EXPECT_EQ(text.error().message, "a record: `na\\xFFme` " + std::string(where) + " is not UTF-8");
  }
  EXPECT_EQ(as_utf8("a\xFF"), "a%FF");
  EXPECT_EQ(as_utf8("a\xC3\xA9"), "a\xC3\xA9");
}

TEST(Text, Nearest) {
  EXPECT_EQ(nearest("dploy", {"build", "deploy", "detect"}), "deploy");
  EXPECT_EQ(nearest("zzzzzz", {"build", "deploy"}), "");
}

TEST(Json, KeysAndMembersAreChecked) {
  const Json json = *parse_json(R"({"a": {"x": "1", "y": "2"}, "b": null, "c": [1]})", "d.json");
  const JsonReader reader(json, "d");
  EXPECT_TRUE(reader.only({"a", "b", "c", "more"}));
  EXPECT_EQ(reader.only({"a", "c"}).error().message, "d/b: unknown key");
  EXPECT_EQ(reader.at("c")->only({}).error().message, "d/c: expected an object, found array");
  EXPECT_EQ(*reader.at("a")->string_map(), (std::map<std::string, std::string>{{"x", "1"}, {"y", "2"}}));
  EXPECT_EQ(reader.at("a")->members()->at(1).second.where(), "d/a/y");
  EXPECT_FALSE(reader.find("b"));
  EXPECT_FALSE(reader.find("missing"));
  EXPECT_EQ(reader.find("c")->strings().error().message, "d/c/0: expected a string, found number");
}

TEST(Utf8, OnlyShortestFormsOfCharacters) {
  for (const char* good : {"", "a", "\u00e9", "\u20ac", "\U0010ffff", "\x7f"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "a\xff"})
    EXPECT_FALSE(is_utf8(bad)) << escape_bytes(bad);
}

TEST(Version, ComponentsAreComparedAsNumbers) {
  EXPECT_TRUE(version_less("2.4", "2.34"));
  EXPECT_TRUE(version_less("", "2"));
  EXPECT_TRUE(version_less("3.9", "3.10a"));
  EXPECT_TRUE(version_less("1.99999999999999999999", "1.100000000000000000000"));
  for (const char* same : {"1", "1.0", "01.0rc2", "1..0"})
    EXPECT_FALSE(version_less("1", same) || version_less(same, "1")) << same;
  EXPECT_EQ(*version_numbers("550.54.14", 1, 3), (std::vector<unsigned>{550, 54, 14}));
  for (const char* bad : {"", "1.", ".1", "1..2", "1.x", "-1", "1.2.3.4", "1234567"})
    EXPECT_FALSE(version_numbers(bad, 1, 3)) << bad;
  EXPECT_TRUE(version_text_less("4.1.5-GCC-9.2.0", "4.1.5-GCC-13.2.0"));
}

} // namespace
} // namespace xaas
