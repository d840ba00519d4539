#include "host_choice.h"

#include <xaas/base/text.h>
#include <xaas/loader/loading.h>
#include <xaas/run/preferred.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <set>

namespace xaas::deploy {

namespace {

using image::PreferredOfHost;
using loader::Loader;

HostChoice of_image(const std::string& what, const std::string& reason) {
  return {what, false, "", reason};
}

HostChoice mpi_choice(const std::string& abi, const system::SystemDescription& system) {
  std::vector<std::string> others;
  for (const system::Mpi& mpi : system.mpi) {
    if (abi.empty() || mpi.abi == abi)
      return {"mpi", true, trim(mpi.implementation + " " + mpi.version) + " in " + mpi.libdir,
              abi.empty() ? "the system has an MPI; the ABI of the image's is unknown until it is built"
                          : "the same ABI, " + abi};
    others.push_back(mpi.implementation + " (" + mpi.abi + ")");
  }
  if (others.empty())
    return of_image("mpi", "the system has no MPI");
  return of_image("mpi", "the image's MPI has the ABI " + abi + ", the system has " + join(others, ", "));
}

// A system's libraries, by name.
class SystemLibraries {
public:
  SystemLibraries(const system::SystemDescription& system,
                  const std::optional<std::vector<std::string>>& library_path)
      : system_(system) {
    if (library_path)
      loader_.emplace("/", system.arch, *library_path, true);
  }

  // The path of a library; empty: unknown. A description has its longest name: libfftw3.so.3.6.10.
  std::string find(const std::string& soname) {
    for (const system::Named& library : system_.libraries) {
      const std::string file = fs::path(library.path).filename();
      if (file == soname || file.starts_with(soname + "."))
        return library.path;
    }
    if (!loader_)
      return {};
    const Result<const loader::Library*> found = loader_->find(soname);
    return found && *found ? (*found)->path : std::string(); // a damaged library does not count
  }

  // The files that belong to a name.
  std::vector<std::string> named(const std::string& what) const {
    std::vector<std::string> paths;
    for (const system::Named& library : system_.libraries)
      if (run::belongs_to(what, fs::path(library.path).filename()))
        paths.push_back(library.path);
    return paths;
  }

  bool knows_files() const { return loader_.has_value(); }

private:
  const system::SystemDescription& system_;
  std::optional<Loader> loader_;
};

// The best implementation of an interface that the system has.
HostChoice interface_choice(const std::string& what, const runtimes::Interface& interface,
                            SystemLibraries& libraries) {
  for (const std::string& implementation : interface.implementations)
    if (const std::string path = libraries.find(implementation); !path.empty())
      return {what, true, path, "the best implementation here"};
  return of_image(what, "the system has no " + join(interface.implementations, ", "));
}

HostChoice library_choice(const PreferredOfHost& wanted, SystemLibraries& libraries) {
  if (const runtimes::Interface* interface = runtimes::Knowledge::get().interface(wanted.what))
    return interface_choice(wanted.what, *interface, libraries);
  std::vector<std::string> found, absent;
  for (const std::string& soname : wanted.sonames) {
    const std::string path = libraries.find(soname);
    (path.empty() ? absent : found).push_back(path.empty() ? soname : path);
  }
  // A description lists only the main libraries.
  if (!found.empty() && (absent.empty() || !libraries.knows_files()))
    return {wanted.what, true, join(found, ", "), "the same soname"};
  const std::vector<std::string> others = libraries.named(wanted.what);
  return of_image(wanted.what, "the system has no " + join(absent, ", ") +
                                   (others.empty() ? "" : " (it has " + join(others, ", ") + ")"));
}

// For an image that is not built yet.
HostChoice named_choice(const spec::HostPreference& preference, SystemLibraries& libraries) {
  if (!preference.sonames.empty())
    return library_choice({preference.what, {}, preference.sonames}, libraries);
  if (const runtimes::Interface* interface = runtimes::Knowledge::get().interface(preference.what))
    return interface_choice(preference.what, *interface, libraries);
  const std::vector<std::string> found = libraries.named(preference.what);
  if (found.empty())
    return of_image(preference.what, "the system has no known library of that name");
  return {preference.what, true, join(found, ", "),
          "the same name; the soname of the image's is unknown until it is built"};
}

} // namespace

std::vector<PreferredOfHost> preferred_of(const image::Bundle& bundle,
                                          const image::BundleConfiguration& configuration) {
  std::set<std::string> names(configuration.base_libraries.begin(), configuration.base_libraries.end());
  for (const link::InstalledFile& file : configuration.runtime)
    if (file.kind == link::InstalledFile::Kind::file)
      names.insert(fs::path(file.path).filename());
  return run::preferred_among(bundle.host, names);
}

std::vector<HostChoice> host_choices(const image::Bundle& bundle,
                                     const image::BundleConfiguration* configuration,
                                     const system::SystemDescription& system,
                                     const std::optional<std::vector<std::string>>& library_path) {
  std::vector<HostChoice> choices;
  if (bundle.host.empty())
    return choices; // nothing of the machine needs to be read
  SystemLibraries libraries(system, library_path);
  if (!configuration) {
    for (const spec::HostPreference& preference : bundle.host)
      choices.push_back(preference.what == "mpi" ? mpi_choice("", system)
                                                 : named_choice(preference, libraries));
    return choices;
  }
  for (const PreferredOfHost& each : preferred_of(bundle, *configuration)) {
    if (each.sonames.empty())
      choices.push_back(
          of_image(each.what, "this configuration loads none; it is unused or linked statically"));
    else if (each.what == "mpi")
      choices.push_back(mpi_choice(each.abi, system));
    else
      choices.push_back(library_choice(each, libraries));
  }
  return choices;
}

} // namespace xaas::deploy
