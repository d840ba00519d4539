#include "in_copy.h"

namespace xaas::project {

namespace {

bool newer(const fs::path& left, const fs::path& right) {
  std::error_code code;
  const fs::file_time_type one = fs::last_write_time(left, code);
  if (code)
    return false;
  const fs::file_time_type other = fs::last_write_time(right, code);
  return !code && one > other;
}

// Whether the file that Autotools generates from this one is older. Its makefiles would then generate it
// again, next to it.
bool outdates(const fs::path& input, const fs::path& macros) {
  const fs::path directory = input.parent_path();
  const std::string name = input.filename().string();
  if (name == "Makefile.am")
    return newer(input, directory / "Makefile.in");
  if (name == "configure.ac" || name == "configure.in")
    return newer(input, directory / "configure") || newer(input, directory / "aclocal.m4");
  if (name == "aclocal.m4")
    return newer(input, directory / "configure");
  return input.extension() == ".m4" && newer(input, macros);
}

// A script that Autoconf made can be run in another directory; many others cannot.
bool is_made_by_autoconf(const fs::path& configure) {
  constexpr size_t header = 4096;
  const Result<std::string> text = read_file(configure);
  return text && std::string_view(*text).substr(0, header).find("Autoconf") != std::string_view::npos;
}

// Whether Autotools would write into the tree.
bool needs_regeneration(const fs::path& source) {
  if (!present(source / "configure"))
    return true;
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(source, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    if (it->path().filename() == ".git")
      it.disable_recursion_pending();
    else if (outdates(it->path(), source / "aclocal.m4"))
      return true;
  }
  return false;
}

bool must_build_in_tree(const fs::path& top) {
  return needs_regeneration(top) || !is_made_by_autoconf(top / "configure");
}

} // namespace

bool present(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code);
}

fs::path top_of(const fs::path& source, const spec::Build& build) {
  return build.directory.empty() ? source : source / build.directory;
}

bool builds_in_copy(const ConfigurationBuild& build) {
  switch (build.application->build.system) {
  case spec::BuildSystem::make:
  case spec::BuildSystem::commands:
    return true;
  case spec::BuildSystem::autotools:
    return build.application->build.copy ||
           must_build_in_tree(top_of(build.source, build.application->build));
  case spec::BuildSystem::cmake:
  case spec::BuildSystem::meson:
    break;
  }
  return false;
}

fs::path compiled_source(const ConfigurationBuild& build) {
  if (builds_in_copy(build))
    return build.build;
  return build.application->build.copy ? build.copy : build.source;
}

} // namespace xaas::project
