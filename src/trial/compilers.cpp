#include "compilers.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace xaas::trial {

namespace {

enum class Kind { none, c, cxx, fortran, wrapper };

// Compilers by their usual names, also with a version (gcc-12) and a directory.
Kind kind_of(const std::string& program) {
  static const std::map<std::string, Kind> kinds = {{"cc", Kind::c},
                                                    {"gcc", Kind::c},
                                                    {"clang", Kind::c},
                                                    {"icc", Kind::c},
                                                    {"icx", Kind::c},
                                                    {"pgcc", Kind::c},
                                                    {"nvc", Kind::c},
                                                    {"craycc", Kind::c},
                                                    {"c++", Kind::cxx},
                                                    {"g++", Kind::cxx},
                                                    {"clang++", Kind::cxx},
                                                    {"icpc", Kind::cxx},
                                                    {"icpx", Kind::cxx},
                                                    {"pgc++", Kind::cxx},
                                                    {"nvc++", Kind::cxx},
                                                    {"gfortran", Kind::fortran},
                                                    {"f77", Kind::fortran},
                                                    {"f90", Kind::fortran},
                                                    {"g77", Kind::fortran},
                                                    {"flang", Kind::fortran},
                                                    {"ifort", Kind::fortran},
                                                    {"ifx", Kind::fortran},
                                                    {"pgfortran", Kind::fortran},
                                                    {"nvfortran", Kind::fortran},
                                                    {"mpicc", Kind::wrapper},
                                                    {"mpicxx", Kind::wrapper},
                                                    {"mpic++", Kind::wrapper},
                                                    {"mpiCC", Kind::wrapper},
                                                    {"mpifort", Kind::wrapper},
                                                    {"mpif77", Kind::wrapper},
                                                    {"mpif90", Kind::wrapper},
                                                    {"nvcc", Kind::wrapper},
                                                    {"hipcc", Kind::wrapper}};
  static const std::regex version(R"(-?[0-9][0-9.]*$)");
  const std::string name = fs::path(program).filename();
  auto found = kinds.find(name);
  if (found == kinds.end())
    found = kinds.find(std::regex_replace(name, version, ""));
  return found == kinds.end() ? Kind::none : found->second;
}

// HOSTCC, BUILD_CC, CC_FOR_BUILD.
bool is_for_build(const std::string& variable) {
  const std::string name = to_lower(variable);
  return name.find("host") != std::string::npos || name.find("build") != std::string::npos ||
         name.find("native") != std::string::npos;
}

Kind compiler_of(const std::string& value) {
  return kind_of(value.substr(0, value.find_first_of(" \t")));
}

std::string replacement(Kind kind, const std::string& written) {
  const size_t end = written.find_first_of(" \t");
  const std::string rest = end == std::string::npos ? "" : written.substr(end);
  switch (kind) {
  case Kind::c:
    return "$(CC)" + rest;
  case Kind::cxx:
    return "$(CXX)" + rest;
  case Kind::fortran:
    return "$(FC)" + rest;
  default:
    return fs::path(written.substr(0, end)).filename().string() + rest;
  }
}

class Reader {
public:
  void read(const fs::path& file) {
    static const std::regex assignment(
        R"(^\s*(?:export\s+|override\s+)?([A-Za-z_]\w*)\s*[:?]?:?=\s*([^#]*?)\s*(?:#.*)?$)");
    const Result<std::string> text = read_file(file, 1u << 20);
    std::istringstream lines(text ? *text : "");
    std::string line;
    for (unsigned number = 1; std::getline(lines, line); ++number) {
      std::smatch match;
      const std::string start = line.substr(0, 300);
      if (starts_with(start, "\t") || !std::regex_match(start, match, assignment))
        continue;
      const std::string value = match[2];
      const Kind kind = compiler_of(value);
      if (is_for_build(match[1]) || (kind == Kind::none && !is_ours(match[1])))
        continue;
      found_[match[1]].push_back({match[1], value, replacement(kind, value),
                                  file.filename().string() + ":" + std::to_string(number)});
    }
  }

  std::vector<MakeCompiler> compilers() const {
    std::vector<MakeCompiler> result;
    for (const auto& [variable, all] : found_) {
      const bool equal = std::all_of(
          all.begin(), all.end(), [&](const MakeCompiler& each) { return each.value == all.front().value; });
      if (equal && (!is_ours(variable) || compiler_of(all.front().value) == Kind::wrapper))
        result.push_back(all.front());
    }
    return result;
  }

private:
  // Variables that xaas sets on make's command line.
  static bool is_ours(const std::string& variable) {
    return variable == "CC" || variable == "CXX" || variable == "FC";
  }

  std::map<std::string, std::vector<MakeCompiler>> found_;
};

} // namespace

std::vector<MakeCompiler> make_compilers(const fs::path& directory) {
  Reader reader;
  if (const Result<std::vector<fs::path>> entries = list_directory(directory))
    for (const fs::path& entry : *entries)
      if (discover::is_makefile(entry.filename()))
        reader.read(entry);
  return reader.compilers();
}

} // namespace xaas::trial
