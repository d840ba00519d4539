#include "readers/readers.h"

#include <xaas/base/process.h>

#include <algorithm>

namespace xaas::discover {

namespace {

struct Found {
  spec::BuildSystem system;
  std::string directory;
};

// At the top, or else in a directory that projects use for it.
std::optional<Found> find_system(const TreeFiles& tree, std::optional<spec::BuildSystem> wanted) {
  using System = spec::BuildSystem;
  static const std::vector<std::pair<System, std::vector<const char*>>> files = {
      {System::cmake, {"CMakeLists.txt"}},
      {System::meson, {"meson.build"}},
      {System::autotools, {"configure.ac", "configure.in", "configure"}},
      {System::make, {"Makefile", "makefile", "GNUmakefile"}}};
  for (const std::vector<std::string>& directories :
       {std::vector<std::string>{""}, {"src", "cmake", "source", "build/cmake"}})
    for (const auto& [system, names] : files)
      for (const std::string& directory : directories)
        for (const char* name : names)
          if ((!wanted || *wanted == system) && tree.has(directory.empty() ? name : directory + "/" + name))
            return Found{system, directory};
  return std::nullopt;
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
  read_sources(tree, limits, findings);
  XAAS_CHECK(check_interrupt());
  size_t named = 0;
  for (const std::string& path : tree.unread())
    if (constexpr size_t most = 20; named++ < most)
      findings.notes.push_back(path + ": not read, because it is binary, unreadable or larger than " +
                               std::to_string(limits.file_bytes >> 20) + " MiB");
  if (findings.name.empty())
    findings.name = tree.root().filename().string();
  return findings;
}

} // namespace xaas::discover
