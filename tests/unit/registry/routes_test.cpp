// The files of containers/image, and reading through mirrors.
#include "places.h"
#include "registry/fake.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/registry/referrers.h>
#include <xaas/registry/routes.h>

namespace xaas::registry {
namespace {

using namespace testing;
using ::testing::HasSubstr;

const std::string digest = "sha256:" + std::string(64, 'a');

Routes routes_of(const std::string& text) {
  Routes routes;
  const auto added = routes.add(text, "registries.conf");
  EXPECT_TRUE(added) << added.error().message;
  return routes;
}
// "HOST/NAME:TAG", with a '!' where a place is insecure.
std::vector<std::string> places(const Routes& routes, const std::string& image) {
  const auto found = routes.to_read(*oci::parse_reference("docker://" + image));
  if (!found)
    return {found.error().message};
  std::vector<std::string> names;
  for (const Route& route : *found)
    names.push_back(route.reference.text.substr(9) + (route.insecure ? "!" : ""));
  return names;
}
using Names = std::vector<std::string>;

// The example of the manual page.
TEST(RoutesOf, MirrorsAndLocations) {
  const Routes routes = routes_of(R"(
unqualified-search-registries = ["example.com"]
[[registry]]
prefix = "example.com/foo"
insecure = false
blocked = false
location = "internal-registry-for-example.com/bar"
[[registry.mirror]]
location = "example-mirror-0.local/mirror-for-foo"
[[registry.mirror]]
location = "example-mirror-1.local/mirrors/foo"
insecure = true
[[registry]]
location = "registry.com"
[[registry.mirror]]
location = "mirror.registry.com/"
)");
  EXPECT_EQ(places(routes, "example.com/foo/image:latest"),
            (Names{"example-mirror-0.local/mirror-for-foo/image:latest",
                   "example-mirror-1.local/mirrors/foo/image:latest!",
                   "internal-registry-for-example.com/bar/image:latest"}));
  EXPECT_EQ(places(routes, "registry.com/image@" + digest),
            (Names{"mirror.registry.com/image@" + digest, "registry.com/image@" + digest}));
  for (const char* other : {"example.com/foobar/image:1", "example.com/image:1", "registry.com:5000/image:1",
                            "registry.community/image:1"})
    EXPECT_EQ(places(routes, other), Names{other});
}

TEST(RoutesOf, TheLongestPrefixCounts) {
  const Routes routes = routes_of(R"(
[[registry]]
location = "a.org"
insecure = true
[[registry]]
prefix = "a.org/x/app"
location = "b.org/app"
[[registry]]
prefix = "a.org/x"
blocked = true
location = "c.org"
[[registry]]
prefix = "a.org/x/app:old"
location = "d.org/app:older"
)");
  EXPECT_EQ(places(routes, "a.org/y:1"), Names{"a.org/y:1!"});
  EXPECT_EQ(places(routes, "a.org/x/app:1"), Names{"b.org/app:1"});
  EXPECT_EQ(places(routes, "a.org/x/app@" + digest), Names{"b.org/app@" + digest});
  EXPECT_EQ(places(routes, "a.org/x/app:old"), Names{"d.org/app:older"});
  EXPECT_THAT(places(routes, "a.org/x/other:1")[0], HasSubstr("'a.org/x' is blocked in registries.conf"));
  const auto refused = routes.to_write(*oci::parse_reference("docker://a.org/x/other:1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::denied);
  // Writing goes to the name itself.
  const auto written = routes.to_write(*oci::parse_reference("docker://a.org/x/app:1"));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->reference.text, "docker://a.org/x/app:1");
}

TEST(RoutesOf, SubdomainsAndDockerHub) {
  const Routes routes = routes_of(R"(
[[registry]]
prefix = "*.example.org"
insecure = true
[[registry]]
prefix = "*.mirrored.org"
location = "here.org/cache"
[[registry]]
prefix = "docker.io/library"
location = "hub.org"
)");
  EXPECT_EQ(places(routes, "a.example.org/x:1"), Names{"a.example.org/x:1!"});
  EXPECT_EQ(places(routes, "a.b.example.org:5000/x:1"), Names{"a.b.example.org:5000/x:1!"});
  EXPECT_EQ(places(routes, "example.org/x:1"), Names{"example.org/x:1"});
  EXPECT_EQ(places(routes, "other.org/a.example.org:1"), Names{"other.org/a.example.org:1"});
  EXPECT_EQ(places(routes, "a.mirrored.org/x:1"), Names{"here.org/cache/x:1"});
  EXPECT_EQ(places(routes, "a.mirrored.org:5000/x:1"), Names{"here.org/cache/x:1"});
  EXPECT_EQ(places(routes, "debian:12"), Names{"hub.org/debian:12"});
  EXPECT_EQ(places(routes, "debian"), Names{"hub.org/debian:latest"});
}

TEST(RoutesOf, BlockedPlacesAndTheDefaultTag) {
  const Routes routes = routes_of(R"(
[[registry]]
location = "a.org"
[[registry.mirror]]
location = "blocked.org"
[[registry.mirror]]
location = "insecure.org"
[[registry]]
location = "blocked.org"
blocked = true
[[registry]]
location = "insecure.org"
insecure = true
[[registry]]
prefix = "a.org/old:latest"
location = "a.org/old"
blocked = true
[[registry]]
prefix = "only.org"
location = "blocked.org/x"
[[registry]]
location = "twice.org"
[[registry]]
location = "twice.org"
blocked = true
)");
  EXPECT_EQ(places(routes, "a.org/x:1"), (Names{"insecure.org/x:1!", "a.org/x:1"}));
  EXPECT_EQ(places(routes, "a.org/old:1"), (Names{"insecure.org/old:1!", "a.org/old:1"}));
  EXPECT_THAT(places(routes, "a.org/old")[0], HasSubstr("'a.org/old:latest' is blocked"));
  EXPECT_THAT(places(routes, "only.org/y")[0], HasSubstr("'blocked.org' is blocked"));
  EXPECT_EQ(places(routes, "twice.org/x"), Names{"twice.org/x"}); // the first table counts
}

TEST(RoutesOf, MirrorsForDigestsOrTags) {
  const std::string start = "[[registry]]\nlocation = \"a.org\"\n";
  const std::string mirror = "[[registry.mirror]]\nlocation = \"m.org\"\n";
  const std::string at = "a.org/x@" + digest;
  for (const std::string& text : {start + "mirror-by-digest-only = true\n" + mirror,
                                  start + mirror + "pull-from-mirror = \"digest-only\"\n"}) {
    EXPECT_EQ(places(routes_of(text), "a.org/x:1"), Names{"a.org/x:1"});
    EXPECT_EQ(places(routes_of(text), at), (Names{"m.org/x@" + digest, at}));
  }
  const Routes tags = routes_of(start + mirror + "pull-from-mirror = \"tag-only\"\n");
  EXPECT_EQ(places(tags, "a.org/x:1"), (Names{"m.org/x:1", "a.org/x:1"}));
  EXPECT_EQ(places(tags, at), Names{at});
}

TEST(RoutesOf, Version1) {
  const Routes routes = routes_of(R"(
[registries.search]
registries = ['a.org', 'b.org']
[registries.insecure]
registries = ['i.org']
[registries.block]
registries = ['b.org']
)");
  EXPECT_EQ(places(routes, "i.org/x:1"), Names{"i.org/x:1!"});
  EXPECT_THAT(places(routes, "b.org/x:1")[0], HasSubstr("is blocked"));
  EXPECT_EQ(places(routes, "a.org/x:1"), Names{"a.org/x:1"});
}

TEST(RoutesOf, MalformedFiles) {
  const std::map<std::string, std::string> wrong = {
      {"[[registry]", "registries.conf:1: "},
      {"\nregistry = 1", "registries.conf:2: 'registry' is not an array of tables"},
      {"registry = [1]", "'registry' is not an array of tables"},
      {"[[registry]]\nlocation = 1", "registries.conf:2: 'location' is not a string"},
      {"[[registry]]\nlocation = 'a.org'\nblocked = 'yes'",
       "registries.conf:3: 'blocked' is not true or false"},
      {"[[registry]]\nblocked = true", "a registry without location"},
      {"[[registry]]\nlocation = 'https://a.org'", "has no scheme"},
      {"[[registry]]\nprefix = '*.a.org/x'\nlocation = 'b.org'", "is not '*.' and the name of a domain"},
      {"[[registry]]\nprefix = 'a.org'\nlocation = 'head01/x'", "does not begin with a host"},
      {"[[registry]]\nlocation = 'a.org'\n[[registry.mirror]]\nlocation = 'head01'",
       "does not begin with a host"},
      {"registries = 1", "'registries' is not a table"},
      {"[registries]\nblock = ['b.org']", "'block' has no array of hosts"},
      {"[[registry]]\nlocation = 'a.org'\n[[registry.mirror]]\ninsecure = true", "a mirror without location"},
      {"[[registry]]\nlocation = 'a.org'\n[[registry.mirror]]\nlocation = 'm.org'\npull-from-mirror = 'no'",
       "not 'all'"},
      {"[[registry]]\nlocation = 'a.org'\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = "
       "'m.org'\n"
       "pull-from-mirror = 'all'",
       "'pull-from-mirror' of a mirror and"},
      {"[[registry]]\nlocation = 'a.org'\n[registries.block]\nregistries = ['b.org']", "both 'registries'"},
      {"[registries.block]\nregistries = 'b.org'", "'block' has no array of hosts"}};
  for (const auto& [text, message] : wrong) {
    Routes routes;
    const auto added = routes.add(text, "registries.conf");
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().kind, ErrorKind::usage);
    EXPECT_THAT(added.error().message, HasSubstr(message));
  }
  // Unknown keys are those of newer versions.
  EXPECT_TRUE(Routes().add("new = 1\n[aliases]\n\"x\" = \"a.org/x\"\n", "registries.conf"));
  // A location that makes no name.
  EXPECT_THAT(places(routes_of("[[registry]]\nprefix = 'a.org'\nlocation = 'b.org/UPPER'"), "a.org/x:1")[0],
              HasSubstr("upper-case"));
}

class RoutesFiles : public ::testing::Test {
protected:
  void write(const std::string& file, const std::string& location) {
    const fs::path path = directory_.path() / file;
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, "[[registry]]\nprefix = \"" + fs::path(file).stem().string() +
                                     ".org\"\nlocation = \"" + location + "\"\n"));
  }
  Result<Routes> load() {
    return Routes::load(
        [this](const char* name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? std::string() : found->second;
        },
        directory_.path() / "etc");
  }
  Names places_of(const std::string& image) {
    const auto routes = load();
    EXPECT_TRUE(routes) << routes.error().message;
    return places(*routes, image);
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  std::map<std::string, std::string> variables_;
};

TEST_F(RoutesFiles, Precedence) {
  EXPECT_EQ(places_of("a.org/x:1"), Names{"a.org/x:1"}); // no file at all
  write("etc/registries.conf.d/a.conf", "system-drop-in.org");
  write("etc/registries.conf.d/a.txt", "ignored.org");
  EXPECT_EQ(places_of("a.org/x:1"), Names{"system-drop-in.org/x:1"});
  variables_["HOME"] = directory_.path() / "home";
  const std::string own = "home/.config/containers/";
  write(own + "registries.conf.d/a.conf", "own-drop-in.org");
  write("etc/registries.conf", "system.org");
  EXPECT_EQ(places_of("a.org/x:1"), Names{"own-drop-in.org/x:1"});
  EXPECT_EQ(places_of("registries.org/x:1"), Names{"system.org/x:1"});
  write(own + "registries.conf", "own.org"); // the system's are no longer read
  fs::remove(directory_.path() / (own + "registries.conf.d/a.conf"));
  EXPECT_EQ(places_of("a.org/x:1"), Names{"a.org/x:1"});
  EXPECT_EQ(places_of("registries.org/x:1"), Names{"own.org/x:1"});
  write("named.conf", "named-file.org");
  write("etc/registries.conf.d/b.conf", "system-drop-in-2.org");
  variables_["CONTAINERS_REGISTRIES_CONF"] =
      directory_.path() / "named.conf"; // instead of the files, with drop-ins
  EXPECT_EQ(places_of("named.org/x:1"), Names{"named-file.org/x:1"});
  EXPECT_EQ(places_of("registries.org/x:1"), Names{"registries.org/x:1"});
  EXPECT_EQ(places_of("b.org/x:1"), Names{"system-drop-in-2.org/x:1"});
  variables_["CONTAINERS_REGISTRIES_CONF"] = directory_.path() / "missing.conf";
  EXPECT_EQ(load().error().kind, ErrorKind::not_found);
}

class Mirrors : public ::testing::Test {
protected:
  // An image of upstream.example, which does not exist, through registries on this machine.
  Access through(const std::vector<std::string>& mirrors, const std::string& location) {
    std::string text = "[[registry]]\nprefix = \"upstream.example\"\nlocation = \"" + location + "\"\n";
    for (const std::string& mirror : mirrors)
      text += "[[registry.mirror]]\nlocation = \"" + mirror + "\"\n";
    Access access = test_.access();
    access.tries = 1;
    access.routes = [routes = std::make_shared<const Routes>(routes_of(text))]() {
      return Result<std::shared_ptr<const Routes>>(routes);
    };
    return access;
  }
  const oci::Reference image_ = *oci::parse_reference("docker://upstream.example/app:v1");
  FakeRegistry first_, second_;
  TestAccess test_;
};

TEST_F(Mirrors, TheFirstThatHasTheImage) {
  first_.put(small_image("first"), "v1");
  second_.put(small_image("second"), "v1");
  const std::vector<std::string> both = {first_.host(), second_.host()};
  const auto image = open_image(image_, "amd64", through(both, "127.0.0.1:1"));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ((*image)->digest(), oci::manifest_digest(small_image("first")));
  EXPECT_EQ((*image)->reference().text, image_.text); // its logical name
  EXPECT_EQ(second_.count("GET"), 0);
  first_.manifests.clear();
  const auto other = open_image(image_, "amd64", through(both, "127.0.0.1:1"));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ((*other)->digest(), oci::manifest_digest(small_image("second")));
  // A mirror that cannot be reached, then the location.
  const auto last = open_image(image_, "amd64", through({"127.0.0.1:1"}, second_.host()));
  ASSERT_TRUE(last) << last.error().message;
}

TEST_F(Mirrors, NoneHasTheImage) {
  const auto missing = open_image(image_, "amd64", through({first_.host()}, "127.0.0.1:1"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found); // the only one that answers says so
  EXPECT_THAT(missing.error().message, HasSubstr("cannot be read at any of its places"));
  EXPECT_THAT(missing.error().message, HasSubstr(first_.host()));
  EXPECT_THAT(missing.error().message, HasSubstr("127.0.0.1:1"));
  const auto unreachable = open_image(image_, "amd64", through({"127.0.0.1:2"}, "127.0.0.1:1"));
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(unreachable.error().kind, ErrorKind::network);
}

// What is kept of an image does not say which place has the rest of it.
TEST_F(Mirrors, ByDigestFromTheCache) {
  second_.put(small_image("x"), "v1");
  Access access = through({first_.host()}, second_.host());
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  auto cache = store::Cache::open(directory.path() / "cache");
  ASSERT_TRUE(cache) << cache.error().message;
  access.blobs = *cache;
  const oci::Reference by_digest = *oci::parse_reference("docker://upstream.example/app@" +
                                                         oci::manifest_digest(small_image("x")).to_string());
  for (int i = 0; i < 2; ++i) {
    const auto opened = open_source(by_digest, std::nullopt, access);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->place.reference.host, second_.host());
    EXPECT_TRUE(opened->source->read(opened->root)); // keeps it
  }
  access.offline = true;
  EXPECT_TRUE(open_source(by_digest, std::nullopt, access));
}

TEST_F(Mirrors, AMirrorIsNotFilledFromItself) {
  first_.put(small_image("old"), "v1");
  second_.put(small_image("new"), "v1");
  const Access access = through({first_.host()}, second_.host());
  const auto copied = copy(image_, first_.reference("app:v1"), {}, access);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->digest, oci::manifest_digest(small_image("new")));
}

// A name may be read to get another tag.
TEST_F(Mirrors, AnotherTagOfTheSameName) {
  first_.put(small_image("x"), "v1");
  Access access = test_.access();
  const std::string text = "[[registry]]\nlocation = \"" + first_.host() +
                           "\"\n[[registry.mirror]]\nlocation = \"" + second_.host() + "\"\n";
  access.routes = [routes = std::make_shared<const Routes>(routes_of(text))]() {
    return Result<std::shared_ptr<const Routes>>(routes);
  };
  const auto copied = copy(first_.reference("app:v1"), first_.reference("app:v2"), {}, access);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(first_.manifests.at("v2"), first_.manifests.at("v1"));
  // Only the destination is left to read from.
  const Access itself = through({}, second_.host());
  const auto refused = copy(image_, second_.reference("app:v2"), {}, itself);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("which is the destination"));
}

TEST_F(Mirrors, APlaceThatFailsIsNoted) {
  second_.put(small_image("x"), "v1");
  Access access = through({first_.host()}, second_.host());
  std::vector<std::string> notes;
  access.note = [&](const std::string& text) { notes.push_back(text); };
  ASSERT_TRUE(open_image(image_, "amd64", access));
  EXPECT_TRUE(notes.empty()); // it just does not have it
  first_.override = [](const std::string&, const std::string& path,
                       const std::string&) -> std::optional<std::string> {
    return path == "/v2/" ? std::nullopt : std::optional(FakeRegistry::reply(403, ""));
  };
  ASSERT_TRUE(open_image(image_, "amd64", access));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr(first_.host()));
  second_.manifests.clear();
  const auto none = open_image(image_, "amd64", access);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::denied);
}

TEST_F(Mirrors, ReferrersAreThoseBesideTheImage) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  first_.put(small_image("x"), "v1");
  const oci::Publication publication = oci::publication_of(small_image("x"));
  const oci::Descriptor subject{
      oci::media_type::manifest, publication.root().digest, publication.root().text.size(), {}};
  ASSERT_TRUE(attach(first_.reference("app:v1"), {"application/x", "sbom", subject, {}}, test_.access()));
  const auto copied = copy(image_, *oci::parse_reference("oci:" + directory.path().string() + "/copy:v1"), {},
                           through({first_.host()}, "127.0.0.1:1"));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->referrers.size(), 1u);
}

TEST_F(Mirrors, AreNotWrittenTo) {
  Access access = through({first_.host()}, first_.host());
  const auto place = place_to_write(image_, access);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->reference.text, image_.text);
  // `insecure` counts unless the command line says otherwise.
  const std::string text = "[[registry]]\nlocation = \"upstream.example\"\ninsecure = true\n";
  access.routes = [routes = std::make_shared<const Routes>(routes_of(text))]() {
    return Result<std::shared_ptr<const Routes>>(routes);
  };
  EXPECT_FALSE(place_to_write(image_, access)->access.tls_verify);
  EXPECT_FALSE(places_to_read(image_, access)->front().access.tls_verify);
  access.routes_may_be_insecure = false;
  EXPECT_TRUE(place_to_write(image_, access)->access.tls_verify);
}

} // namespace
} // namespace xaas::registry
