// What old versions of CMake do not know of flang.
#pragma once

#include <xaas/project/project.h>

#include <string>
#include <vector>

namespace xaas::project {

// The arguments for CMake that give flang its flags of build types. Before 3.27.4, CMake has none for the
// compiler LLVMFlang, so `Release` would compile without optimization. Whatever CMake, a toolchain file, the
// project or an argument sets has precedence. Writes a file into the build directory, to which the arguments
// refer. Without a Fortran compiler there are none.
Result<std::vector<std::string>> cmake_fortran_arguments(const ConfigurationBuild& build);

} // namespace xaas::project
