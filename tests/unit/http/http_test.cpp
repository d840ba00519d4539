#include "http/server.h"

#include <xaas/http/http.h>

#include <gmock/gmock.h>

#include <chrono>

namespace xaas::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using xaas::testing::HttpServer;

Request to(const std::string& url) {
  Request request;
  request.url = url;
  request.limits.total = std::chrono::seconds(20);
  return request;
}

// A port on which nobody listens: one that was just given back.
int closed_port() {
  const HttpServer server([](const std::string&) { return std::string(); });
  return server.port();
}

TEST(Send, SendsMethodHeadersAndBodyAndGetsTheAnswer) {
  HttpServer server([](const std::string&) { return HttpServer::answer(201, "{}", "X-Here: a: b \r\n"); });
  Request request = to(server.url("/v1/x?y=1"));
  request.method = "POST";
  request.headers = {{"X-Empty", ""}, {"Content-Type", "application/json"}};
  request.body = std::string("a\0b", 3);
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "{}");
  ASSERT_NE(response->header("x-here"), nullptr);
  EXPECT_EQ(*response->header("x-here"), "a: b");
  EXPECT_EQ(response->header("absent"), nullptr);
  const std::string seen = server.requests().at(0);
  EXPECT_THAT(seen, StartsWith("POST /v1/x?y=1 HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\nUser-Agent: xaas/"));
  EXPECT_THAT(seen, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(seen, Not(HasSubstr("Expect")));
  EXPECT_EQ(seen.substr(seen.size() - 3), std::string("a\0b", 3));
}

TEST(Send, ErrorsOfTheServerAndRedirectsAreAnswers) {
  HttpServer server([](const std::string& request) {
    return request.starts_with("GET /moved") ? HttpServer::answer(302, "", "Location: /there\r\n")
                                             : HttpServer::answer(500, "sorry");
  });
  const auto failed = send(to(server.url("/failed")));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, 500);
  EXPECT_EQ(failed->body, "sorry");
  const auto moved = send(to(server.url("/moved")));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->status, 302);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Send, HeadHasNoBody) {
  HttpServer server([](const std::string&) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\nConnection: close\r\n\r\n");
  });
  Request request = to(server.url());
  request.method = "HEAD";
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "");
}

TEST(Send, RefusedConnectionIsANetworkErrorThatNamesTheUrlWithoutSecrets) {
  Request request = to("http://user:secret@127.0.0.1:" + std::to_string(closed_port()) + "/path?key=secret");
  request.headers = {{"Authorization", "Bearer secret"}};
  const auto response = send(request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
  EXPECT_THAT(response.error().message, HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(response.error().message, HasSubstr("/path"));
  EXPECT_THAT(response.error().message + response.error().hint, Not(HasSubstr("secret")));
}

TEST(Send, AHostWithoutAnAddressIsANetworkError) {
  const auto response = send(to("http://nowhere.invalid/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
}

TEST(Send, AnAnswerThatTakesTooLongIsANetworkError) {
  HttpServer server{HttpServer::Silent()};
  Request request = to(server.url());
  request.limits.total = std::chrono::milliseconds(100);
  const auto response = send(request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
  EXPECT_THAT(response.error().message, HasSubstr("no complete answer within"));
}

TEST(Send, AnAnswerThatEndsEarlyIsANetworkError) {
  HttpServer server(
      [](const std::string&) { return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"); });
  const auto response = send(to(server.url()));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
}

TEST(Send, WhatIsNoHttpIsANetworkError) {
  HttpServer server([](const std::string&) { return std::string("\x16\x03\x01 nonsense\n\n"); });
  EXPECT_EQ(send(to(server.url())).error().kind, ErrorKind::network);
  HttpServer silent([](const std::string&) { return std::string(); });
  EXPECT_EQ(send(to(silent.url())).error().kind, ErrorKind::network);
}

TEST(Send, TlsToAServerWithoutItIsANetworkError) {
  HttpServer server([](const std::string&) { return HttpServer::answer(400, ""); });
  const auto response = send(to("https://127.0.0.1:" + std::to_string(server.port()) + "/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
}

TEST(Send, LimitsTheAnswerWithAndWithoutALength) {
  const std::string body(5000, 'x');
  HttpServer server([&body](const std::string& request) {
    return request.starts_with("GET /length") ? HttpServer::answer(200, body)
                                              : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body;
  });
  for (const char* path : {"/length", "/open"}) {
    Request request = to(server.url(path));
    request.limits.answer_bytes = 4999;
    const auto response = send(request);
    ASSERT_FALSE(response) << path;
    EXPECT_EQ(response.error().kind, ErrorKind::integrity) << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr("4999"));
    request.limits.answer_bytes = 5000;
    EXPECT_TRUE(send(request)) << path;
  }
}

TEST(Send, RefusesHeadersThatWouldBeginNewOnes) {
  for (const Header& header :
       {Header{"A", "b\r\nC: d"}, Header{"A: b", "c"}, Header{"", "c"}, Header{"A", std::string("\0", 1)}}) {
    Request request = to("http://127.0.0.1:1/");
    request.headers = {header};
    const auto response = send(request);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().kind, ErrorKind::usage);
  }
  Request request = to("http://127.0.0.1:1/");
  request.method = "GET / HTTP/1.1\r\nX:";
  EXPECT_EQ(send(request).error().kind, ErrorKind::usage);
}

TEST(Send, UsesTheProxyOfTheEnvironment) {
  HttpServer proxy([](const std::string&) { return HttpServer::answer(200, "from the proxy"); });
  setenv("http_proxy", proxy.url().c_str(), 1);
  const auto response = send(to("http://nowhere.invalid/x"));
  unsetenv("http_proxy");
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "from the proxy");
  EXPECT_THAT(proxy.requests().at(0), StartsWith("GET http://nowhere.invalid/x HTTP/1.1\r\n"));
}

TEST(Send, UsesNoProxyForTheLoopback) {
  HttpServer server([](const std::string&) { return HttpServer::answer(200, "from the server"); });
  setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(closed_port())).c_str(), 1);
  const auto response = send(to(server.url()));
  unsetenv("http_proxy");
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "from the server");
}

TEST(Send, ABodyCanComeAndGoInPieces) {
  const std::string large(3'000'000, 'x');
  HttpServer server([&](const std::string& request) {
    return HttpServer::answer(request.starts_with("GET /error") ? 500 : 200, large);
  });
  Request request = to(server.url());
  request.method = "PUT";
  request.limits.answer_bytes = 4'000'000;
  request.upload =
      Upload{large.size(), [&](uint64_t offset, char* buffer, size_t capacity) -> Result<size_t> {
               const size_t count = std::min<size_t>(capacity, large.size() - offset);
               large.copy(buffer, count, offset);
               return count;
             }};
  size_t pieces = 0, bytes = 0;
  request.sink = [&](const Response& head, std::string_view piece) -> Result<void> {
    EXPECT_EQ(head.status, 200);
    ++pieces;
    bytes += piece.size();
    return {};
  };
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(bytes, large.size());
  EXPECT_GT(pieces, 1u);
  const std::string seen = server.requests().at(0);
  EXPECT_THAT(seen, HasSubstr("Content-Length: 3000000\r\n"));
  EXPECT_TRUE(seen.ends_with("\r\n\r\n" + large));

  // The sink does not get the body of an error response.
  Request failing = to(server.url("/error"));
  failing.sink = request.sink;
  bytes = 0;
  EXPECT_EQ(send(failing)->body, large);
  EXPECT_EQ(bytes, 0u);

  request.sink = [](const Response&, std::string_view) -> Result<void> {
    return make_error(ErrorKind::storage, "no more");
  };
  EXPECT_EQ(send(request).error().kind, ErrorKind::storage);
  request.upload->read = [](uint64_t, char*, size_t) -> Result<size_t> { return 0; };
  EXPECT_EQ(send(request).error().kind, ErrorKind::failed);
}

TEST(Send, ATransferThatStandsStillIsANetworkError) {
  HttpServer server{HttpServer::Silent()};
  Request request = to(server.url());
  request.limits.total = std::chrono::milliseconds(0);
  request.limits.stall = std::chrono::seconds(1);
  const auto response = send(request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::network);
}

// libcurl 7.88 keeps a buffer after it, and then refuses an option.
TEST(Client, GoesOnAfterAHostWithoutAnAddress) {
  HttpServer server([](const std::string&) { return HttpServer::answer(200, "here"); });
  Client client;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto response = client.send(to("http://nowhere.invalid/"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().kind, ErrorKind::network) << response.error().message;
  }
  const auto response = client.send(to(server.url()));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "here");
}

TEST(Client, LeavesNothingOfOneRequestInTheNext) {
  HttpServer server([](const std::string&) { return HttpServer::answer(200, "body"); });
  Client client;
  Request request = to(server.url());
  request.method = "POST";
  request.headers = {{"Authorization", "Bearer secret"}};
  request.body = "content";
  ASSERT_TRUE(client.send(request));
  ASSERT_TRUE(client.send(to(server.url("/next"))));
  const std::string second = server.requests().at(1);
  EXPECT_THAT(second, StartsWith("GET /next "));
  EXPECT_THAT(second, Not(HasSubstr("secret")));
  EXPECT_THAT(second, Not(HasSubstr("content")));
}

TEST(ParseUrl, TakesApart) {
  const auto url = parse_url("HTTPS://me:pw@example.org:8443/a/b?c=d/e#f");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->user_info, "me:pw");
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, "8443");
  EXPECT_EQ(url->path, "/a/b");
  EXPECT_EQ(url->query, "?c=d/e");
  EXPECT_EQ(url->text(), "https://me:pw@example.org:8443/a/b?c=d/e");
  EXPECT_EQ(shown("https://me:p@w@example.org/a?key=1"), "https://example.org/a");
  EXPECT_EQ(shown("http://[::1]:80/a"), "http://[::1]:80/a");
  EXPECT_EQ(parse_url("http://host?q")->path, "");
}

TEST(ParseUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "example.org", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///path",
        "http://host:port/", "http://host:/", "http://ho st/", "http://host/\n", "http://user@/",
        "http://[::1", "http://[::1]x/", "http://a\\@b/", "http://host:123456/"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::usage);
  }
}

TEST(ParseUrl, KnowsTheLoopback) {
  for (const char* text : {"http://localhost/", "http://LOCALHOST:1/", "http://127.0.0.1/", "http://[::1]/"})
    EXPECT_TRUE(parse_url(text)->is_loopback()) << text;
  for (const char* text : {"http://localhost.example.org/", "http://127.example.org/", "http://10.0.0.1/",
                           "http://127.0.0.1.example.org/", "http://127.0.0.1@example.org/"})
    EXPECT_FALSE(parse_url(text)->is_loopback()) << text;
}

TEST(RetryAfter, SecondsDatesAndNonsense) {
  const auto after = [](const std::string& text) {
    Response response;
    response.headers = {{"retry-AFTER", text}};
    return retry_after(response, 784111777); // Sun, 06 Nov 1994 08:49:37 GMT
  };
  EXPECT_EQ(after("120"), std::chrono::seconds(120));
  EXPECT_EQ(after("0"), std::chrono::seconds(0));
  EXPECT_EQ(after("Sun, 06 Nov 1994 08:50:37 GMT"), std::chrono::seconds(60));
  EXPECT_EQ(after("Sun, 06 Nov 1994 08:00:00 GMT"), std::chrono::seconds(0));
  for (const char* text : {"", "-1", "soon", "12x", "Sun, 06 Nov 1994"})
    EXPECT_EQ(after(text), std::nullopt) << text;
  EXPECT_EQ(retry_after(Response(), 0), std::nullopt);
  EXPECT_GT(retry_after({429, {{"Retry-After", "99999999999999999999999"}}, {}}, 0)->count(), 24 * 3600);
}

} // namespace
} // namespace xaas::http
