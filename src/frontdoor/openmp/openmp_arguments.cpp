#include "openmp/openmp_arguments.h"
#include "arguments.h"
#include "driver_words.h"
#include "hip/hip_arguments.h"

#include <xaas/base/text.h>
#include <xaas/link/replay.h>

#include <clang/Options/Options.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

std::string joined_value(const std::vector<std::string>& arguments,
                         std::initializer_list<std::string_view> options) {
  std::string value;
  for (const std::string& argument : arguments)
    for (const std::string_view option : options)
      if (argument.starts_with(option))
        value = argument.substr(option.size());
  return value;
}

// Unpacks the members of LLVM's archive, which are bitcode, into files of the session.
Result<std::vector<fs::path>> members_of(const session::Session& session, const fs::path& archive) {
  XAAS_TRY(const std::vector<link::ArchiveMember> members, link::read_archive(archive));
  const fs::path directory = session.directory / "openmp-device";
  XAAS_CHECK(make_directories(directory));
  std::vector<fs::path> files;
  for (const link::ArchiveMember& member : members) {
    files.push_back(directory /
                    (std::to_string(files.size()) + "-" + fs::path(member.name).filename().string()));
    std::error_code code;
    if (!fs::exists(files.back(), code))
      XAAS_CHECK(write_file(files.back(), member.content, 0644, false));
  }
  return files;
}

Result<std::vector<fs::path>> runtime_library(const session::Session& session,
                                              const std::vector<std::string>& arguments) {
  std::error_code code;
  fs::path given =
      joined_value(arguments, {"--libomptarget-amdgpu-bc-path=", "--libomptarget-amdgcn-bc-path="});
  if (fs::is_regular_file(given, code))
    return std::vector<fs::path>{given};
  const fs::path archive =
      session.clang.parent_path().parent_path() / "lib" / "amdgcn-amd-amdhsa" / "libompdevice.a";
  if (given.empty() && fs::exists(archive, code))
    return members_of(session, archive);
  return make_error(ErrorKind::missing_tool,
                    "OpenMP's run-time library for AMD's GPUs does not exist: " +
                        (given.empty() ? archive : given).string(),
                    "name one with --libomptarget-amdgpu-bc-path=FILE, or link without it (-nogpulib)");
}

// The libraries that HIP's own compiles link, with the default floating-point settings, which OpenMP cannot
// change.
Result<std::vector<fs::path>> amd_libraries(const session::Session& session, const std::string& arch,
                                            const std::string& version) {
  if (session.rocm.bitcode.empty())
    return make_error(ErrorKind::missing_tool, "AMD's device libraries are not installed",
                      "Debian has them in rocm-device-libs");
  const bool wave64 = wavefront_size(arch, false) == 64;
  std::vector<fs::path> files;
  for (const std::string& name :
       {std::string("ocml"), std::string("ockl"), std::string("oclc_daz_opt_off"),
        std::string("oclc_unsafe_math_off"), std::string("oclc_finite_only_off"),
        std::string("oclc_correctly_rounded_sqrt_on"),
        std::string(wave64 ? "oclc_wavefrontsize64_on" : "oclc_wavefrontsize64_off"),
        "oclc_isa_version_" + arch.substr(3), "oclc_abi_version_" + version + "00"}) {
    files.push_back(session.rocm.bitcode / (name + ".bc"));
    std::error_code code;
    // ROCm 7 no longer has the library for square roots.
    if (!fs::exists(files.back(), code) && name.starts_with("oclc_correctly"))
      files.pop_back();
    else if (!fs::exists(files.back(), code))
      return make_error(ErrorKind::missing_tool, "AMD's device libraries have no " +
                                                     files.back().filename().string() + " (in " +
                                                     session.rocm.bitcode.string() + ")");
  }
  return files;
}

} // namespace

bool names_gpus_for_openmp(const std::vector<std::string>& arguments) {
  using namespace clang::options;
  const std::vector<DriverOption> options = parse_driver(arguments);
  return has_option(options, OPT_offload_arch_EQ) &&
         (has_option(options, OPT_fopenmp) || has_option(options, OPT_fopenmp_EQ));
}

std::vector<std::string> openmp_options(const session::Session& session,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> options;
  if (session.rocm.bitcode.empty() || has_word(arguments, "-nogpulib"))
    return options;
  options = {"--start-no-unused-arguments", "--rocm-device-lib-path=" + session.rocm.bitcode.string()};
  if (joined_value(arguments, {"-mcode-object-version="}).empty())
    options.push_back("-mcode-object-version=" + code_object_version(session.rocm));
  options.emplace_back("--end-no-unused-arguments");
  return options;
}

Result<std::vector<std::string>> with_openmp_libraries(const session::Session& session,
                                                       const std::vector<std::string>& arguments,
                                                       std::vector<std::string> command) {
  if (!word_after(command, "-triple").value_or("").starts_with("amdgcn") ||
      !has_word(command, "-fopenmp-is-target-device") || has_word(arguments, "-nogpulib"))
    return command;
  XAAS_TRY(std::vector<fs::path> libraries, runtime_library(session, arguments));
  XAAS_TRY(const std::vector<fs::path> of_amd,
           amd_libraries(session, word_after(command, "-target-cpu").value_or(""),
                         joined_value(command, {"-mcode-object-version="})));
  libraries.insert(libraries.end(), of_amd.begin(), of_amd.end());
  for (const fs::path& library : libraries)
    command.insert(command.end(), {"-mlink-builtin-bitcode", library.string()});
  return command;
}

} // namespace xaas::frontdoor
