// Which compilers of a toolchain build a source image: the same rule when the image is made and when it is
// deployed.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xaas::project {

// PATH where nobody says one.
inline constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Those directories of a PATH that mean the same wherever one is.
std::vector<std::string> directories_of(const std::string& path);

// Where a program of this name, which may be a path, is looked for, in order.
std::vector<std::string> program_places(const std::string& name, const std::vector<std::string>& directories);

using FindProgram = std::function<std::optional<fs::path>(const std::string& name)>;

struct CompilerPaths {
  fs::path c, cxx, fortran; // empty: there is none
};

// Those that the toolchain names, else gcc, g++ and gfortran, else clang, clang++ and flang. missing_tool:
// one that is named is not there.
Result<CompilerPaths> find_compilers(const spec::Toolchain& toolchain, const FindProgram& find);

// For a toolchain with a compiler neither for C nor for C++: missing_tool.
Error no_compiler();

} // namespace xaas::project
