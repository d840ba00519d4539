// Settings of a site, a user or a project for all commands; docs/sites.md lists them.
//
// One precedence: command line, environment, project, user, site, built-in. A site cannot lock a setting. The
// file of a project comes with untrusted sources, so it can only ask for less: fewer jobs, no network.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/config/machines.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xaas::config {

enum class Origin { built_in, site, user, project, environment, command_line };
std::string name_of(Origin origin); // "built-in", ..., "command-line"

enum class Type { path, paths, size, count, flag, list, text };

// A setting that exists.
struct Definition {
  const char* key;
  Type type;
  const char* variable; // environment variable; nullptr: none
  const char* option;   // option of commands, without dashes; nullptr: none
  const char* meaning;  // for people
};
const std::vector<Definition>& definitions(); // in the order of the documentation

struct Setting {
  std::string key; // `registries.HOST.NAME` for the setting of one registry
  Json value;      // null: none; for a size the number of bytes
  Origin origin = Origin::built_in;
  std::string where; // the file, variable or option; empty: built in
};

// A settings file that was looked for.
struct File {
  Origin origin = Origin::site;
  fs::path path;
  bool used = false;
  std::string trouble;               // why an existing file is not used
  std::vector<std::string> warnings; // unknown keys, each with the file and the nearest known key
};

// The settings of one registry.
struct Registry {
  std::optional<bool> tls_verify;
  std::string cert_dir;
};

// The origins of settings.
struct Sources {
  fs::path site, user, project; // files; empty: none
  std::vector<uid_t> owners;    // users whose files are trusted
  // nullopt: the variable is not set.
  std::function<std::optional<std::string>(const char* name)> environment;
};

// The environment of this process; /etc/xaas/config.json or $XAAS_SITE_CONFIG;
// $XDG_CONFIG_HOME/xaas/config.json or ~/.config/xaas/config.json; xaas-config.json in the current directory.
// `program` is the path of this program, whose owner is trusted.
Sources own_sources(const fs::path& program);

class Settings {
public:
  // Errors: storage for a file of the site or the user that others can change; usage for a wrong value, with
  // the file and the place in it. A project's file that others can change is not used; files() has the
  // reason. An unknown key is a warning in files(), because versions with different keys share a file.
  static Result<Settings> read(const Sources& sources);

  // Takes an option of the command line: its texts, none for a flag. Usage error: no value of that type.
  Result<void> take_option(const Definition& definition, const std::vector<std::string>& texts);

  std::vector<Setting> all() const; // in the order of definitions(), then the registries
  const std::vector<File>& files() const { return files_; }
  const Machines& machines() const { return machines_; }
  const Setting& at(const std::string& key) const; // a key of definitions()

  fs::path cache_directory() const;
  uint64_t cache_max_bytes() const;
  fs::path shared_cache() const;            // empty: none
  bool shared_cache_is_vouched_for() const; // set in a site file that root owns
  fs::path temporary_directory() const;
  std::optional<unsigned> jobs() const; // nullopt: what the machine allows
  bool jobs_only_lower() const;         // set by a project, so the machine still limits it
  unsigned login_jobs() const;          // outside a batch job
  int nice() const;                     // outside a batch job
  fs::path authfile() const;            // empty: the files of podman and docker
  fs::path cert_dir() const;            // empty: certs.d
  const std::map<std::string, Registry>& registries() const { return registries_; } // by HOST[:PORT]
  bool offline() const;
  std::vector<std::string> runtimes() const;     // in the order of trial; empty: the built-in order
  std::vector<std::string> binds() const;        // of `xaas run`, each as SRC[:DST[:ro]]
  std::vector<std::string> environment() const;  // of its programs, each as K=V
  uint64_t number(const std::string& key) const; // a count or size that is never null
  std::string reuse() const;                     // an image reference; empty: none
  fs::path verify_key() const;                   // empty: no key
  std::string certificate_identity() const;      // empty: none; without a key, signatures are not checked
  std::string certificate_issuer() const;
  fs::path trusted_root() const;

private:
  Result<void> read_file(File file, const Sources& sources);
  Result<void> use(File& file, const Sources& sources);
  Result<void> apply(const Json& json, const File& file, const Sources& sources);
  Result<void> apply_registries(const Json& json, const File& file, const Sources& sources);
  Result<void> apply_environment(const Sources& sources);
  std::string text_of(const std::string& key) const;
  std::vector<std::string> list_of(const std::string& key) const;
  Setting& find(const std::string& key);

  std::vector<Setting> settings_;      // one for each of definitions()
  std::vector<Setting> registry_rows_; // the same as registries_
  std::map<std::string, Registry> registries_;
  std::vector<File> files_;
  Machines machines_;
  bool vouched_ = false;
};

// "800M", "20G", "0": powers of 1024. Anything else: a usage error that begins with `what`.
Result<uint64_t> parse_size(const std::string& what, const std::string& text);

} // namespace xaas::config
