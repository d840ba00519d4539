// Requests, answers in both styles, errors of servers, records.
#include "llm/testing.h"

namespace xaas::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Json body_of(const std::string& request) {
  return Json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

TEST_F(ModelTest, AsksAnOpenAiEndpoint) {
  environment_ = {{"OPENAI_API_KEY", "sk-1"}, {"ANTHROPIC_API_KEY", "other"}};
  const auto result = ask_about({turbo()});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_THAT(requests_[0], StartsWith("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(requests_[0], HasSubstr("\r\nAuthorization: Bearer sk-1\r\n"));
  const Json body = body_of(requests_[0]);
  EXPECT_EQ(body["model"], "small");
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["response_format"]["type"], "json_schema");
  EXPECT_EQ(body["response_format"]["json_schema"]["strict"], true);
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"]["required"], Json::array({"points"}));
  const Json told = Json::parse(body["messages"][1]["content"].get<std::string>());
  EXPECT_EQ(told["build_system"], "cmake");
  EXPECT_EQ(told["options"][1]["name"], "WAVES_TURBO");
  EXPECT_EQ(told["options"][1]["at"], "CMakeLists.txt:4");
  EXPECT_EQ(told["files"][0]["lines"][3], "4: option(WAVES_TURBO \"kernels with vectors\" OFF)");

  EXPECT_EQ(result->style, Style::openai);
  EXPECT_EQ(result->usage.prompt_bytes, body.dump().size());
  EXPECT_EQ(result->usage.answer_bytes, openai(document({turbo()})).dump().size());
  EXPECT_EQ(result->usage.prompt_tokens, 1000u);
  EXPECT_EQ(result->usage.answer_tokens, 50u);
  EXPECT_EQ(result->usage.requests, 1u);
  const discover::DiscoveredPoint* const added = point(result->discovery, "turbo");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->option, "WAVES_TURBO");
  EXPECT_EQ(added->point.default_, "off");
  EXPECT_THAT(values(*added), ElementsAre("off", "on"));
}

TEST_F(ModelTest, AsksAnAnthropicEndpoint) {
  environment_ = {{"OPENAI_API_KEY", "other"}, {"ANTHROPIC_API_KEY", "sk-2"}};
  const auto result = ask({HttpServer::answer(200, anthropic(document({turbo()})).dump())}, "/v1/messages");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(requests_[0], HasSubstr("\r\nx-api-key: sk-2\r\n"));
  EXPECT_THAT(requests_[0], HasSubstr("\r\nanthropic-version: 2023-06-01\r\n"));
  EXPECT_THAT(requests_[0], Not(HasSubstr("Authorization")));
  const Json body = body_of(requests_[0]);
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["tool_choice"]["name"], body["tools"][0]["name"]);
  EXPECT_EQ(body["tools"][0]["input_schema"]["type"], "object");
  EXPECT_EQ(result->usage.prompt_tokens, 1000u);
  EXPECT_EQ(result->usage.answer_tokens, 50u);
  EXPECT_NE(point(result->discovery, "turbo"), nullptr);
}

TEST_F(ModelTest, ThePathDeterminesTheStyleOrIsCompleted) {
  const std::string answer = HttpServer::answer(200, openai(document({})).dump());
  const std::string other = HttpServer::answer(200, anthropic(document({})).dump());
  for (const char* path : {"", "/", "/v1", "/v1/", "/v1/chat/completions"}) {
    ASSERT_TRUE(ask({answer}, path)) << path;
    EXPECT_THAT(requests_[0], StartsWith("POST /v1/chat/completions HTTP")) << path;
  }
  ASSERT_TRUE(ask({answer}, "/proxy/v1?version=2"));
  EXPECT_THAT(requests_[0], StartsWith("POST /proxy/v1/chat/completions?version=2 HTTP"));
  options_.style = Style::anthropic;
  ASSERT_TRUE(ask({other}, "/v1"));
  EXPECT_THAT(requests_[0], StartsWith("POST /v1/messages HTTP"));
  EXPECT_EQ(ask({answer}, "/v1/chat/completions").error().kind, ErrorKind::usage);
}

TEST_F(ModelTest, KeysOfVendorsAreNotSentUnencrypted) {
  const std::string answer = HttpServer::answer(200, openai(document({})).dump());
  ASSERT_TRUE(ask({answer}));
  EXPECT_THAT(requests_[0], Not(HasSubstr("Authorization")));
  environment_ = {{"XAAS_LLM_KEY", "mine"}, {"OPENAI_API_KEY", "vendor"}};
  ASSERT_TRUE(ask({answer}));
  EXPECT_THAT(requests_[0], HasSubstr("Bearer mine\r\n"));
  environment_["XAAS_LLM_KEY"] = "";
  ASSERT_TRUE(ask({answer}));
  EXPECT_THAT(requests_[0], Not(HasSubstr("Authorization")));
  environment_["XAAS_LLM_KEY"] = "a\r\nHost: b";
  EXPECT_EQ(ask({answer}).error().kind, ErrorKind::usage);

  // A key of a vendor, unencrypted to another machine.
  environment_ = {{"OPENAI_API_KEY", "vendor"}};
  unsigned sent = 0;
  world_.send = [&](const http::Request&) {
    ++sent;
    return Result<http::Response>(http::Response{200, {}, openai(document({})).dump()});
  };
  options_.url = "http://models.example.org/v1";
  const discover::Findings findings = read();
  const auto refused = suggest(tree(), findings, discover::classify(findings), options_, world_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, Not(HasSubstr("vendor")));
  EXPECT_EQ(sent, 0u);
  options_.url = "https://models.example.org/v1";
  EXPECT_TRUE(suggest(tree(), findings, discover::classify(findings), options_, world_));
  environment_ = {{"XAAS_LLM_KEY", "mine"}};
  options_.url = "http://models.example.org/v1";
  EXPECT_TRUE(suggest(tree(), findings, discover::classify(findings), options_, world_));
  EXPECT_EQ(sent, 2u);
}

TEST_F(ModelTest, RetriesABusyServerAfterTheRequestedWait) {
  const std::string good = HttpServer::answer(200, openai(document({})).dump());
  auto result = ask({HttpServer::answer(429, "{}", "Retry-After: 7\r\n"), HttpServer::answer(503, ""), good});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->usage.requests, 3u);
  EXPECT_THAT(pauses_, ElementsAre(7, 4));
  pauses_.clear();
  ASSERT_TRUE(ask({HttpServer::answer(500, "", "Retry-After: Sun, 06 Nov 1994 08:49:57 GMT\r\n"), good}));
  EXPECT_THAT(pauses_, ElementsAre(20));
}

TEST_F(ModelTest, GivesUpAfterTwoRetries) {
  const auto result = ask({HttpServer::answer(503, "{\"error\": {\"message\": \"no\\nroom\"}}")});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::network);
  EXPECT_THAT(result.error().message, HasSubstr(options_.url + ": HTTP status 503: no room (asked 3 times)"));
  EXPECT_THAT(result.error().hint, HasSubstr("without --llm, discovery needs no model"));
  EXPECT_EQ(requests_.size(), 3u);
  EXPECT_THAT(pauses_, ElementsAre(1, 4));
}

TEST_F(ModelTest, DoesNotWaitForLongerThanAMinute) {
  const auto result = ask({HttpServer::answer(429, "", "Retry-After: 3600\r\n")});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::network);
  EXPECT_THAT(result.error().message, HasSubstr("asks to wait"));
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_THAT(pauses_, IsEmpty());
}

TEST_F(ModelTest, AnInterruptedPauseEndsIt) {
  world_.sleep = [](std::chrono::seconds) {
    return Result<void>(make_error(ErrorKind::interrupted, "interrupted"));
  };
  const auto result = ask({HttpServer::answer(429, "")});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::interrupted);
}

TEST_F(ModelTest, StatusDecidesTheKindOfError) {
  environment_ = {{"XAAS_LLM_KEY", "sk-secret"}};
  const std::vector<std::pair<int, ErrorKind>> kinds = {
      {301, ErrorKind::network}, {400, ErrorKind::failed},    {401, ErrorKind::denied},
      {403, ErrorKind::denied},  {404, ErrorKind::not_found}, {413, ErrorKind::failed},
      {418, ErrorKind::failed},  {204, ErrorKind::failed}};
  for (const auto& [status, kind] : kinds) {
    const auto result = ask({HttpServer::answer(
        status, "{\"error\": {\"message\": \"bad key sk-secret of you\"}}", "Location: http://x/\r\n")});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, kind) << status;
    EXPECT_EQ(requests_.size(), 1u) << status;
    EXPECT_THAT(result.error().message, HasSubstr(std::to_string(status)));
    EXPECT_THAT(result.error().message, HasSubstr("http://127.0.0.1:"));
    EXPECT_THAT(result.error().message + result.error().hint, Not(HasSubstr("sk-secret")));
  }
}

TEST_F(ModelTest, NoServer) {
  int port = 0;
  {
    const HttpServer gone([](const std::string&) { return std::string(); });
    port = gone.port();
  }
  options_.url = "http://me:secret@127.0.0.1:" + std::to_string(port) + "/?key=secret";
  const discover::Findings findings = read();
  const auto result = suggest(tree(), findings, discover::classify(findings), options_, world_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::network);
  EXPECT_THAT(result.error().message, StartsWith("asking the language model: http://127.0.0.1:"));
  EXPECT_THAT(result.error().message, Not(HasSubstr("secret")));
  EXPECT_THAT(result.error().hint, HasSubstr("without --llm"));
}

TEST_F(ModelTest, AServerThatDoesNotAnswerTimesOut) {
  HttpServer server{HttpServer::Silent()};
  options_.url = server.url("/v1");
  options_.timeout = std::chrono::seconds(1);
  const discover::Findings findings = read();
  const auto result = suggest(tree(), findings, discover::classify(findings), options_, world_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::network);
  EXPECT_THAT(result.error().message, HasSubstr("no complete answer within 1 s"));
}

TEST_F(ModelTest, AnAnswerThatIsTooLargeIsRefused) {
  const auto result = ask({HttpServer::answer(200, std::string((4u << 20) + 1, ' '))});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::integrity);
  EXPECT_THAT(result.error().message, HasSubstr("more than 4194304 bytes"));
}

TEST_F(ModelTest, UnusableAnswers) {
  Json cut = openai("{}"), filtered = openai("{}"), refusal = openai("{}"), silent = openai("{}"),
       empty = openai("{}"), blank = openai(" \n"), prose = openai("Here are the points:");
  cut["choices"][0]["finish_reason"] = "length";
  filtered["choices"][0]["finish_reason"] = "content_filter";
  refusal["choices"][0]["message"]["refusal"] = "I will not.";
  silent["choices"][0]["message"]["content"] = nullptr;
  empty["choices"] = Json::array();
  const std::vector<std::tuple<std::string, ErrorKind, std::string>> answers = {
      {"<html>", ErrorKind::integrity, "not valid JSON"},
      {"", ErrorKind::integrity, "not valid JSON"},
      {"[]", ErrorKind::integrity, "expected an object"},
      {"{}", ErrorKind::integrity, "/choices: missing"},
      {"{\"choices\": 7}", ErrorKind::integrity, "expected an array"},
      {"{\"choices\": [7]}", ErrorKind::integrity, "expected an object"},
      {"{\"choices\": [{\"message\": 7}]}", ErrorKind::integrity, "expected an object"},
      {empty.dump(), ErrorKind::failed, "empty"},
      {silent.dump(), ErrorKind::failed, "empty"},
      {blank.dump(), ErrorKind::failed, "empty"},
      {cut.dump(), ErrorKind::failed, "cut off"},
      {filtered.dump(), ErrorKind::failed, "refused"},
      {refusal.dump(), ErrorKind::failed, "refused to answer: I will not."},
      {prose.dump(), ErrorKind::integrity, "not valid JSON"},
      {openai("[]").dump(), ErrorKind::integrity, "expected an object"},
      {openai("{\"points\": [7]}").dump(), ErrorKind::integrity, "/points/0"},
      {openai("{\"points\": [], \"more\": 1}").dump(), ErrorKind::integrity, "more"}};
  for (const auto& [body, kind, words] : answers) {
    const auto result = ask({HttpServer::answer(200, body)});
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().kind, kind) << body;
    EXPECT_THAT(result.error().message, HasSubstr(words));
    EXPECT_THAT(result.error().message, HasSubstr(options_.url));
    EXPECT_THAT(result.error().hint, HasSubstr("without --llm"));
  }
}

TEST_F(ModelTest, UnusableAnthropicAnswers) {
  Json cut = anthropic("{}"), refusal = anthropic("{}"), words = anthropic("{}"), other = anthropic("{}");
  cut["stop_reason"] = "max_tokens";
  refusal["stop_reason"] = "refusal";
  words["content"].erase(1);
  other["content"][1]["name"] = "shell";
  const std::vector<std::tuple<std::string, ErrorKind, std::string>> answers = {
      {cut.dump(), ErrorKind::failed, "cut off"},
      {refusal.dump(), ErrorKind::failed, "refused"},
      {words.dump(), ErrorKind::failed, "empty"},
      {other.dump(), ErrorKind::failed, "empty"},
      {"{\"content\": [7, {}]}", ErrorKind::failed, "empty"},
      {"{}", ErrorKind::integrity, "/content: missing"},
      {anthropic("[]").dump(), ErrorKind::integrity, "expected an object"}};
  for (const auto& [body, kind, text] : answers) {
    const auto result = ask({HttpServer::answer(200, body)}, "/v1/messages");
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().kind, kind) << body;
    EXPECT_THAT(result.error().message, HasSubstr(text));
  }
}

TEST_F(ModelTest, DeepNestingAndInvalidUtf8AreRefused) {
  const std::string deep(200'000, '[');
  for (const std::string& body :
       {deep, openai(deep).dump(),
        openai("{\"points\": " + std::string(40, '[') + std::string(40, ']') + "}").dump(),
        std::string("{\"choices\": \"\xff\xfe\"}"), "{\"a\": \"\\\"" + deep}) {
    const auto result = ask({HttpServer::answer(200, body)});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::integrity);
    EXPECT_LE(result.error().message.size(), 1000u);
  }
}

TEST_F(ModelTest, ATreeWithoutABuildSystemIsNotAskedAbout) {
  fs::remove(tree() / "CMakeLists.txt");
  const auto result = ask_about({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_found);
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(ModelTest, TheDescriptionHasALimitAndIsTheSameEachTime) {
  std::string text = "project(waves)\n";
  for (int i = 0; i < 2000; ++i)
    text += "option(WAVES_FEATURE_" + std::to_string(i) + " \"" + std::string(i % 400, 'h') + "\" ON)\n";
  write("CMakeLists.txt", text + "option(WAVES_OTHER \"\xff\xfe\" ON)\n");
  options_.prompt_bytes = 20'000;
  const auto result = ask_about({});
  ASSERT_TRUE(result) << result.error().message;
  const Json first = body_of(requests_[0]);
  EXPECT_LE(first["messages"][1]["content"].get<std::string>().size(), 20'000u + 4096u);
  EXPECT_GT(first["messages"][1]["content"].get<std::string>().size(), 15'000u);
  ASSERT_FALSE(result->left_out.empty());
  EXPECT_THAT(result->left_out[0], HasSubstr("of 2001 options"));
  ASSERT_TRUE(ask_about({}));
  EXPECT_EQ(first, body_of(requests_[0]));
}

class RecordTest : public ModelTest {
protected:
  void SetUp() override {
    ModelTest::SetUp();
    options_.record = tree() / ".git" / "record.json"; // which discovery does not read
    ASSERT_TRUE(make_directories(options_.record.parent_path()));
  }
  Result<Suggestions> replay() {
    const discover::Findings findings = read();
    Options options;
    options.replay = options_.record;
    options.model = model_;
    World world = world_;
    world.send = [](const http::Request&) {
      ADD_FAILURE() << "a replay uses the network";
      return Result<http::Response>(http::Response());
    };
    return suggest(tree(), findings, discover::classify(findings), options, world);
  }
  std::string model_;
};

TEST_F(RecordTest, ReplaysWithoutNetworkAndGivesTheSame) {
  environment_ = {{"XAAS_LLM_KEY", "sk-secret"}};
  const auto asked = ask_about({turbo()});
  ASSERT_TRUE(asked) << asked.error().message;
  const auto text = read_file(options_.record);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, Not(HasSubstr("sk-secret")));
  const auto replayed = replay();
  ASSERT_TRUE(replayed) << replayed.error().message;
  Json want = to_json(*asked);
  want["replayed"] = true;
  EXPECT_EQ(to_json(*replayed), want);
  EXPECT_NE(point(replayed->discovery, "turbo"), nullptr);
}

TEST_F(RecordTest, ARecordOfAnotherRequestIsRefused) {
  ASSERT_TRUE(ask_about({turbo()}));
  model_ = "other";
  EXPECT_EQ(replay().error().kind, ErrorKind::integrity);
  model_ = "small";
  ASSERT_TRUE(replay());
  write("CMakeLists.txt", "project(waves)\noption(WAVES_TURBO \"changed\" OFF)\n");
  const auto changed = replay();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, ErrorKind::integrity);
  EXPECT_THAT(changed.error().message, HasSubstr("of another request; the tree"));
  EXPECT_THAT(changed.error().hint, HasSubstr("--llm-record"));
}

TEST_F(RecordTest, DamagedRecords) {
  EXPECT_EQ(replay().error().kind, ErrorKind::not_found);
  ASSERT_TRUE(ask_about({turbo()}));
  const auto good = read_json(options_.record);
  ASSERT_TRUE(good);
  for (const char* key : {"version", "url", "model", "style", "request", "answer"}) {
    Json damaged = *good;
    damaged.erase(key);
    ASSERT_TRUE(write_file(options_.record, damaged.dump()));
    EXPECT_EQ(replay().error().kind, ErrorKind::integrity) << key;
    damaged[key] = Json::array({7});
    ASSERT_TRUE(write_file(options_.record, damaged.dump()));
    EXPECT_FALSE(replay()) << key;
  }
  for (const char* key : {"seconds", "requests", "body"}) {
    Json damaged = *good;
    damaged["answer"][key] = Json::object();
    ASSERT_TRUE(write_file(options_.record, damaged.dump()));
    EXPECT_EQ(replay().error().kind, ErrorKind::integrity) << key;
  }
  ASSERT_TRUE(write_file(options_.record, "{"));
  EXPECT_EQ(replay().error().kind, ErrorKind::integrity);
}

TEST_F(RecordTest, UnusableAnswersAreRecorded) {
  EXPECT_FALSE(ask({HttpServer::answer(200, "<html>")}));
  const auto replayed = replay();
  ASSERT_FALSE(replayed);
  EXPECT_THAT(replayed.error().message, HasSubstr("not valid JSON"));
  options_.record = tree() / "absent" / "record.json";
  EXPECT_FALSE(ask_about({}));
}

} // namespace
} // namespace xaas::llm
