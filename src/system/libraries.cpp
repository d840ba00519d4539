// Libraries, by their files in the directories that the loader searches, in those of loaded modules and of
// LD_LIBRARY_PATH; compilers by their names on the search path; loaded environment modules.
//
// Sources: ld.so(8); environment modules and Lmod (LOADEDMODULES). An MPI's ABI is that of its library's
// soname: libmpi.so.12 is the MPICH ABI (MPICH ABI Compatibility Initiative), libmpi.so.40 that of Open MPI
// since 3.
#include "machine.h"
#include "names.h"
#include "program_version.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::system {

namespace {

// Directories of the loader's configuration, its own, and of the environment, each once, the environment's
// first.
std::vector<std::string> library_directories(const Machine& machine, const std::string& arch) {
  std::vector<std::string> directories = split(machine.environment("LD_LIBRARY_PATH"), ':');
  for (const std::string& name : machine.entries("/etc/ld.so.conf.d"))
    if (name.ends_with(".conf"))
      for (const std::string& line : split(machine.text("/etc/ld.so.conf.d/" + name), '\n'))
        if (const std::string directory = trim(line.substr(0, line.find('#'))); directory.starts_with("/"))
          directories.push_back(directory);
  const std::string multiarch = arch + "-linux-gnu";
  for (const std::string& directory :
       {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"), std::string("/usr/lib64"),
        std::string("/lib"), std::string("/usr/lib"), std::string("/usr/local/lib"),
        std::string("/opt/rocm/lib"), std::string("/usr/local/cuda/lib64")})
    directories.push_back(directory);
  std::vector<std::string> once;
  std::set<fs::path> seen; // /lib is /usr/lib
  for (const std::string& directory : directories) {
    std::error_code code;
    const fs::path real =
        directory.starts_with("/") ? fs::canonical(machine.path(directory), code) : fs::path();
    if (!code && !real.empty() && seen.insert(real).second)
      once.push_back(directory);
  }
  return once;
}

// The version that a library has in its text: "MPICH Version:\t4.0.2", "Open MPI v4.1.4".
std::string mpi_version(const Machine& machine, const std::string& path, const std::string& implementation) {
  const std::string content = machine.text(path);
  for (const std::string& mark :
       {implementation == "openmpi" ? std::string("Open MPI v") : std::string("MPICH Version:"),
        std::string("CRAY MPICH version "), std::string("Intel(R) MPI Library ")}) {
    const size_t at = content.find(mark);
    if (at == std::string::npos)
      continue;
    const std::string rest = trim(content.substr(at + mark.size(), 40));
    const std::string number = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (!number.empty())
      return number;
  }
  return {};
}

} // namespace

void probe_libraries(const Machine& machine, bool versions, SystemDescription& description) {
  const Names& names = Names::get();
  std::set<std::string> found, mpis;
  for (const std::string& directory : library_directories(machine, description.arch)) {
    const std::vector<std::string> files = machine.entries(directory);
    const auto has = [&](const std::string& name) {
      return std::binary_search(files.begin(), files.end(), name);
    };
    for (const MpiName& mpi : names.mpi)
      if (has(mpi.soname) && mpis.insert(mpi.abi + directory).second)
        description.mpi.push_back(
            {mpi.implementation,
             versions ? mpi_version(machine, directory + "/" + mpi.soname, mpi.implementation) : "", mpi.abi,
             directory});
    for (const auto& [known, list] : {std::pair{&names.libraries, &description.libraries},
                                      std::pair{&names.fabrics, &description.fabrics}})
      for (const LibraryName& library : *known) {
        if (found.count(library.name))
          continue;
        // The longest name is the file itself.
        std::string best;
        for (auto file = std::lower_bound(files.begin(), files.end(), library.file);
             file != files.end() && file->starts_with(library.file); ++file)
          if ((file->size() == library.file.size() || (*file)[library.file.size()] == '.') &&
              file->size() > best.size())
            best = *file;
        if (best.empty())
          continue;
        found.insert(library.name);
        // The number in its name is that of its interface, not of its release.
        list->push_back({library.name, "", directory + "/" + best});
      }
  }
  for (const std::string& module : split(machine.environment("LOADEDMODULES"), ':'))
    if (!module.empty())
      description.modules.push_back(module);
}

void probe_compilers(const Machine& machine, bool versions, SystemDescription& description) {
  std::vector<std::vector<std::string>> commands;
  for (const std::string& name : Names::get().compilers)
    if (const std::optional<fs::path> path = machine.find_program(name)) {
      description.compilers.push_back({name, "", path->string()});
      commands.push_back({path->string(), "--version"});
    }
  if (!versions)
    return;
  const std::vector<std::string> found = program_versions(commands);
  for (size_t i = 0; i < found.size(); ++i)
    description.compilers[i].version = found[i];
}

} // namespace xaas::system
