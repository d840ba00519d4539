#include <xaas/base/trust.h>
#include <xaas/config/settings.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace xaas::config {
namespace {

using testing::HasSubstr;

class Config : public testing::Test {
protected:
  Config() : directory_(*TemporaryDirectory::create()) {
    chmod(directory_.path().c_str(), 0755);
    sources_.site = directory_.path() / "site.json";
    sources_.user = directory_.path() / "user.json";
    sources_.project = directory_.path() / "project.json";
    sources_.owners = {0, geteuid()};
    sources_.environment = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  static void write(const fs::path& file, const std::string& text) { ASSERT_TRUE(write_file(file, text)); }

  Settings good() {
    Result<Settings> settings = Settings::read(sources_);
    EXPECT_TRUE(settings) << settings.error().message;
    return settings ? *settings : Settings();
  }

  Error bad() {
    const Result<Settings> settings = Settings::read(sources_);
    EXPECT_FALSE(settings);
    return settings ? Error() : settings.error();
  }

  TemporaryDirectory directory_;
  Sources sources_;
  std::map<std::string, std::string> variables_ = {{"HOME", "/home/alice"}, {"USER", "alice"}};
};

const Definition& definition(const std::string& key) {
  for (const Definition& each : definitions())
    if (key == each.key)
      return each;
  throw std::logic_error(key);
}

TEST_F(Config, WithoutAnythingValuesAreBuiltIn) {
  const Settings settings = good();
  EXPECT_EQ(settings.cache_directory(), "/home/alice/.cache/xaas");
  EXPECT_EQ(settings.cache_max_bytes(), uint64_t(5) << 30);
  EXPECT_EQ(settings.login_jobs(), 8u);
  EXPECT_EQ(settings.jobs(), std::nullopt);
  EXPECT_FALSE(settings.offline());
  EXPECT_TRUE(settings.runtimes().empty());
  for (const Setting& setting : settings.all())
    EXPECT_EQ(setting.origin, Origin::built_in) << setting.key;
  variables_ = {{"XDG_CACHE_HOME", "/var/x"}};
  EXPECT_EQ(good().cache_directory(), "/var/x/xaas");
}

TEST_F(Config, LaterSourcesOverrideEarlierOnes) {
  write(sources_.site, R"({"login_jobs": 1, "cache_max_size": "1K", "nice": 1, "jobs": 50})");
  EXPECT_EQ(good().at("jobs").origin, Origin::site);
  write(sources_.user, R"({"login_jobs": 2, "cache_max_size": "2K", "jobs": 40})");
  EXPECT_EQ(good().at("jobs").origin, Origin::user);
  write(sources_.project, R"({"jobs": 30})");
  EXPECT_EQ(good().at("jobs").origin, Origin::project);
  EXPECT_EQ(good().jobs(), 30u);
  variables_["XAAS_JOBS"] = "20";
  variables_["XAAS_LOGIN_JOBS"] = "3";
  Settings settings = good();
  EXPECT_EQ(settings.at("jobs").origin, Origin::environment);
  EXPECT_EQ(settings.at("jobs").where, "XAAS_JOBS");
  ASSERT_TRUE(settings.take_option(definition("jobs"), {"10"}));
  EXPECT_EQ(settings.at("jobs").origin, Origin::command_line);
  EXPECT_EQ(settings.jobs(), 10u);
  EXPECT_EQ(settings.login_jobs(), 3u);
  EXPECT_EQ(settings.cache_max_bytes(), 2048u);
  EXPECT_EQ(settings.at("cache_max_size").where, sources_.user.string());
  EXPECT_EQ(settings.nice(), 1);
}

TEST_F(Config, NullAndEmptyVariablesUndoTheSite) {
  write(sources_.site, R"({"reuse": "oci:/apps/images", "login_jobs": 2, "shared_cache": "/apps/cache"})");
  EXPECT_EQ(good().reuse(), "oci:/apps/images");
  variables_["XAAS_REUSE"] = "";
  variables_["XAAS_LOGIN_JOBS"] = "";
  EXPECT_EQ(good().reuse(), "");
  EXPECT_EQ(good().at("reuse").origin, Origin::environment);
  EXPECT_EQ(good().login_jobs(), 2u);
  write(sources_.user, R"({"shared_cache": null, "login_jobs": null})");
  EXPECT_EQ(good().shared_cache(), "");
  EXPECT_EQ(good().login_jobs(), 8u);
  EXPECT_EQ(good().at("login_jobs").origin, Origin::user);
}

TEST_F(Config, PathsAreExpanded) {
  write(sources_.site, R"({"cache_directory": "/scratch/${USER}/x${USER}", "authfile": "~/auth.json"})");
  EXPECT_EQ(good().cache_directory(), "/scratch/alice/xalice");
  EXPECT_EQ(good().authfile(), "/home/alice/auth.json");
  variables_.erase("USER"); // as in cron; then the user database has it
  EXPECT_THAT(good().cache_directory().string(), testing::StartsWith("/scratch/"));
  for (const char* path : {"${NOWHERE}/x", "${USER", "${SHELL_}x"}) {
    write(sources_.site, Json{{"cache_directory", path}}.dump());
    variables_["SHELL_"] = "sh";
    const Error error = bad();
    EXPECT_EQ(error.kind, ErrorKind::usage) << path;
    EXPECT_THAT(error.message, HasSubstr("site.json: /cache_directory: ")) << path;
  }
}

TEST_F(Config, WrongValuesNameFileAndPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"jobs": "4"})", "/jobs: expected an integer"},
      {R"({"jobs": 0})", "/jobs: "},
      {R"({"jobs": 1.5})", "/jobs: expected an integer"},
      {R"({"nice": 20})", "/nice: "},
      {R"({"cache_directory": "cache"})", "/cache_directory: "},
      {R"({"cache_max_size": "many"})", "/cache_max_size: "},
      {R"({"cache_max_size": "99999999999T"})", "/cache_max_size: "},
      {R"({"runtimes": ["podman", 1]})", "/runtimes/1: expected a string"},
      {R"({"runtimes": ["podman", "podman"]})", "/runtimes"},
      {R"({"registries": {"h": {"tls_verify": 0}}})", "/registries/h/tls_verify: expected a boolean"},
      {R"({"unknown": 1, "jobs": "4"})", "/jobs: expected an integer"},
      {R"({"registries": {"h/x": {}}})", "/registries"},
      {R"({"offline": "yes"})", "/offline: expected a boolean"},
      {R"([])", "expected an object"},
      {R"~({"jobs": 1)~", "line 1"}};
  for (const fs::path& file : {sources_.site, sources_.user}) {
    for (const auto& [text, message] : cases) {
      write(file, text);
      const Error error = bad();
      EXPECT_EQ(error.kind, ErrorKind::usage) << text;
      EXPECT_THAT(error.message, HasSubstr(file.string())) << text;
      EXPECT_THAT(error.message, HasSubstr(message)) << text;
    }
    fs::remove(file);
  }
}

TEST_F(Config, UnknownKeysAreWarnings) {
  const std::string text =
      R"({"cache_directroy": "/x", "nice": 3, "later": {"a": [[]]}, "registries": {"h": {"tls_verfy": true, "cert_dir": "/c"}}})";
  for (const fs::path& file : {sources_.site, sources_.user}) {
    write(file, text);
    const Settings settings = good();
    EXPECT_EQ(settings.nice(), 3);
    EXPECT_EQ(settings.registries().at("h").cert_dir, "/c");
    EXPECT_EQ(settings.registries().at("h").tls_verify, std::nullopt);
    const File& read = settings.files()[file == sources_.site ? 0 : 1];
    EXPECT_TRUE(read.used);
    EXPECT_THAT(
        read.warnings,
        testing::ElementsAre(
            file.string() +
                ": /cache_directroy: unknown key \"cache_directroy\"; did you mean `cache_directory`?",
            file.string() + ": /later: unknown key \"later\"",
            file.string() +
                ": /registries/h/tls_verfy: unknown key \"tls_verfy\"; did you mean `tls_verify`?"));
    fs::remove(file);
  }
  write(sources_.project, R"({"jbos": 4, "jobs": 2})");
  EXPECT_EQ(good().jobs(), 2u);
  EXPECT_EQ(good().files()[2].warnings.size(), 1u);
  write(sources_.user, R"({")" + std::string(100'000, 'x') + R"(": 1})");
  EXPECT_LT(good().files()[1].warnings.at(0).size(), 1000u);
}

TEST_F(Config, VariablesAndOptionsAreChecked) {
  const std::pair<const char*, const char*> cases[] = {
      {"XAAS_JOBS", "many"}, {"XAAS_JOBS", "0"},          {"XAAS_JOBS", "-1"},
      {"XAAS_NICE", "20"},   {"XAAS_OFFLINE", "perhaps"}, {"XAAS_CACHE_MAX_SIZE", "5X"}};
  for (const auto& [name, value] : cases) {
    variables_ = {{name, value}};
    const Error error = bad();
    EXPECT_EQ(error.kind, ErrorKind::usage);
    EXPECT_THAT(error.message, HasSubstr(std::string(name) + "=" + value));
  }
  variables_ = {{"XAAS_OFFLINE", "Yes"}, {"XAAS_RUNTIMES", "bwrap,podman"}};
  Settings settings = good();
  EXPECT_TRUE(settings.offline());
  EXPECT_THAT(settings.runtimes(), testing::ElementsAre("bwrap", "podman"));
  ASSERT_TRUE(settings.take_option(definition("offline"), {"false"}));
  EXPECT_FALSE(settings.offline());
  EXPECT_FALSE(settings.take_option(definition("jobs"), {"x"}));
}

TEST_F(Config, ListsOfPathsAndVariables) {
  write(sources_.site, R"({"binds": ["/scratch/${USER}", "~/data:/data:ro"], "environment": ["A=1", "B="]})");
  EXPECT_THAT(good().binds(), testing::ElementsAre("/scratch/alice", "/home/alice/data:/data:ro"));
  EXPECT_THAT(good().environment(), testing::ElementsAre("A=1", "B="));
  write(sources_.site, R"({"binds": ["${SCRATCH}", "/a:/${b}"]})"); // a machine without SCRATCH
  EXPECT_THAT(good().binds(), testing::ElementsAre("/a:/${b}"));
  write(sources_.user, R"({"binds": [], "environment": null})"); // instead of the site's
  EXPECT_TRUE(good().binds().empty());
  EXPECT_TRUE(good().environment().empty());
  for (const auto& [text, message] : std::map<std::string, std::string>{
           {R"({"binds": ["/a", "${USER}/b"]})", "/binds/1: alice/b: not an absolute path"},
           {R"({"binds": ["relative"]})", "/binds/0"},
           {R"({"environment": ["A"]})", "/environment/0"},
           {R"({"environment": ["1=2"]})", "/environment/0"}}) {
    write(sources_.user, text);
    EXPECT_THAT(bad().message, HasSubstr(message)) << text;
  }
}

TEST_F(Config, AProjectCanOnlyAskForLess) {
  for (const Definition& each : definitions()) {
    const std::string key = each.key;
    if (key == "jobs" || key == "offline")
      continue;
    const Json value = each.type == Type::count   ? Json(3)
                       : each.type == Type::list  ? Json::array({key == "runtimes" ? "podman" : "K=V"})
                       : each.type == Type::paths ? Json::array({"/x"})
                       : each.type == Type::size  ? Json("1G")
                                                  : Json("/x");
    write(sources_.project, Json{{key, value}}.dump());
    EXPECT_THAT(bad().message, HasSubstr("project.json: /" + key + ": ")) << key;
  }
  write(sources_.project, R"({"registries": {"h": {"tls_verify": false}}})");
  EXPECT_THAT(bad().message, HasSubstr("/registries: "));
  write(sources_.project, R"({"offline": false})");
  EXPECT_THAT(bad().message, HasSubstr("/offline: "));
  write(sources_.project, R"({"offline": true, "jobs": 9})");
  EXPECT_TRUE(good().offline());
  EXPECT_TRUE(good().jobs_only_lower());
  write(sources_.user, R"({"jobs": 5})");
  EXPECT_EQ(good().jobs(), 5u);
  EXPECT_EQ(good().at("jobs").origin, Origin::user);
}

TEST_F(Config, RegistrySettingsAreMerged) {
  write(
      sources_.site,
      R"({"registries": {"a.example:5000": {"tls_verify": false, "cert_dir": "/etc/a"}, "b.example": {"tls_verify": false}}})");
  write(sources_.user,
        R"({"registries": {"a.example:5000": {"tls_verify": true}, "b.example": {"tls_verify": null}}})");
  const Settings settings = good();
  EXPECT_EQ(settings.registries().at("a.example:5000").tls_verify, true);
  EXPECT_EQ(settings.registries().at("a.example:5000").cert_dir, "/etc/a");
  EXPECT_EQ(settings.registries().at("b.example").tls_verify, std::nullopt);
  size_t found = 0;
  for (const Setting& row : settings.all())
    if (row.key == "registries.a.example:5000.tls_verify") {
      ++found;
      EXPECT_EQ(row.origin, Origin::user);
      EXPECT_EQ(row.value, true);
    }
  EXPECT_EQ(found, 1u);
}

TEST_F(Config, FilesThatOthersCanChangeAreNotTrusted) {
  for (const unsigned mode : {0664u, 0646u, 0666u}) {
    for (const fs::path& file : {sources_.site, sources_.user}) {
      write(file, R"({"jobs": 2})");
      chmod(file.c_str(), mode);
      const Error error = bad();
      EXPECT_EQ(error.kind, ErrorKind::storage);
      EXPECT_THAT(error.message, HasSubstr(file.string()));
      fs::remove(file);
    }
    write(sources_.project, R"({"jobs": 2})");
    chmod(sources_.project.c_str(), mode);
    const Settings settings = good();
    EXPECT_EQ(settings.jobs(), std::nullopt);
    EXPECT_FALSE(settings.files().back().used);
    EXPECT_THAT(settings.files().back().trouble, HasSubstr("can write to it"));
    fs::remove(sources_.project);
  }
  write(sources_.user, R"({"jobs": 2})");
  sources_.owners = {geteuid() + 1}; // as if another user had written it
  EXPECT_THAT(bad().message, HasSubstr("belongs to user"));
  sources_.owners = {geteuid()};
  chmod(directory_.path().c_str(), 0777); // others could replace the file
  EXPECT_THAT(bad().message, HasSubstr(directory_.path().string() + ": users other than"));
  chmod(directory_.path().c_str(), 01777);
  EXPECT_EQ(good().jobs(), 2u);
}

TEST_F(Config, OnlyRootVouchesForASharedCache) {
  write(sources_.site, R"({"shared_cache": "/apps/cache"})");
  EXPECT_EQ(good().shared_cache_is_vouched_for(), geteuid() == 0);
  variables_["XAAS_SHARED_CACHE_DIR"] = "/apps/cache";
  EXPECT_FALSE(good().shared_cache_is_vouched_for());
  variables_.clear();
  write(sources_.user, R"({"shared_cache": "/apps/cache"})");
  EXPECT_FALSE(good().shared_cache_is_vouched_for());
}

TEST(Trust, TheOwnerOfTheProgramIsTrusted) {
  const std::vector<uid_t> owners = trusted_owners("/proc/self/exe");
  EXPECT_THAT(owners, testing::Contains(uid_t(0)));
  EXPECT_THAT(owners, testing::Contains(geteuid()));
  EXPECT_EQ(check_trusted("/nowhere/at/all", owners).error().kind, ErrorKind::not_found);
  EXPECT_TRUE(check_trusted_place("/tmp/..", owners));
}

} // namespace
} // namespace xaas::config
