// Settings: what a site, a user or a project decides once for all commands. docs/sites.md has the list.
//
// One precedence: command line, environment, project, user, site, built-in. A site locks nothing. A project's
// file comes with the sources of strangers, so it may only ask for less: fewer jobs, no network.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>

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

enum class Type { path, size, count, flag, list, text };

// What there is to set.
struct Definition {
  const char* key;
  Type type;
  const char* variable; // of the environment; nullptr: none
  const char* option;   // of commands, without dashes; nullptr: none
  const char* meaning;  // for people
};
const std::vector<Definition>& definitions(); // in the order in which people read them

struct Setting {
  std::string key; // `registries.HOST.NAME` for what differs for one registry
  Json value;      // null: none. Of a size the number of bytes
  Origin origin = Origin::built_in;
  std::string where; // the file, variable or option; empty: built in
};

// A file of settings that was looked for.
struct File {
  Origin origin = Origin::site;
  fs::path path;
  bool used = false;
  std::string trouble; // why it is not used although it is there
};

// What differs for one registry.
struct Registry {
  std::optional<bool> tls_verify;
  std::string cert_dir;
};

// Where settings come from.
struct Sources {
  fs::path site, user, project; // files; empty: none
  std::vector<uid_t> owners;    // whose files are believed
  // Nothing: not set.
  std::function<std::optional<std::string>(const char* name)> environment;
};

// The environment of this process; /etc/xaas/config.json, or $XAAS_SITE_CONFIG;
// $XDG_CONFIG_HOME/xaas/config.json, else ~/.config/xaas/config.json; xaas-config.json in the current
// directory. `program` is this program.
Sources own_sources(const fs::path& program);

class Settings {
public:
  // A file of the site or the user that others can change: storage. An unknown key, a wrong value: usage,
  // with the file and the place in it. A project's file that others can change is left out, and `files` says
  // so.
  static Result<Settings> read(const Sources& sources);

  // What the command line says: the texts of an option, none for a flag. Usage error: no value of that type.
  Result<void> take_option(const Definition& definition, const std::vector<std::string>& texts);

  std::vector<Setting> all() const; // in the order of definitions(), then those of registries
  const std::vector<File>& files() const { return files_; }
  const Setting& at(const std::string& key) const; // a key of definitions()

  fs::path cache_directory() const;
  uint64_t cache_max_bytes() const;
  fs::path shared_cache() const;            // empty: none
  bool shared_cache_is_vouched_for() const; // named by a file of the site that root owns
  fs::path temporary_directory() const;
  std::optional<unsigned> jobs() const; // nothing: what the machine allows
  bool jobs_only_lower() const;         // a project asks: no more than what the machine allows
  unsigned login_jobs() const;          // outside a batch job
  int nice() const;                     // outside a batch job
  fs::path authfile() const;            // empty: where podman and docker keep them
  fs::path cert_dir() const;            // empty: certs.d
  const std::map<std::string, Registry>& registries() const { return registries_; } // by HOST[:PORT]
  bool offline() const;
  std::vector<std::string> runtimes() const;     // in the order in which they are tried; empty: our own order
  uint64_t number(const std::string& key) const; // of a count or size that is never null
  std::string reuse() const;                     // an image reference; empty: none
  fs::path verify_key() const;                   // empty: signatures are not asked for

private:
  Result<void> read_file(File file, const Sources& sources);
  Result<void> apply(const Json& json, const File& file, const Sources& sources);
  Result<void> apply_registries(const Json& json, const File& file, const Sources& sources);
  Result<void> apply_environment(const Sources& sources);
  std::string text_of(const std::string& key) const;
  Setting& find(const std::string& key);

  std::vector<Setting> settings_;      // one for each of definitions()
  std::vector<Setting> registry_rows_; // those of registries_
  std::map<std::string, Registry> registries_;
  std::vector<File> files_;
  bool vouched_ = false;
};

// "800M", "20G", "0": powers of 1024. What is no size: usage error that begins with `what`.
Result<uint64_t> parse_size(const std::string& what, const std::string& text);

} // namespace xaas::config
