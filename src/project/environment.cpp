#include "environment.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <string_view>

extern char** environ;

namespace xaas::project {

namespace {

// Variables from which compilers, linkers and build tools take options: the caller's shell must not decide
// what goes into an image. A spec that needs one sets it.
constexpr std::array unwanted = {
    // compilers and their options, for make and configure
    "CC", "CXX", "FC", "F77", "F90", "CPP", "CXXCPP", "AR", "AS", "LD", "NM", "RANLIB", "STRIP", "OBJCOPY",
    "MPICH_CC", "MPICH_CXX", "MPICH_FC", "MPICH_F77", "MPICH_F90", "OMPI_CC", "OMPI_CXX", "OMPI_FC",
    "OMPI_F77", "OMPI_F90", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "FFLAGS", "FCFLAGS", "ASFLAGS", "ARFLAGS",
    "LDFLAGS", "LDLIBS", "LIBS", "CUDACXX", "CUDAHOSTCXX", "CUDAARCHS", "CUDAFLAGS", "NVCC_CCBIN",
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "HIPCXX", "HIPFLAGS", "HIPHOSTCXX", "HIP_PLATFORM",
    "HIP_CLANG_PATH", "HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND",
    // variables that compilers read themselves
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH",
    "GCC_EXEC_PREFIX", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "CCC_OVERRIDE_OPTIONS", "LD_RUN_PATH",
    // make
    "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MAKELEVEL", "MAKEOVERRIDES", "DESTDIR", "PREFIX",
    // CMake
    "CMAKE_GENERATOR", "CMAKE_GENERATOR_PLATFORM", "CMAKE_GENERATOR_TOOLSET", "CMAKE_BUILD_TYPE",
    "CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_CONFIG_TYPE", "CMAKE_CONFIGURATION_TYPES", "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_INSTALL_PREFIX", "CMAKE_INSTALL_MODE", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_Fortran_COMPILER_LAUNCHER", "CMAKE_C_LINKER_LAUNCHER", "CMAKE_CXX_LINKER_LAUNCHER",
    "CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_COLOR_DIAGNOSTICS",
    // shells and configure
    "CONFIG_SITE", "CONFIG_SHELL", "BASH_ENV", "ENV", "CDPATH",
    // directories of the caller, outside the build's HOME
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"};

bool wanted(std::string_view name) {
  if (starts_with(name, "CCACHE_") || starts_with(name, "DISTCC_") || starts_with(name, "SCCACHE_") ||
      starts_with(name, "ICECC"))
    return false;
  return std::find(unwanted.begin(), unwanted.end(), name) == unwanted.end();
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos && wanted(text.substr(0, equals)))
      result[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return result;
}

} // namespace

// The compiler wrappers of MPICH and Open MPI run the compilers that they were configured with unless these
// are set (mpicc(1) of both).
static void use_compilers_in_mpi_wrappers(std::map<std::string, std::string>& environment) {
  for (const auto& [wrapper, compiler] :
       {std::pair{"CC", "CC"}, std::pair{"CXX", "CXX"}, std::pair{"FC", "FC"}, std::pair{"F77", "FC"},
        std::pair{"F90", "FC"}})
    for (const std::string family : {"MPICH_", "OMPI_"})
      if (environment.count(compiler))
        environment[family + wrapper] = environment[compiler];
}

std::vector<std::string> pkg_config_directories(const ConfigurationBuild& build) {
  const std::string multiarch = build.arch + "-linux-gnu";
  std::vector<std::string> libraries = {"/usr/lib/" + multiarch, "/usr/" + multiarch + "/lib"};
  if (!build.sysroot.empty())
    libraries = {"/usr/lib/" + multiarch, "/usr/lib64", "/usr/lib"};
  libraries.emplace_back("/usr/share");
  for (std::string& directory : libraries)
    directory = build.sysroot.string() + directory + "/pkgconfig";
  return libraries;
}

std::map<std::string, std::string> build_environment(const ConfigurationBuild& build) {
  std::map<std::string, std::string> result = build.place ? build.place->environment() : own_environment();
  if (!build.place)
    result["CCACHE_DISABLE"] = "1"; // a compiler cache in front of the front door would hide compiles from it
  result.erase("LANGUAGE");
  result["LC_ALL"] = "C";                  // sort orders and messages influence some builds
  result["PYTHONDONTWRITEBYTECODE"] = "1"; // importing a script would leave bytecode among the sources
  if (!build.home.empty()) {
    // Programs installed with `pip --user` (Meson, CMake) still find their modules.
    if (const std::string own = result["HOME"]; !own.empty())
      result.emplace("PYTHONUSERBASE", (fs::path(own) / ".local").string());
    result["HOME"] = (build.place ? build.place->inside(build.home) : build.home).string();
  }

  if (build.is_cross_build()) {
    result["PKG_CONFIG_LIBDIR"] = join(pkg_config_directories(build), ":"); // not this machine's
    if (!build.sysroot.empty())
      result["PKG_CONFIG_SYSROOT_DIR"] = build.sysroot.string();
  }
  for (const auto& [name, value] : build.application->build.environment)
    result[name] = value;
  for (const auto& [name, value] : build.environment)
    result[name] = value;

  result["CC"] = build.tools.c_compiler.string();
  result["CXX"] = build.tools.cxx_compiler.string();
  if (!build.tools.fortran_compiler.empty())
    for (const char* name : {"FC", "F77", "F90"})
      result[name] = build.tools.fortran_compiler.string();
  if (!build.place) // for Clang's CUDA and HIP; a toolchain of the place may have nvcc and hipcc
    result["CUDACXX"] = result["HIPCXX"] = result["CXX"];
  // CMake wants numbers (CMAKE_CUDA_ARCHITECTURES), and its default does not suit every toolkit.
  for (const std::string& gpu : build.gpus)
    if (gpu.starts_with("sm_"))
      result["CUDAARCHS"] += (result["CUDAARCHS"].empty() ? "" : ";") + gpu.substr(3);
  use_compilers_in_mpi_wrappers(result);
  const auto put_first = [&result](const fs::path& directory) {
    std::string& path = result["PATH"];
    path = directory.string() + (path.empty() ? "" : ":" + path);
  };
  if (!build.tools.cuda.empty()) {
    put_first(build.tools.cuda / "bin");
    for (const char* name : {"CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_DIR", "CUDADIR",
                             "CUDA_TOOLKIT_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDAToolkit_ROOT"})
      if (result.contains(name))
        result[name] = build.tools.cuda.string();
    // CMake's FindCUDA prefers this variable to everything else that it is told about the toolkit.
    result["CUDA_NVCC_EXECUTABLE"] = (build.tools.cuda / "bin" / "nvcc").string();
  }
  if (!build.tools.rocm.empty()) {
    put_first(build.tools.rocm / "bin");
    result["ROCM_PATH"] = build.tools.rocm.string(); // for Clang, which CMake asks where HIP is
    if (result.contains("HIP_PATH"))
      result["HIP_PATH"] = build.tools.rocm.string();
  }
  if (!build.tools.directory.empty())
    put_first(build.tools.directory);
  return result;
}

} // namespace xaas::project
