#include "downloads.h"

#include "http/server.h"

#include <xaas/base/digest.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;
using ::testing::IsEmpty;
using ::testing::Pair;

// The server's contents by path.
class Downloads : public ::testing::Test {
protected:
  std::string reply(const std::string& request) {
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    const auto found = answers_.find(path);
    return found == answers_.end() ? HttpServer::answer(404, "none") : found->second;
  }
  void has(const std::string& path, const std::string& content) {
    answers_[path] = HttpServer::answer(200, content);
  }
  void redirects(const std::string& path, const std::string& to, int status = 302) {
    answers_[path] = HttpServer::answer(status, "", "Location: " + to + "\r\n");
  }
  spec::Download of(const std::string& path, const std::string& content) const {
    return {server_.url(path), digest_of(content).hex(), "data" + path};
  }
  static Error refused(const spec::Download& download, bool offline = false) {
    const auto got = xaas::build::download({download}, offline, no_progress());
    EXPECT_FALSE(got);
    return got ? Error() : got.error();
  }

  std::map<std::string, std::string> answers_;
  HttpServer server_{[this](const std::string& request) { return reply(request); }};
};

TEST_F(Downloads, ContentsByTheirPlaces) {
  const std::string large(300'000, '\0');
  has("/a", "first");
  has("/b", large);
  const auto got = xaas::build::download({of("/a", "first"), of("/b", large)}, false, no_progress());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(*got, ElementsAre(Pair("data/a", "first"), Pair("data/b", large)));
  EXPECT_THAT(*xaas::build::download({}, true, no_progress()), IsEmpty());
}

TEST_F(Downloads, AnotherDigestIsRefused) {
  has("/a", "second");
  const Error error = refused(of("/a", "first"));
  EXPECT_EQ(error.kind, ErrorKind::integrity);
  EXPECT_THAT(error.message, HasSubstr(server_.url("/a")));
  EXPECT_THAT(error.message, HasSubstr(digest_of(std::string("second")).hex()));
  EXPECT_THAT(error.message, HasSubstr(digest_of(std::string("first")).hex()));
}

TEST_F(Downloads, RedirectsAreFollowed) {
  has("/end", "x");
  for (const int status : {301, 302, 303, 307, 308}) {
    redirects("/start", server_.url("/middle"), status);
    redirects("/middle", "/end", status);
    const auto got = xaas::build::download({of("/start", "x")}, false, no_progress());
    ASSERT_TRUE(got) << status << got.error().message;
    EXPECT_EQ(got->at("data/start"), "x");
  }
}

// RFC 9110, 10.2.2, and RFC 3986, 5.2: relative to the URL that redirects.
TEST_F(Downloads, RelativeRedirects) {
  has("/deep/end?x=1", "x");
  redirects("/deep/start?y=2", "end?x=1");
  EXPECT_TRUE(xaas::build::download({of("/deep/start?y=2", "x")}, false, no_progress()));
  redirects("/absolute?y=2", "/deep/end?x=1");
  const auto got = xaas::build::download({of("/absolute?y=2", "x")}, false, no_progress());
  EXPECT_TRUE(got) << got.error().message;
  redirects("/host", "//127.0.0.1:" + std::to_string(server_.port()) + "/deep/end?x=1");
  EXPECT_TRUE(xaas::build::download({of("/host", "x")}, false, no_progress()));
}

TEST_F(Downloads, RedirectsThatLeadNowhere) {
  redirects("/loop", "/loop");
  Error error = refused(of("/loop", "x"));
  EXPECT_EQ(error.kind, ErrorKind::network);
  EXPECT_THAT(error.message, HasSubstr("more than 8 times"));
  EXPECT_EQ(server_.requests().size(), 9u);
  answers_["/none"] = HttpServer::answer(302, "");
  EXPECT_EQ(refused(of("/none", "x")).kind, ErrorKind::network);
  for (const char* const to : {"file:///etc/hostname", "ftp://127.0.0.1/x"}) {
    redirects("/other", to);
    EXPECT_FALSE(xaas::build::download({of("/other", "x")}, false, no_progress())) << to;
  }
}

TEST_F(Downloads, WhatTheServerDoesNotHave) {
  EXPECT_EQ(refused(of("/gone", "x")).kind, ErrorKind::not_found);
  EXPECT_THAT(refused(of("/gone", "x")).message, HasSubstr("404"));
  answers_["/busy"] = HttpServer::answer(500, "");
  EXPECT_EQ(refused(of("/busy", "x")).kind, ErrorKind::network);
  answers_["/partial"] = HttpServer::answer(206, "x");
  EXPECT_EQ(refused(of("/partial", "x")).kind, ErrorKind::network);
  answers_["/cut"] = HttpServer::answer(200, "xyz").substr(0, HttpServer::answer(200, "xyz").size() - 1);
  EXPECT_EQ(refused(of("/cut", "xyz")).kind, ErrorKind::network);
}

TEST_F(Downloads, OfflineNothingIsAsked) {
  has("/a", "x");
  spec::Download download = of("/a", "x");
  EXPECT_EQ(refused(download, true).kind, ErrorKind::network);
  EXPECT_THAT(server_.requests(), IsEmpty());
  // Credentials in a URL do not appear in messages.
  download.url = "http://user:hidden@127.0.0.1:" + std::to_string(server_.port()) + "/none";
  for (const bool offline : {true, false})
    EXPECT_EQ(refused(download, offline).message.find("hidden"), std::string::npos);
}

} // namespace
} // namespace xaas::build
