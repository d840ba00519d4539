#include <xaas/registry/routes.h>

#include <xaas/base/directory.h>
#include <xaas/base/text.h>

// Only this file uses it, and a library would be one more to load at each start.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>

namespace xaas::registry {

namespace {

constexpr uint64_t conf_limit = uint64_t(4) << 20;

Error malformed(const std::string& file, const toml::source_region& place, const std::string& what) {
  return make_error(ErrorKind::usage, file + ":" + std::to_string(place.begin.line) + ": " + what,
                    "man 5 containers-registries.conf");
}

} // namespace

// Reads the tables of one file.
class RoutesFile {
public:
  RoutesFile(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  Result<std::vector<Routes::Registry>> read() {
    if (root_.contains("registries"))
      return read_version_1();
    std::vector<Routes::Registry> found;
    XAAS_TRY(const std::vector<const toml::table*> tables, tables_of(root_, "registry"));
    for (const toml::table* table : tables) {
      XAAS_TRY(Routes::Registry registry, read_registry(*table));
      if (prefixes_.insert(registry.prefix).second) // of several the first, as in containers/image
        found.push_back(std::move(registry));
    }
    return found;
  }

private:
  Result<std::vector<const toml::table*>> tables_of(const toml::table& parent, const char* key) {
    std::vector<const toml::table*> tables;
    const toml::node* const node = parent.get(key);
    if (!node)
      return tables;
    const toml::array* const array = node->as_array();
    if (!array)
      return malformed(file_, node->source(), "'" + std::string(key) + "' is not an array of tables");
    for (const toml::node& each : *array) {
      if (!each.is_table())
        return malformed(file_, each.source(), "'" + std::string(key) + "' is not an array of tables");
      tables.push_back(each.as_table());
    }
    return tables;
  }

  template <typename T> Result<T> value(const toml::table& table, const char* key, T absent) {
    const toml::node* const node = table.get(key);
    if (!node)
      return absent;
    const std::optional<T> found = node->value_exact<T>();
    if (!found)
      return malformed(file_, node->source(),
                       "'" + std::string(key) + "' is not " +
                           (std::is_same_v<T, bool> ? "true or false" : "a string"));
    return *found;
  }

  Result<std::string> plain(const toml::node& node, std::string text) {
    if (text.find("://") != std::string::npos)
      return malformed(file_, node.source(), "'" + text + "': a location has no scheme");
    while (text.ends_with('/'))
      text.pop_back();
    return text;
  }

  Result<std::string> prefix(const toml::table& table) {
    XAAS_TRY(std::string text, value<std::string>(table, "prefix", ""));
    return text.empty() ? Result<std::string>("") : plain(*table.get("prefix"), std::move(text));
  }

  // A name without a host would be one of docker.io.
  Result<std::string> location(const toml::table& table) {
    XAAS_TRY(std::string text, value<std::string>(table, "location", ""));
    if (text.empty())
      return text;
    XAAS_TRY(text, plain(*table.get("location"), std::move(text)));
    const std::string host = text.substr(0, text.find('/'));
    if (host.find_first_of(".:") == std::string::npos && host != "localhost")
      return malformed(file_, table.get("location")->source(),
                       "'" + text + "' does not begin with a host: it has neither '.' nor ':'");
    return text;
  }

  Result<Routes::Registry> read_registry(const toml::table& table) {
    Routes::Registry registry;
    registry.file = file_;
    XAAS_TRY(registry.location, location(table));
    XAAS_TRY(registry.prefix, prefix(table));
    const bool wildcard = registry.prefix.starts_with("*.");
    if (registry.prefix.empty())
      registry.prefix = registry.location;
    if (registry.prefix.empty())
      return malformed(file_, table.source(), "a registry without location");
    if (wildcard && registry.prefix.find_first_of("/:@*", 2) != std::string::npos)
      return malformed(file_, table.source(),
                       "the prefix '" + registry.prefix + "' is not '*.' and the name of a domain");
    if (registry.location.empty() && !wildcard)
      registry.location = registry.prefix;
    XAAS_TRY(registry.insecure, value<bool>(table, "insecure", false));
    XAAS_TRY(registry.blocked, value<bool>(table, "blocked", false));
    XAAS_TRY(const bool digests_only, value<bool>(table, "mirror-by-digest-only", false));
    XAAS_TRY(const std::vector<const toml::table*> mirrors, tables_of(table, "mirror"));
    for (const toml::table* each : mirrors) {
      XAAS_TRY(const Routes::Mirror mirror, read_mirror(*each, digests_only));
      registry.mirrors.push_back(mirror);
    }
    return registry;
  }

  Result<Routes::Mirror> read_mirror(const toml::table& table, bool digests_only) {
    Routes::Mirror mirror;
    XAAS_TRY(mirror.location, location(table));
    if (mirror.location.empty())
      return malformed(file_, table.source(), "a mirror without location");
    XAAS_TRY(mirror.insecure, value<bool>(table, "insecure", false));
    XAAS_TRY(const std::string use, value<std::string>(table, "pull-from-mirror", ""));
    if (!use.empty() && digests_only)
      return malformed(file_, table.source(),
                       "'pull-from-mirror' of a mirror and 'mirror-by-digest-only' of its registry");
    if (use == "digest-only" || digests_only)
      mirror.use = Routes::Mirror::For::digests;
    else if (use == "tag-only")
      mirror.use = Routes::Mirror::For::tags;
    else if (!use.empty() && use != "all")
      return malformed(file_, table.source(),
                       "'pull-from-mirror' is '" + use + "', not 'all', 'digest-only' or 'tag-only'");
    return mirror;
  }

  // Lists of hosts: registries.insecure.registries and registries.block.registries.
  Result<std::vector<Routes::Registry>> read_version_1() {
    if (root_.contains("registry"))
      return malformed(file_, root_.source(), "both 'registries' (version 1) and 'registry' (version 2)");
    const toml::node& node = *root_.get("registries");
    if (!node.is_table())
      return malformed(file_, node.source(), "'registries' is not a table");
    std::map<std::string, Routes::Registry> found;
    for (const char* kind : {"insecure", "block"}) {
      XAAS_TRY(const std::vector<std::string> hosts, hosts_of(*node.as_table(), kind));
      for (const std::string& host : hosts) {
        Routes::Registry& registry = found[host];
        registry.prefix = registry.location = host;
        registry.file = file_;
        (kind == std::string_view("block") ? registry.blocked : registry.insecure) = true;
      }
    }
    std::vector<Routes::Registry> list;
    for (auto& [host, registry] : found)
      list.push_back(std::move(registry));
    return list;
  }

  Result<std::vector<std::string>> hosts_of(const toml::table& registries, const char* kind) {
    std::vector<std::string> hosts;
    const toml::node* const list = registries.get(kind);
    if (!list)
      return hosts;
    const toml::node* const names = list->is_table() ? list->as_table()->get("registries") : list;
    if (!names)
      return hosts;
    const toml::array* const array = names->as_array();
    const auto wrong = [&](const toml::node& where) {
      return malformed(file_, where.source(), "'" + std::string(kind) + "' has no array of hosts");
    };
    if (!list->is_table() || !array)
      return wrong(*names);
    for (const toml::node& each : *array) {
      const std::optional<std::string> host = each.value_exact<std::string>();
      if (!host)
        return wrong(each);
      XAAS_TRY(std::string text, plain(each, *host));
      if (text.empty())
        return wrong(each);
      hosts.push_back(std::move(text));
    }
    return hosts;
  }

  const toml::table& root_;
  const std::string& file_;
  std::set<std::string> prefixes_;
};

namespace {

// HOST/NAME[:TAG][@DIGEST]
std::string name_of(const oci::Reference& image) {
  const std::string tag = image.tag.empty() && !image.digest ? "latest" : image.tag;
  return image.host + "/" + image.repository + (tag.empty() ? "" : ":" + tag) +
         (image.digest ? "@" + image.digest->to_string() : "");
}

// How much of a name a prefix stands for; 0 if it does not match.
size_t matched(const std::string& name, const std::string& prefix) {
  const size_t length = prefix.size();
  if (prefix.starts_with("*.")) {
    const size_t host_end = name.find_first_of(":/");
    const std::string_view host = std::string_view(name).substr(0, host_end);
    const bool below = host.ends_with(std::string_view(prefix).substr(1)) && host.size() >= prefix.size();
    return below ? name.find('/') : 0; // with the port
  }
  if (!name.starts_with(prefix))
    return 0;
  if (name.size() == length)
    return length;
  // Only below a host, a colon does not begin a tag, but a port.
  const bool host_only = prefix.find('/') == std::string::npos;
  const char next = name[length];
  return next == '/' || (!host_only && (next == ':' || next == '@')) ? length : 0;
}

Result<oci::Reference> moved(const std::string& name, size_t length, const std::string& location,
                             const std::string& file) {
  if (location.empty())
    return oci::parse_reference("docker://" + name);
  return oci::parse_reference("docker://" + location + name.substr(length)).in(file);
}

// What cannot be read is an error: it may say that a registry is blocked.
Result<bool> is_there(const fs::path& file) {
  std::error_code code;
  const fs::file_status status = fs::status(file, code);
  if (status.type() == fs::file_type::not_found)
    return false;
  if (code)
    return make_error(ErrorKind::storage, file.string() + ": " + code.message());
  return true;
}

Result<void> add_drop_ins(const fs::path& directory, std::vector<fs::path>& files) {
  XAAS_TRY(const bool there, is_there(directory));
  if (!there)
    return {};
  XAAS_TRY(const std::vector<fs::path> all, list_directory(directory));
  std::error_code code;
  for (const fs::path& file : all)
    if (file.extension() == ".conf" && !fs::is_directory(file, code))
      files.push_back(file);
  return {};
}

} // namespace

Result<void> Routes::add(const std::string& text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed)
    return malformed(file, parsed.error().source(), std::string(parsed.error().description()));
  XAAS_TRY(std::vector<Registry> found, RoutesFile(parsed.table(), file).read());
  for (Registry& registry : found) {
    std::string prefix = registry.prefix;
    registries_.insert_or_assign(std::move(prefix), std::move(registry));
  }
  return {};
}

Result<Routes> Routes::load(const std::function<std::string(const char* name)>& environment,
                            const fs::path& system) {
  Routes routes;
  const auto add = [&](const fs::path& file) -> Result<void> {
    XAAS_TRY(const std::string text, read_file(file, conf_limit));
    return routes.add(text, file.string());
  };
  // As newConfigWrapper() of containers/image, which does not look at $XDG_CONFIG_HOME.
  const std::string home = environment("HOME");
  const fs::path own = home.empty() ? fs::path() : fs::path(home) / ".config" / "containers";
  std::vector<fs::path> files;
  bool system_counts = true;
  if (const std::string named = environment("CONTAINERS_REGISTRIES_CONF"); !named.empty()) {
    XAAS_CHECK(add(named).in("$CONTAINERS_REGISTRIES_CONF"));
  } else {
    XAAS_TRY(const bool has_own, own.empty() ? Result<bool>(false) : is_there(own / "registries.conf"));
    XAAS_TRY(const bool has_system, is_there(system / "registries.conf"));
    system_counts = !has_own;
    if (has_own)
      files.push_back(own / "registries.conf");
    else if (has_system)
      files.push_back(system / "registries.conf");
  }
  if (system_counts)
    XAAS_CHECK(add_drop_ins(system / "registries.conf.d", files));
  if (!own.empty())
    XAAS_CHECK(add_drop_ins(own / "registries.conf.d", files));
  for (const fs::path& file : files)
    XAAS_CHECK(add(file));
  return routes;
}

Routes::Match Routes::find(const oci::Reference& image) const {
  const std::string name = name_of(image);
  Match best;
  for (const auto& [prefix, registry] : registries_)
    if (const size_t length = matched(name, prefix);
        length > 0 && (!best.registry || prefix.size() > best.registry->prefix.size()))
      best = {&registry, length};
  return best;
}

static Error blocked(const oci::Reference& image, const std::string& prefix, const std::string& file) {
  return make_error(ErrorKind::denied, image.text + ": the registry '" + prefix + "' is blocked in " + file);
}

Result<std::vector<Route>> Routes::to_read(const oci::Reference& image) const {
  const Match match = find(image);
  if (!match.registry)
    return std::vector<Route>{{image}};
  const Registry& registry = *match.registry;
  if (registry.blocked)
    return blocked(image, registry.prefix, registry.file);
  const std::string name = name_of(image);
  std::vector<Route> routes;
  std::optional<Error> refused;
  // The table of the place itself counts, too.
  const auto add = [&](oci::Reference reference, bool insecure) {
    const Registry* const there = find(reference).registry;
    if (there && there->blocked)
      refused = blocked(reference, there->prefix, there->file);
    else
      routes.push_back({std::move(reference), insecure || (there && there->insecure)});
  };
  for (const Mirror& mirror : registry.mirrors) {
    if (mirror.use != Mirror::For::all && (mirror.use == Mirror::For::digests) != image.digest.has_value())
      continue;
    XAAS_TRY(oci::Reference reference, moved(name, match.length, mirror.location, registry.file));
    add(std::move(reference), mirror.insecure);
  }
  if (registry.location.empty() || registry.location == registry.prefix) {
    add(image, registry.insecure);
  } else {
    XAAS_TRY(oci::Reference reference, moved(name, match.length, registry.location, registry.file));
    add(std::move(reference), registry.insecure);
  }
  if (routes.empty() && refused)
    return *std::move(refused);
  return routes;
}

Result<Route> Routes::to_write(const oci::Reference& image) const {
  const Registry* const registry = find(image).registry;
  if (registry && registry->blocked)
    return blocked(image, registry->prefix, registry->file);
  // Of another location, it says nothing about the name.
  const bool own = registry && (registry->location.empty() || registry->location == registry->prefix);
  return Route{image, own && registry->insecure};
}

} // namespace xaas::registry
