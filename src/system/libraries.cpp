// Libraries, MPI and fabrics, found by file: in directories that the loader searches or that modules name,
// and in prefixes installed by Spack and EasyBuild.
//
// The soname of an MPI library determines its ABI: libmpi.so.12 is the MPICH ABI (MPICH ABI Compatibility
// Initiative), libmpi.so.40 that of Open MPI since version 3. Only ELF files for this architecture count.
#include "elf_file.h"
#include "library_version.h"
#include "machine.h"
#include "names.h"
#include "trees.h"

#include <xaas/loader/dynamic.h>

#include <algorithm>
#include <fnmatch.h>
#include <set>

namespace xaas::system {

namespace {

class LibraryProbe {
public:
  LibraryProbe(const Machine& machine, bool mpi_versions, SystemDescription& description)
      : machine_(machine), mpi_versions_(mpi_versions), description_(description) {}

  void search(const std::string& directory) { search(directory, nullptr, nullptr); }
  void search(const Installed& installed);

private:
  // `package`: set for the prefix of a package. Then only the known libraries of that package count, in all
  // versions.
  void search(const std::string& directory, const Installed* package,
              const std::vector<std::string> PackageNames::* manager);
  void search_mpi(const std::string& directory, const std::vector<std::string>& files,
                  const Installed* package);
  void search_named(const std::string& directory, const std::vector<std::string>& files,
                    const LibraryName& name, const Installed* package, std::vector<Named>& list);
  bool is_library(const std::string& path) const {
    return loader::is_elf_for(machine_.start_of(path, loader::elf_start), description_.arch);
  }

  const Machine& machine_;
  const bool mpi_versions_;
  SystemDescription& description_;
  std::set<std::string> directories_; // by identity
  std::set<std::string> found_;       // names of libraries outside trees
};

void LibraryProbe::search_mpi(const std::string& directory, const std::vector<std::string>& files,
                              const Installed* package) {
  std::set<std::string> abis; // of this directory
  for (const MpiName& name : Names::get().mpi)
    for (auto file =
             std::lower_bound(files.begin(), files.end(), name.soname.substr(0, name.soname.find('*')));
         file != files.end() && file->starts_with(name.soname.substr(0, name.soname.find('*'))); ++file) {
      if (fnmatch(name.soname.c_str(), file->c_str(), 0) != 0 || abis.count(name.abi) ||
          !is_library(directory + "/" + *file))
        continue;
      abis.insert(name.abi);
      Mpi mpi{name.implementation, "", name.abi, directory, directory + "/" + *file};
      Version version;
      if (package)
        version = {package->version, package->evidence};
      else if (mpi_versions_)
        version = mpi_version(machine_, directory, *file, name);
      mpi.version = version.number;
      if (!version.evidence.empty() && !version.evidence.starts_with(mpi.evidence + ","))
        mpi.evidence += "; version: " + version.evidence;
      else if (!version.evidence.empty())
        mpi.evidence = version.evidence;
      description_.mpi.push_back(std::move(mpi));
    }
}

void LibraryProbe::search_named(const std::string& directory, const std::vector<std::string>& files,
                                const LibraryName& name, const Installed* package, std::vector<Named>& list) {
  if (!package && found_.count(name.name))
    return;
  // The longest name is that of the file itself.
  std::string best;
  for (auto file = std::lower_bound(files.begin(), files.end(), name.file);
       file != files.end() && file->starts_with(name.file); ++file)
    if ((file->size() == name.file.size() || (*file)[name.file.size()] == '.') && file->size() > best.size())
      best = *file;
  if (best.empty() || !is_library(directory + "/" + best))
    return;
  if (!package)
    found_.insert(name.name);
  Version version;
  if (name.release)
    version = {version_in_name(best, name.file), directory + "/" + best};
  if (version.number.empty() && package && name.of_package)
    version = {package->version, package->evidence};
  if (version.number.empty())
    version = pkgconfig_version(machine_, directory, name.pkgconfig);
  if (version.number.empty())
    version.evidence = package ? package->evidence : "";
  list.push_back({name.name, version.number, directory + "/" + best, version.evidence});
}

void LibraryProbe::search(const std::string& directory, const Installed* package,
                          const std::vector<std::string> PackageNames::* manager) {
  const std::string identity = machine_.identity(directory);
  if (identity.empty() || !directories_.insert(identity).second)
    return;
  const std::vector<std::string> files = machine_.entries(directory);
  const auto has = [&](const PackageNames& names) {
    return !package || std::count((names.*manager).begin(), (names.*manager).end(), package->package);
  };
  if (has(Names::get().mpi_packages))
    search_mpi(directory, files, package);
  for (const LibraryName& name : Names::get().libraries)
    if (has(name.packages))
      search_named(directory, files, name, package, description_.libraries);
  for (const LibraryName& name : Names::get().fabrics)
    if (has(name.packages))
      search_named(directory, files, name, package, description_.fabrics);
}

void LibraryProbe::search(const Installed& installed) {
  const auto manager =
      installed.evidence.ends_with("index.json") ? &PackageNames::spack : &PackageNames::easybuild;
  for (const std::string& below : Names::get().below_prefix)
    search(installed.prefix + "/" + below, &installed, manager);
}

std::vector<std::string> known_packages(const std::vector<std::string> PackageNames::* manager) {
  const Names& names = Names::get();
  std::vector<std::string> packages = names.mpi_packages.*manager;
  for (const auto* list : {&names.libraries, &names.fabrics})
    for (const LibraryName& name : *list)
      packages.insert(packages.end(), (name.packages.*manager).begin(), (name.packages.*manager).end());
  return packages;
}

} // namespace

void probe_libraries(const Machine& machine, const std::vector<std::string>& directories, bool mpi_versions,
                     SystemDescription& description) {
  LibraryProbe probe(machine, mpi_versions, description);
  for (const std::string& directory : directories)
    probe.search(directory);
  for (const Installed& installed : spack_installed(machine, known_packages(&PackageNames::spack)))
    probe.search(installed);
  for (const Installed& installed : easybuild_installed(machine, known_packages(&PackageNames::easybuild)))
    probe.search(installed);
  for (const FabricDevice& device : Names::get().fabric_devices)
    for (const std::string& entry : machine.entries(device.directory))
      description.fabrics.push_back({device.name, "", device.directory + "/" + entry, ""});
}

} // namespace xaas::system
