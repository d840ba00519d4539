#include <xaas/runtimes/knowledge.h>

#include <xaas/base/glob.h>
#include <xaas/run/preferred.h>

#include <algorithm>

namespace xaas::run {

namespace {

bool matches_any(const std::vector<std::string>& patterns, const std::string& file) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, file); });
}

// The library family whose main library is there, with the others of it that are there.
image::PreferredOfHost mpi_among(const std::set<std::string>& files) {
  for (const runtimes::MpiFamily& family : runtimes::Knowledge::get().mpi) {
    image::PreferredOfHost mpi{"mpi", family.abi, {}};
    bool has_main = false;
    for (const std::vector<std::string>& names : family.libraries)
      for (const std::string& name : names)
        if (files.count(name)) {
          mpi.sonames.push_back(name);
          has_main |= &names == &family.libraries.front();
        }
    std::sort(mpi.sonames.begin(), mpi.sonames.end());
    if (has_main)
      return mpi;
  }
  return {"mpi", {}, {}};
}

} // namespace

bool belongs_to(const std::string& what, const std::string& file) {
  if (what == "mpi")
    return !mpi_among({file}).sonames.empty();
  if (const runtimes::Interface* interface = runtimes::Knowledge::get().interface(what))
    return std::count(interface->libraries.begin(), interface->libraries.end(), file) > 0;
  for (const runtimes::LibraryGroup& group : runtimes::Knowledge::get().groups)
    if (group.name == what)
      return matches_any(group.files, file);
  return file == "lib" + what + ".so" || file.starts_with("lib" + what + ".so.");
}

std::vector<image::PreferredOfHost> preferred_among(const std::vector<spec::HostPreference>& preferences,
                                                    const std::set<std::string>& files) {
  std::vector<image::PreferredOfHost> preferred;
  for (const spec::HostPreference& preference : preferences) {
    if (preference.what == "mpi") {
      preferred.push_back(mpi_among(files));
      continue;
    }
    image::PreferredOfHost library{preference.what, {}, {}};
    for (const std::string& file : files)
      if (preference.sonames.empty()
              ? belongs_to(preference.what, file)
              : std::count(preference.sonames.begin(), preference.sonames.end(), file) > 0)
        library.sonames.push_back(file);
    preferred.push_back(std::move(library));
  }
  return preferred;
}

} // namespace xaas::run
