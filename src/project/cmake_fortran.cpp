#include "cmake_fortran.h"

namespace xaas::project {

namespace {

// CMake includes the file that CMAKE_USER_MAKE_RULES_OVERRIDE_<LANG> names (cmake-variables(7)) after its own
// modules, and before it initializes CMAKE_Fortran_FLAGS_<CONFIG> from these variables. The flags are those
// of later versions; flang has no -Os, so MinSizeRel gets -O2.
constexpr const char* rules_variable = "CMAKE_USER_MAKE_RULES_OVERRIDE_Fortran";
constexpr const char* rules = R"(if(CMAKE_Fortran_COMPILER_ID STREQUAL "LLVMFlang")
  macro(xaas_default variable value)
    if("${${variable}}" STREQUAL "")
      set(${variable} "${value}")
    endif()
  endmacro()
  xaas_default(CMAKE_Fortran_FLAGS_DEBUG_INIT "-O0 -g")
  xaas_default(CMAKE_Fortran_FLAGS_RELEASE_INIT "-O3")
  xaas_default(CMAKE_Fortran_FLAGS_RELWITHDEBINFO_INIT "-O2 -g")
  xaas_default(CMAKE_Fortran_FLAGS_MINSIZEREL_INIT "-O2")
  xaas_default(CMAKE_Fortran_COMPILE_OPTIONS_PIC "-fPIC")
  xaas_default(CMAKE_Fortran_COMPILE_OPTIONS_PIE "-fPIE")
endif()
)";

} // namespace

Result<std::vector<std::string>> cmake_fortran_arguments(const ConfigurationBuild& build) {
  if (build.tools.fortran_compiler.empty())
    return std::vector<std::string>();
  const fs::path file = fs::absolute(build.build).lexically_normal() / "xaas-fortran.cmake";
  XAAS_CHECK(write_file(file, rules));
  return std::vector<std::string>{std::string("-D") + rules_variable + "=" +
                                  (build.place ? build.place->inside(file) : file).string()};
}

} // namespace xaas::project
