#include <xaas/project/compilers.h>

#include <xaas/base/text.h>

namespace xaas::project {

namespace {

Result<fs::path> find_compiler(const FindProgram& find, const std::string& wanted,
                               const std::vector<std::string>& usual, const char* language) {
  if (!wanted.empty()) {
    if (const auto found = find(wanted))
      return *found;
    return make_error(ErrorKind::missing_tool, "the toolchain has no " + wanted +
                                                   ", which the spec names as its compiler for " + language);
  }
  for (const std::string& name : usual)
    if (const auto found = find(name))
      return *found;
  return fs::path();
}

} // namespace

std::vector<std::string> directories_of(const std::string& path) {
  std::vector<std::string> directories = split(path, ':');
  std::erase_if(directories, [](const std::string& directory) { return !directory.starts_with("/"); });
  return directories;
}

std::vector<std::string> program_places(const std::string& name,
                                        const std::vector<std::string>& directories) {
  if (name.find('/') != std::string::npos)
    return {name};
  std::vector<std::string> places;
  for (const std::string& directory : directories)
    places.push_back(directory + "/" + name);
  return places;
}

Result<CompilerPaths> find_compilers(const spec::Toolchain& toolchain, const FindProgram& find) {
  CompilerPaths found;
  XAAS_TRY(found.c, find_compiler(find, toolchain.c, {"gcc", "clang", "cc"}, "C"));
  XAAS_TRY(found.cxx, find_compiler(find, toolchain.cxx, {"g++", "clang++", "c++"}, "C++"));
  XAAS_TRY(found.fortran,
           find_compiler(find, toolchain.fortran, {"gfortran", "flang", "flang-new"}, "Fortran"));
  return found;
}

Error no_compiler() {
  return make_error(ErrorKind::missing_tool, "the toolchain has no compiler: neither gcc nor clang",
                    "add one to the spec's `toolchain`, or name it there in `compilers`");
}

} // namespace xaas::project
