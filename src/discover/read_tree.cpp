#include "readers.h"

#include <algorithm>

namespace xaas::discover {

namespace {

std::optional<spec::BuildSystem> system_of(const TreeFiles& tree) {
  if (tree.has("CMakeLists.txt"))
    return spec::BuildSystem::cmake;
  if (tree.has("meson.build"))
    return spec::BuildSystem::meson;
  for (const char* file : {"configure.ac", "configure.in", "configure", "src/configure.ac", "src/configure"})
    if (tree.has(file))
      return spec::BuildSystem::autotools;
  for (const char* file : {"Makefile", "makefile", "GNUmakefile"})
    if (tree.has(file))
      return spec::BuildSystem::make;
  return std::nullopt;
}

} // namespace

Result<Findings> read_tree(const fs::path& root, std::optional<spec::BuildSystem> system, const Limits& limits) {
  XAAS_TRY(const TreeFiles tree, TreeFiles::list(root, limits));
  Findings findings;
  if (!tree.complete())
    findings.notes.push_back("the tree has more than " + std::to_string(limits.files) +
                             " files; the others are not looked at");
  findings.system = system ? system : system_of(tree);
  if (!findings.system) {
    findings.notes.push_back("no build system is known that this tree has: CMake, Meson, Autotools, make");
  } else {
    switch (*findings.system) {
    case spec::BuildSystem::cmake:
      read_cmake(tree, limits, findings);
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
  read_sources(tree, limits, findings);
  if (findings.name.empty())
    findings.name = tree.root().filename().string();
  return findings;
}

} // namespace xaas::discover
