#include "certificates.h"
#include "challenge.h"
#include "credentials.h"
#include "registry/fake.h"

#include <xaas/base/base64.h>

#include <sys/stat.h>

namespace xaas::registry {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Challenges, SchemesAndParameters) {
  const auto bearer = parse_challenges(
      R"(Bearer realm="https://a.org/t?x=1,2",service="reg \"x\"", scope="repository:a/b:pull,push")");
  ASSERT_EQ(bearer.size(), 1U);
  EXPECT_EQ(bearer[0].scheme, "bearer");
  EXPECT_EQ(bearer[0].parameter("realm"), "https://a.org/t?x=1,2");
  EXPECT_EQ(bearer[0].parameter("service"), "reg \"x\"");
  EXPECT_EQ(bearer[0].parameter("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(bearer[0].parameter("absent"), "");
  const auto two = parse_challenges(R"(Negotiate, Basic REALM = "r" , charset=UTF-8)");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].scheme, "negotiate");
  EXPECT_EQ(two[1].scheme, "basic");
  EXPECT_EQ(two[1].parameter("realm"), "r");
  EXPECT_EQ(two[1].parameter("charset"), "UTF-8");
}

TEST(Challenges, NonsenseEnds) {
  for (const char* text : {"", ",,,", "=", "= = =", "\"", "Bearer realm=\"open", "Bearer realm=\"\\",
                           "Basic \x01\x02", "Negotiate abc==", "a=b"})
    EXPECT_LE(parse_challenges(text).size(), 1U) << text;
}

class FindCredentials : public ::testing::Test {
protected:
  void write(const std::string& name, const std::string& text, unsigned mode = 0600) {
    ASSERT_TRUE(make_directories((directory.path() / name).parent_path()));
    ASSERT_TRUE(write_file(directory.path() / name, text, mode));
  }
  std::string at(const std::string& name) const { return (directory.path() / name).string(); }
  Result<Credentials> find(const std::string& host = "h.org", const std::string& repository = "a/b",
                           const std::string& authfile = {}) {
    CredentialSources sources;
    sources.authfile = authfile;
    sources.helper_limit = std::chrono::seconds(2);
    sources.environment = [this](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? std::string() : found->second;
    };
    return find_credentials(sources, host, repository);
  }
  std::string user(const std::string& host = "h.org", const std::string& repository = "a/b") {
    const auto found = find(host, repository);
    return found ? found->user : "error: " + found.error().message;
  }
  static std::string auths(const std::string& key, const std::string& user) {
    return R"({"auths":{")" + key + R"(":{"auth":")" + encode_base64(user + ":pw") + R"("}}})";
  }
  TemporaryDirectory directory = *TemporaryDirectory::create();
  std::map<std::string, std::string> environment;
};

TEST_F(FindCredentials, FilesInTheirOrder) {
  environment = {{"HOME", at("home")}, {"XDG_RUNTIME_DIR", at("run")}};
  EXPECT_EQ(user(), "");
  write("home/.apptainer/docker-config.json", auths("h.org", "apptainer"));
  EXPECT_EQ(user(), "apptainer");
  environment["APPTAINER_CONFIGDIR"] = at("elsewhere");
  EXPECT_EQ(user(), "");
  write("elsewhere/docker-config.json", auths("h.org", "elsewhere"));
  EXPECT_EQ(user(), "elsewhere");
  write("home/.dockercfg", R"({"https://h.org":{"auth":")" + encode_base64("oldest:pw") + R"("}})");
  EXPECT_EQ(user(), "oldest");
  write("home/.docker/config.json", auths("https://h.org/v1/", "docker"));
  EXPECT_EQ(user(), "docker");
  write("home/.config/containers/auth.json", auths("h.org", "config"));
  EXPECT_EQ(user(), "config");
  write("run/containers/auth.json", auths("h.org", "run"));
  EXPECT_EQ(user(), "run");
  write("run/containers/auth.json", auths("other.org", "other"));
  EXPECT_EQ(user(), "config");
  write("named.json", auths("h.org", "named"));
  environment["REGISTRY_AUTH_FILE"] = at("named.json");
  EXPECT_EQ(user(), "named");
  EXPECT_EQ(user("other.org"), ""); // and nowhere else
  write("given.json", auths("h.org", "given"));
  EXPECT_EQ(find("h.org", "a/b", at("given.json"))->user, "given");
  EXPECT_EQ(find("h.org", "a/b", at("absent.json")).error().kind, ErrorKind::not_found);
}

TEST_F(FindCredentials, TheLongestKeyWins) {
  environment = {{"REGISTRY_AUTH_FILE", at("f")}};
  const auto entry = [](const char* user) {
    return R"({"auth":")" + encode_base64(std::string(user) + ":p:w") + "\"}";
  };
  write("f", R"({"auths":{"h.org":)" + entry("host") + R"(,"h.org/a":)" + entry("a") + R"(,"h.org/a/b":)" +
                 entry("ab") + R"(,"h.org:5000":)" + entry("port") + R"(,"https://index.docker.io/v1/":)" +
                 entry("hub") + "}}");
  EXPECT_EQ(user("h.org", "a/b"), "ab");
  EXPECT_EQ(user("h.org", "a/bc"), "a");
  EXPECT_EQ(user("h.org", "ab"), "host");
  EXPECT_EQ(user("h.org:5000", "a/b"), "port");
  EXPECT_EQ(user("h.org:6000", "a/b"), "");
  EXPECT_EQ(user("docker.io", "library/x"), "hub");
  EXPECT_EQ(find()->password, "p:w");
  write("f", R"({"auths":{"h.org":{"identitytoken":"t"}}})");
  EXPECT_EQ(find()->identity_token, "t");
}

TEST_F(FindCredentials, BadFilesAreNamedAndNotQuoted) {
  environment = {{"REGISTRY_AUTH_FILE", at("f")}};
  for (const char* text : {"{\"auths\": s3cret", "[\"s3cret\"]", R"({"auths":{"h.org":"s3cret"}})",
                           R"({"auths":{"h.org":{"auth":"s3cret!"}}})"}) {
    write("f", text);
    const auto found = find();
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().kind, ErrorKind::usage);
    EXPECT_THAT(found.error().message, HasSubstr(at("f")));
    EXPECT_THAT(found.error().message + found.error().hint, Not(HasSubstr("s3cret")));
  }
}

TEST_F(FindCredentials, Helpers) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", (at("bin") + ":" + path).c_str(), 1);
  write("bin/docker-credential-good",
        "#!/bin/sh\nread server\necho s3cret >&2\necho "
        "\"{\\\"Username\\\":\\\"$server\\\",\\\"Secret\\\":\\\"s3cret\\\"}\"\n",
        0755);
  write("bin/docker-credential-token", "#!/bin/sh\necho '{\"Username\":\"<token>\",\"Secret\":\"t\"}'\n",
        0755);
  write("bin/docker-credential-none", "#!/bin/sh\necho 'credentials not found in native keychain'\nexit 1\n",
        0755);
  write("bin/docker-credential-bad", "#!/bin/sh\necho s3cret\nexit 1\n", 0755);
  write("bin/docker-credential-slow", "#!/bin/sh\nsleep 60\n", 0755);
  environment = {{"REGISTRY_AUTH_FILE", at("f")}};
  write("f", R"({"credHelpers":{"h.org":"good"},"credsStore":"none","auths":{"x.org":{"auth":"YTpi"}}})");
  EXPECT_EQ(user(), "h.org");
  EXPECT_EQ(find()->password, "s3cret");
  EXPECT_EQ(user("x.org"), "a"); // the store has none
  write("f", R"({"credsStore":"token","auths":{"h.org":{}}})");
  EXPECT_EQ(find()->identity_token, "t");
  for (const auto& [helper, kind] :
       {std::pair("bad", ErrorKind::failed), std::pair("slow", ErrorKind::failed),
        std::pair("absent", ErrorKind::missing_tool), std::pair("../x", ErrorKind::usage)}) {
    write("f", std::string(R"({"credHelpers":{"h.org":")") + helper + "\"}}");
    const auto found = find();
    ASSERT_FALSE(found) << helper;
    EXPECT_EQ(found.error().kind, kind) << found.error().message;
    EXPECT_THAT(found.error().message + found.error().hint, Not(HasSubstr("s3cret")));
  }
  setenv("PATH", path.c_str(), 1);
}

TEST_F(FindCredentials, Certificates) {
  const auto look = [&](const std::string& given = {}) {
    return find_certificates(given, "h.org:5000", [this](const char* name) { return environment[name]; });
  };
  environment["HOME"] = at("home");
  EXPECT_EQ(look()->authorities, "");
  write("home/.config/containers/certs.d/h.org:5000/ca.crt", "CA");
  write("home/.config/containers/certs.d/h.org/ca.crt", "other host");
  EXPECT_EQ(look()->authorities, "CA\n");
  write("given/client.cert", "C");
  EXPECT_EQ(look(at("given")).error().kind, ErrorKind::usage);
  write("given/client.key", "K");
  EXPECT_EQ(look(at("given"))->key, at("given/client.key"));
  EXPECT_EQ(look(at("absent")).error().kind, ErrorKind::not_found);
}

class SignIn : public FindCredentials {
protected:
  SignIn() {
    fake.put(small_image("x"), "v1");
    test.environment = {{"REGISTRY_AUTH_FILE", at("auth.json")}};
  }
  void credentials(const std::string& user, const std::string& password) {
    write("auth.json", R"({"auths":{")" + fake.host() + R"(":{"auth":")" +
                           encode_base64(user + ":" + password) + R"("}}})");
  }
  // A registry that wants a token, which a server gives to whom it knows; a token serves for `uses` requests.
  void want_token(int uses) {
    fake.override = [this, uses](const std::string& method, const std::string& path,
                                 const std::string& request) -> std::optional<std::string> {
      if (path.starts_with("/token")) {
        const std::string who = FakeRegistry::field(request, "Authorization");
        const bool known = who == "Basic " + encode_base64("me:s3cret") || method == "POST";
        if (!known)
          return FakeRegistry::reply(401, "");
        left = uses;
        return FakeRegistry::reply(200, R"({"access_token":"token)" + std::to_string(++tokens) + "\"}");
      }
      const std::string token = FakeRegistry::field(request, "Authorization");
      if (token == "Bearer token" + std::to_string(tokens) && left-- > 0)
        return std::nullopt;
      return FakeRegistry::reply(
          401, "", "WWW-Authenticate: Bearer realm=\"" + fake.url("/token") + "\",service=\"fake\"\r\n");
    };
  }
  Result<std::unique_ptr<oci::Image>> open() {
    return open_image(fake.reference("app:v1"), "amd64", test.access());
  }
  int tokens = 0, left = 0;
  FakeRegistry fake;
  TestAccess test;
};

TEST_F(SignIn, ATokenIsGotOnceAndAgainWhenItIsSpent) {
  credentials("me", "s3cret");
  want_token(100);
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(fake.count("GET /token?service=fake&scope=repository:app:pull "), 1);
  want_token(1);
  tokens = 0;
  ASSERT_TRUE(open());
  EXPECT_EQ(tokens, 2); // manifest, configuration
}

// A server that gives a token for all that was asked, or none.
TEST_F(SignIn, WhoMayNotReadElsewhereSendsBlobs) {
  credentials("me", "s3cret");
  oci::NewImage image = small_image("y");
  for (oci::NewLayer& layer : image.layers)
    layer.origin = fake.reference("other:v1");
  bool all = false;
  const auto push_it = [&] {
    fake.blobs.clear();
    want_token(100);
    fake.override = [&all, known = fake.override](const std::string& method, const std::string& path,
                                                  const std::string& request) -> std::optional<std::string> {
      if (!all && path.starts_with("/token") && path.find("repository:other:pull") != std::string::npos)
        return FakeRegistry::reply(403, "");
      return known(method, path, request);
    };
    return write_image(fake.reference("app:v2"), image, test.access());
  };
  const auto sent = push_it();
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(*sent, oci::manifest_digest(image));
  EXPECT_EQ(fake.count("POST /v2/app/blobs/uploads/?mount="), 0);
  EXPECT_EQ(fake.blobs.size(), 3U);
  all = true;
  ASSERT_TRUE(push_it());
  EXPECT_EQ(fake.count("POST /v2/app/blobs/uploads/?mount="), 2);
}

TEST_F(SignIn, AnIdentityTokenIsChangedForOne) {
  write("auth.json", R"({"auths":{")" + fake.host() + R"(":{"identitytoken":"id+1"}}})");
  want_token(100);
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  bool found = false;
  for (const std::string& request : fake.requests())
    found = found || (request.starts_with("POST /token ") &&
                      request.find("refresh_token=id%2B1") != std::string::npos);
  EXPECT_TRUE(found);
}

TEST_F(SignIn, DenialsSayHowToLogInAndNoSecret) {
  want_token(100);
  credentials("me", "s3cret-wrong");
  for (int i = 0; i < 2; ++i) {
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::denied) << opened.error().message;
    EXPECT_THAT(opened.error().hint, HasSubstr("podman login " + fake.host()));
    EXPECT_THAT(opened.error().message + opened.error().hint, Not(HasSubstr("s3cret")));
    // A registry that repeats what we sent.
    fake.override = [](const std::string&, const std::string& path,
                       const std::string& request) -> std::optional<std::string> {
      if (path == "/v2/")
        return FakeRegistry::reply(401, "", "WWW-Authenticate: Basic realm=\"x\"\r\n");
      return FakeRegistry::reply(403, R"({"errors":[{"code":"DENIED","message":"s3cret-wrong, )" +
                                          FakeRegistry::field(request, "Authorization") + "\"}]}");
    };
  }
  EXPECT_TRUE(test.pauses.empty());
}

TEST_F(SignIn, BasicIsTriedOnce) {
  const auto basic = [&](const std::string& user) {
    fake.override = [=](const std::string&, const std::string&,
                        const std::string& request) -> std::optional<std::string> {
      if (FakeRegistry::field(request, "Authorization") == "Basic " + encode_base64(user + ":s3cret"))
        return std::nullopt;
      return FakeRegistry::reply(401, "", "WWW-Authenticate: Basic realm=\"x\"\r\n");
    };
  };
  basic("me");
  EXPECT_EQ(open().error().kind, ErrorKind::denied); // nobody
  credentials("me", "s3cret");
  EXPECT_TRUE(open());
  basic("other");
  EXPECT_EQ(open().error().kind, ErrorKind::denied);
}

TEST_F(SignIn, RealmsThatAreNoneAreRefused) {
  for (const char* realm : {"", "file:///etc/passwd", "http://user:pw@127.0.0.1/", "token"}) {
    fake.override = [=](const std::string&, const std::string&,
                        const std::string&) -> std::optional<std::string> {
      return FakeRegistry::reply(401, "",
                                 std::string("WWW-Authenticate: Bearer realm=\"") + realm + "\"\r\n");
    };
    EXPECT_EQ(open().error().kind, ErrorKind::integrity) << realm;
  }
}

} // namespace
} // namespace xaas::registry
