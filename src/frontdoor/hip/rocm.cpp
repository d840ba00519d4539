#include "hip/rocm.h"
#include "installed_toolkit.h"

#include <xaas/base/directory.h>
#include <xaas/target/cpu.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/MemoryBuffer.h>

#include <charconv>
#include <cstdlib>
#include <map>

namespace xaas::frontdoor {

namespace {

bool has_hip(const fs::path& root) {
  std::error_code code;
  return fs::is_regular_file(root / "include" / "hip" / "hip_runtime.h", code);
}

std::optional<unsigned> number_at_start(std::string_view text) {
  unsigned number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()
             ? std::optional(number)
             : std::nullopt;
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  Result<std::vector<fs::path>> entries = list_directory(directory);
  return entries ? *std::move(entries) : std::vector<fs::path>();
}

fs::path multiarch(const fs::path& root) {
  return root / "lib" / (target::host_arch() + "-linux-gnu");
}

// Since ROCm 7 and HIP 6 of Debian, the device libraries lie in the resource directory of the Clang that
// compiled them. The newest first that this LLVM can read, then those that it cannot, so that the error names
// one.
std::vector<fs::path> resource_directories(const fs::path& root) {
  std::map<unsigned, std::vector<fs::path>> by_version;
  std::vector<fs::path> installations = {root, root / "llvm"};
  for (const fs::path& entry : entries_of(root / "lib"))
    if (entry.filename().string().starts_with("llvm"))
      installations.push_back(entry);
  for (const fs::path& installation : installations)
    for (const fs::path& entry : entries_of(installation / "lib" / "clang"))
      if (const std::optional<unsigned> version = number_at_start(entry.filename().string()))
        by_version[*version].push_back(entry);
  std::vector<fs::path> directories;
  const auto newer = by_version.upper_bound(LLVM_VERSION_MAJOR);
  for (auto known = newer; known != by_version.begin();) {
    --known;
    directories.insert(directories.end(), known->second.begin(), known->second.end());
  }
  for (auto known = newer; known != by_version.end(); ++known)
    directories.insert(directories.end(), known->second.begin(), known->second.end());
  return directories;
}

fs::path find_bitcode(const fs::path& root) {
  std::vector<fs::path> places;
  if (const char* path = std::getenv("HIP_DEVICE_LIB_PATH"); path && fs::path(path).is_absolute())
    places.emplace_back(path);
  for (const fs::path& directory : {root, root / "lib", multiarch(root)})
    places.push_back(directory / "amdgcn" / "bitcode");
  for (const fs::path& directory : resource_directories(root))
    for (const fs::path& above : {directory, directory / "lib"})
      places.push_back(above / "amdgcn" / "bitcode");
  for (const fs::path& place : places) {
    std::error_code code;
    if (fs::is_regular_file(place / "ocml.bc", code))
      return place;
  }
  return {};
}

Result<void> link_if_missing(const fs::path& destination, const fs::path& link) {
  std::error_code code;
  if (!fs::exists(destination, code) || fs::exists(fs::symlink_status(link, code)))
    return {};
  XAAS_CHECK(make_directories(link.parent_path()));
  fs::create_symlink(destination, link, code);
  return code ? Result<void>(errno_error(code.value(), "creating " + link.string())) : Result<void>();
}

// Links the entries of `directory` that are not linked yet.
Result<void> link_entries(const fs::path& directory, const fs::path& shadow) {
  std::error_code code;
  if (!fs::is_directory(directory, code))
    return {};
  XAAS_TRY(const std::vector<fs::path> entries, list_directory(directory));
  for (const fs::path& entry : entries)
    XAAS_CHECK(link_if_missing(entry, shadow / entry.filename()));
  return {};
}

// Links a distribution's HIP packages, which share /usr with all others. Only HIP's own files are linked, so
// that no build mistakes the directory for all of /usr.
Result<void> link_packages(const session::Rocm& rocm, const fs::path& shadow) {
  const fs::path libraries = multiarch(rocm.root);
  for (const char* name : {"hip", "hsa"})
    XAAS_CHECK(link_if_missing(rocm.root / "include" / name, shadow / "include" / name));
  for (const fs::path& cmake : {rocm.root / "lib" / "cmake", libraries / "cmake"})
    for (const char* name : {"hip", "hip-lang", "hsa-runtime64", "amd_comgr", "AMDDeviceLibs"})
      XAAS_CHECK(link_if_missing(cmake / name, shadow / "lib" / "cmake" / name));
  for (const char* name : {"libamdhip64.so", "libhsa-runtime64.so.1"})
    XAAS_CHECK(link_if_missing(libraries / name, shadow / "lib" / name));
  for (const char* name : {"hipconfig", "rocm_agent_enumerator", "rocminfo"})
    XAAS_CHECK(link_if_missing(rocm.root / "bin" / name, shadow / "bin" / name));
  return link_if_missing(rocm.root / "share" / "hip", shadow / "share" / "hip");
}

} // namespace

session::Rocm find_rocm() {
  for (const fs::path& place : toolkit_places({"ROCM_PATH", "HIP_PATH"}, "hipcc", {"/opt/rocm", "/usr"}))
    if (has_hip(place))
      return {place, find_bitcode(place)};
  return {};
}

Result<void> shadow_rocm(const session::Session& session, const fs::path& program) {
  const fs::path shadow = session.directory / "rocm";
  XAAS_CHECK(link_if_missing(program, shadow / "bin" / "hipcc"));
  if (!session.rocm.bitcode.empty())
    XAAS_CHECK(link_if_missing(session.rocm.bitcode, shadow / "amdgcn" / "bitcode"));
  if (session.rocm.root == "/usr") {
    XAAS_CHECK(link_packages(session.rocm, shadow));
  } else {
    XAAS_CHECK(link_entries(session.rocm.root / "bin", shadow / "bin"));
    XAAS_CHECK(link_entries(session.rocm.root, shadow));
  }
  // HIP's CMake package looks for Clang's own library relative to the compiler.
  return link_if_missing(session.clang.parent_path().parent_path() / "lib" / "clang",
                         session.directory / "lib" / "clang");
}

std::optional<unsigned> hip_version(const session::Rocm& rocm) {
  const std::optional<int64_t> major =
      defined_number(rocm.root / "include" / "hip" / "hip_version.h", "HIP_VERSION_MAJOR");
  return major ? std::optional(static_cast<unsigned>(*major)) : std::nullopt;
}

std::optional<unsigned> llvm_of_device_libraries(const session::Rocm& rocm) {
  const auto file = llvm::MemoryBuffer::getFile((rocm.bitcode / "ocml.bc").string());
  if (!file)
    return std::nullopt;
  llvm::Expected<std::string> producer = llvm::getBitcodeProducerString(**file);
  if (!producer) {
    llvm::consumeError(producer.takeError());
    return std::nullopt;
  }
  const std::string_view text = *producer;
  return text.starts_with("LLVM") ? number_at_start(text.substr(4)) : std::nullopt;
}

} // namespace xaas::frontdoor
