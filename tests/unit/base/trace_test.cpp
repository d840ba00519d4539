#include <xaas/base/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace xaas::trace {

namespace {

using ::testing::ElementsAre;

std::vector<std::string> lanes() {
  std::vector<std::string> lanes;
  const Json json = to_json();
  for (const Json& event : json["traceEvents"])
    lanes.push_back(event["name"].get<std::string>() + " " + std::to_string(event["tid"].get<int>()));
  return lanes;
}

TEST(Trace, LanesHaveEventsThatNest) {
  start();
  const int64_t base = now();
  const auto add_event = [&](const char* name, int64_t begin, int64_t end) {
    add({"module", name, base + begin, base + end, {}});
  };
  add_event("inner", 10, 20);
  add_event("outer", 0, 100);
  add_event("beside", 15, 60); // overlaps `inner` and is inside `outer`
  add_event("after", 20, 30);
  add_event("later", 90, 120); // reaches beyond `outer`
  add_event("last", 120, 130);
  EXPECT_THAT(lanes(), ElementsAre("outer 1", "inner 1", "beside 2", "after 1", "later 2", "last 1"));
}

TEST(Trace, SpansHaveTimeAndDetails) {
  start();
  {
    Span span("link", "program");
    span.set("cache", "miss");
    Span dropped("link", "other");
    dropped.drop();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const Json json = to_json();
  ASSERT_EQ(json["traceEvents"].size(), 1U);
  const Json& event = json["traceEvents"][0];
  EXPECT_EQ(event["name"], "program");
  EXPECT_EQ(event["cat"], "link");
  EXPECT_EQ(event["ph"], "X");
  EXPECT_GE(event["dur"].get<int64_t>(), 2000);
  EXPECT_GE(event["ts"].get<int64_t>(), 0);
  EXPECT_EQ(event["args"], Json({{"cache", "miss"}}));
}

} // namespace

} // namespace xaas::trace
