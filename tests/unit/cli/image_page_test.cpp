// The page about an image: which sources share IR, and what untrusted names become.
#include "image_page.h"

#include <gmock/gmock.h>

namespace xaas::cli {

namespace {

using testing::HasSubstr;
using testing::Not;

// Two configurations without sources.
image::Bundle bundle() {
  image::Bundle bundle;
  bundle.name = "<script>alert(1)</script>";
  bundle.arch = "x86_64";
  return bundle;
}

Json description() {
  const Json transfer{{"layers", {"sha256:a"}}, {"bytes", 2048}, {"shared_bytes", 1024}};
  return Json{{"digest", "sha256:0"},
              {"kind", "source"},
              {"specializations",
               {{{"name", "isa"},
                 {"category", "cpu"},
                 {"default", "x86-64"},
                 {"values",
                  {{{"value", "x86-64-v3"}, {"requires", {{"cpu", "x86-64-v3"}}}},
                   {{"value", "avx2"}, {"requires", {{"cpu", {"avx2", "fma"}}, {"threads", 2}}}}}}}}},
              {"configurations",
               {{{"id", "isa=\"&<"}, {"units", Json()}, {"modules", Json()}, {"transfer", transfer}}}},
              {"layers", {{{"digest", "sha256:a"}, {"size", 2048}, {"role", "source"}}}}};
}

TEST(ImagePage, NamesAreEscapedAndNothingIsLoaded) {
  const Result<std::string> page = image_page(bundle(), description(), std::nullopt);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, Not(HasSubstr("<script")));
  EXPECT_THAT(*page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(*page, HasSubstr("isa=&quot;&amp;&lt;"));
  EXPECT_THAT(*page, HasSubstr("needs cpu x86-64-v3"));
  EXPECT_THAT(*page, HasSubstr("needs cpu avx2 and fma, threads 2"));
  EXPECT_THAT(*page, Not(HasSubstr("http:")));
  EXPECT_EQ(*page, *image_page(bundle(), description(), std::nullopt));
}

TEST(ImagePage, ATraceHasItsModules) {
  const Json trace{{"traceEvents",
                    {{{"cat", "phase"}, {"name", "link"}, {"dur", 1'500'000}},
                     {{"cat", "module"}, {"name", "a.c"}, {"dur", 20'000}, {"args", {{"cache", "hit"}}}},
                     {{"cat", "module"}, {"name", "b.c"}, {"dur", 250'000}}}}};
  const Result<std::string> page = image_page(bundle(), description(), TraceFile{"t.json", trace});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, HasSubstr("1.50 s"));
  EXPECT_THAT(*page, HasSubstr("a.c (cached)"));
  EXPECT_LT(page->find("b.c"), page->find("a.c (cached)")); // the longest first
}

TEST(ImagePage, ADamagedTraceIsAnError) {
  for (const Json& trace : {Json::array(), Json{{"traceEvents", 1}},
                            Json{{"traceEvents", {{{"cat", "module"}, {"name", "a"}, {"dur", "long"}}}}},
                            Json{{"traceEvents", {{{"cat", "module"}, {"dur", 1}}}}}}) {
    const Result<std::string> page = image_page(bundle(), description(), TraceFile{"t.json", trace});
    ASSERT_FALSE(page) << trace;
    EXPECT_EQ(page.error().kind, ErrorKind::integrity);
    EXPECT_THAT(page.error().message, HasSubstr("t.json"));
  }
}

} // namespace

} // namespace xaas::cli
