// Shared by the tests of the llm module: a tree, and a model behind a local server.
#pragma once

#include "discover/testing.h"
#include "http/server.h"

#include <xaas/llm/suggest.h>

#include <functional>
#include <string>
#include <vector>

namespace xaas::llm {

using xaas::testing::HttpServer;

class ModelTest : public discover::TreeTest {
protected:
  void SetUp() override {
    TreeTest::SetUp();
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\n"
                            "project(waves LANGUAGES C)\n"
                            "option(WAVES_OPENMP \"threads\" ON)\n"
                            "option(WAVES_TURBO \"kernels with vectors\" OFF)\n"
                            "set(WAVES_SIMD none CACHE STRING \"kernel\")\n"
                            "set_property(CACHE WAVES_SIMD PROPERTY STRINGS none AVX2 AVX_512)\n"
                            "set(WAVES_SOLVER fast CACHE STRING \"fast or exact\")\n"
                            "if(WAVES_SIMD STREQUAL \"SSE4\")\n"
                            "if(WAVES_HIDDEN)\n"
                            "set(WAVES_PATH /opt CACHE PATH \"where\")\n"
                            "target_compile_options(waves PRIVATE -mfma)\n");
    write("waves.c", "int main(void) { return 0; }\n");
    world_.sleep = [this](std::chrono::seconds time) {
      pauses_.push_back(static_cast<int>(time.count()));
      return Result<void>();
    };
    world_.now = [] { return int64_t(784111777); }; // Sun, 06 Nov 1994 08:49:37 GMT
    world_.environment = [this](const char* name) -> const char* {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    };
    options_.model = "small";
  }

  static Json place(const std::string& file, int64_t line) { return Json{{"file", file}, {"line", line}}; }
  static Json value(const std::string& name, const std::vector<std::string>& arguments) {
    return Json{{"value", name}, {"arguments", arguments}};
  }
  // A valid point; tests damage it.
  static Json turbo() {
    return Json{
        {"name", "turbo"},
        {"category", "cpu"},
        {"reason", "Vector kernels."},
        {"evidence", Json::array({place("CMakeLists.txt", 4)})},
        {"values", Json::array({value("off", {"-DWAVES_TURBO=OFF"}), value("on", {"-DWAVES_TURBO=ON"})})},
        {"default", "off"}};
  }
  static std::string document(const std::vector<Json>& points) { return Json{{"points", points}}.dump(); }

  static Json openai(const std::string& content) {
    return Json{{"choices", Json::array({Json{{"finish_reason", "stop"},
                                              {"message", {{"role", "assistant"}, {"content", content}}}}})},
                {"usage", {{"prompt_tokens", 1000}, {"completion_tokens", 50}}}};
  }
  static Json anthropic(const std::string& content) {
    return Json{{"content", Json::array({Json{{"type", "text"}, {"text", "Here."}},
                                         Json{{"type", "tool_use"},
                                              {"name", "specialization_points"},
                                              {"input", Json::parse(content)}}})},
                {"stop_reason", "tool_use"},
                {"usage", {{"input_tokens", 1000}, {"output_tokens", 50}}}};
  }

  // Asks a server that returns these raw answers in order, and repeats the last.
  Result<Suggestions> ask(std::vector<std::string> answers,
                          const std::string& path = "/v1/chat/completions") {
    size_t next = 0;
    HttpServer server([&](const std::string&) { return answers[std::min(next++, answers.size() - 1)]; });
    options_.url = server.url(path);
    const discover::Findings findings = read();
    auto result = suggest(tree(), findings, discover::classify(findings), options_, world_);
    requests_ = server.requests();
    return result;
  }
  Result<Suggestions> ask_about(const std::vector<Json>& points) {
    return ask({HttpServer::answer(200, openai(document(points)).dump())});
  }
  // The reasons for rejecting all of these points.
  std::string rejection(const std::vector<Json>& points) {
    const auto result = ask_about(points);
    if (!result)
      return "error: " + result.error().message;
    EXPECT_TRUE(result->accepted.empty());
    EXPECT_EQ(result->discovery.points.size(), 2u);
    std::string reasons;
    for (const Rejection& each : result->rejected)
      reasons += each.point + "/" + each.value + ": " + each.reason + "\n";
    return reasons;
  }

  Options options_;
  World world_;
  std::map<std::string, std::string> environment_;
  std::vector<int> pauses_; // seconds
  std::vector<std::string> requests_;
};

} // namespace xaas::llm
