// Where the images of a registry are really read: mirrors, other locations, blocked registries, and
// registries without TLS, as the configuration files of containers/image say. Sources:
// containers-registries.conf(5), containers-registries.conf.d(5).
//
// An image keeps its logical name. For reading there is a list of places, tried in order: the mirrors, then
// the location. Writing goes to the name itself. Short names (`[aliases]`, `unqualified-search-registries`)
// do not matter, because docker:// without a host means docker.io here, as it does in skopeo.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/reference.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xaas::registry {

struct Route {
  oci::Reference reference; // its text names the place
  bool insecure = false;    // accept any certificate, and plain HTTP
};

class Routes {
public:
  // Reads one file and drop-in files after it. The file is that of $CONTAINERS_REGISTRIES_CONF, else the
  // user's
  // (~/.config/containers/registries.conf), else the system's. The drop-in files are the system's, unless the
  // user's file is used, then the user's. A missing file is no error, unless the variable names it
  // (not_found). A malformed file is a usage error that names file and line; an unreadable one a storage
  // error.
  static Result<Routes> load(const std::function<std::string(const char* name)>& environment,
                             const fs::path& system = "/etc/containers");

  // Adds the tables of one file. A table replaces one with the same prefix from an earlier file.
  Result<void> add(const std::string& text, const std::string& file);

  // The places to read an image from, at least one, without blocked ones. If all are blocked, denied.
  Result<std::vector<Route>> to_read(const oci::Reference& image) const;
  // The place to write it to: under its own name.
  Result<Route> to_write(const oci::Reference& image) const;

private:
  struct Mirror {
    enum class For { all, digests, tags };
    std::string location;
    bool insecure = false;
    For use = For::all;
  };
  struct Registry {
    std::string prefix, location, file;
    bool insecure = false, blocked = false;
    std::vector<Mirror> mirrors;
  };
  struct Match {
    const Registry* registry = nullptr;
    size_t length = 0; // of the part of the name that the prefix stands for
  };
  friend class RoutesFile;
  Match find(const oci::Reference& image) const;

  std::map<std::string, Registry> registries_; // by prefix
};

} // namespace xaas::registry
