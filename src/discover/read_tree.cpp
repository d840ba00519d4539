#include "readers/readers.h"

#include <xaas/base/process.h>
#include <xaas/discover/discover.h>

#include <algorithm>
#include <regex>

namespace xaas::discover {

namespace {

struct Found {
  spec::BuildSystem system;
  std::string directory;
};

using System = spec::BuildSystem;
using FilesOfSystems = std::vector<std::pair<System, std::vector<const char*>>>;

// In the order in which a system is preferred.
const FilesOfSystems& files_of_systems() {
  static const FilesOfSystems files = {{System::cmake, {"CMakeLists.txt"}},
                                       {System::meson, {"meson.build"}},
                                       {System::autotools, {"configure.ac", "configure.in", "configure"}},
                                       {System::make, {"Makefile", "makefile", "GNUmakefile"}}};
  return files;
}

bool has_any(const TreeFiles& tree, const std::string& directory, const std::vector<const char*>& names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return tree.has(directory.empty() ? name : directory + "/" + name);
  });
}

// The directories with a file of the system nearest to the top, and how many files lie directly in each.
// Those of tests, examples and documentation are left out.
std::map<std::string, size_t> nearest_directories(const TreeFiles& tree,
                                                  const std::vector<const char*>& names) {
  constexpr std::ptrdiff_t deepest = 3;
  std::map<std::string, size_t> found;
  std::ptrdiff_t level = deepest + 1;
  for (const std::string& path : tree.paths()) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || is_for_developers(path))
      continue;
    const std::ptrdiff_t depth = std::count(path.begin(), path.end(), '/');
    const std::string directory = path.substr(0, slash);
    if (depth > level || !has_any(tree, directory, names))
      continue;
    if (depth < level)
      found.clear();
    level = depth;
    ++found[directory];
  }
  return found;
}

// At the top, or else in a directory that projects use for it, or else in the one nearest to the top; of
// several, the one with most files.
std::optional<Found> find_system(const TreeFiles& tree, std::optional<System> wanted) {
  for (const std::vector<std::string>& directories :
       {std::vector<std::string>{""}, {"src", "cmake", "source", "build/cmake"}})
    for (const auto& [system, names] : files_of_systems())
      for (const std::string& directory : directories)
        if ((!wanted || *wanted == system) && has_any(tree, directory, names))
          return Found{system, directory};
  for (const auto& [system, names] : files_of_systems()) {
    if (wanted && *wanted != system)
      continue;
    const std::map<std::string, size_t> directories = nearest_directories(tree, names);
    const auto best = std::max_element(directories.begin(), directories.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best != directories.end())
      return Found{system, best->first};
  }
  return std::nullopt;
}

// Releases unpack into "solver-2.1", which names a project that does not name itself.
void name_by_directory(const std::string& directory, Findings& findings) {
  static const std::regex release(R"((.+?)[-_]v?([0-9]+(?:\.[0-9][\w.+~]*)+))");
  std::smatch match;
  const bool is_release = std::regex_match(directory, match, release);
  findings.name = is_release ? match[1].str() : directory;
  if (is_release && findings.version.empty())
    findings.version = match[2];
}

} // namespace

Result<Findings> read_tree(const fs::path& root, std::optional<spec::BuildSystem> system,
                           const Limits& limits) {
  XAAS_TRY(const TreeFiles tree, TreeFiles::list(root, limits));
  Findings findings;
  if (!tree.complete())
    findings.notes.push_back("the tree has more than " + std::to_string(limits.files) +
                             " files; the others are not read");
  if (tree.too_deep())
    findings.notes.push_back("the tree has directories more than 64 levels deep; they are not read");
  if (const std::optional<Found> found = find_system(tree, system)) {
    findings.system = found->system;
    findings.directory = found->directory;
  }
  if (!findings.system && system)
    return make_error(ErrorKind::not_found,
                      "source tree " + root.string() + ": has no build with " + spec::to_string(*system));
  if (!findings.system) {
    findings.notes.push_back("the tree has no known build system (CMake, Meson, Autotools, make)");
    const auto other = std::find_if(tree.paths().begin(), tree.paths().end(), [](const std::string& path) {
      return is_makefile(path) && path.find('/') == std::string::npos &&
             (path.starts_with("Makefile.") || path.starts_with("makefile."));
    });
    if (other != tree.paths().end())
      findings.other_makefile = *other;
  } else {
    switch (*findings.system) {
    case spec::BuildSystem::cmake:
      read_cmake(tree, limits, findings);
      read_cmake_presets(tree, findings);
      break;
    case spec::BuildSystem::meson:
      read_meson(tree, findings);
      break;
    case spec::BuildSystem::autotools:
      read_autotools(tree, findings);
      break;
    case spec::BuildSystem::make:
    case spec::BuildSystem::commands:
      read_make(tree, findings);
      break;
    }
  }
  take_values_from_help(findings);
  read_license(tree, findings);
  read_sources(tree, limits, findings);
  XAAS_CHECK(check_interrupt());
  size_t named = 0;
  for (const std::string& path : tree.unread())
    if (constexpr size_t most = 20; named++ < most)
      findings.notes.push_back(path + ": not read, because it is binary, unreadable or larger than " +
                               std::to_string(limits.file_bytes >> 20) + " MiB");
  if (findings.name.empty())
    name_by_directory(tree.root().filename().string(), findings);
  return findings;
}

Error no_build_system(const fs::path& tree, const Findings& findings, const std::string& problem) {
  const std::string hint =
      findings.other_makefile.empty()
          ? "xaas knows CMake, Meson, Autotools and make; for others, write a spec with \"system\": "
            "\"commands\""
          : "for makefiles with other names, such as " + findings.other_makefile +
                ", write a spec with \"system\": \"make\" and \"arguments\": [\"-f\", FILE]";
  return make_error(ErrorKind::not_found, "source tree " + tree.string() + ": " + problem,
                    hint + " (docs/application-spec.md)");
}

} // namespace xaas::discover
