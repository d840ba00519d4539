// Which compilers of a toolchain build a source image. The rule is the same when the image is made and when
// it is deployed.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xaas::project {

// PATH if nothing else sets it.
inline constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The directories of a PATH that are absolute, and so mean the same everywhere.
std::vector<std::string> directories_of(const std::string& path);

// Where a program with this name, which may be a path, is looked for, in order.
std::vector<std::string> program_places(const std::string& name, const std::vector<std::string>& directories);

using FindProgram = std::function<std::optional<fs::path>(const std::string& name)>;

struct CompilerPaths {
  fs::path c, cxx, fortran; // empty: there is none
};

// The compilers that the toolchain names, else gcc, g++ and gfortran, else clang, clang++ and flang.
// missing_tool if a named one does not exist.
Result<CompilerPaths> find_compilers(const spec::Toolchain& toolchain, const FindProgram& find);

// The missing_tool error of a toolchain without a compiler for C and for C++.
Error no_compiler();

} // namespace xaas::project
