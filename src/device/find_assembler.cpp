#include "assembler_process.h"

#include <xaas/base/text.h>
#include <xaas/device/assembler.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace xaas::device {

namespace {

std::vector<fs::path> directories(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<fs::path> all;
  for (const std::string& part : split(value ? value : "", ':'))
    all.emplace_back(part);
  return all;
}

// "cuda-12.4" -> 12.4
std::optional<CudaRelease> release_in_name(const fs::path& directory) {
  constexpr std::string_view prefix = "cuda-";
  const std::string name = directory.filename().string();
  if (!name.starts_with(prefix))
    return std::nullopt;
  const Result<CudaRelease> release = parse_cuda_release(name.substr(prefix.size()));
  return release ? std::optional(*release) : std::nullopt;
}

// The toolkits besides the default one, the newest first.
std::vector<fs::path> versioned_toolkits(const fs::path& local) {
  std::vector<std::pair<CudaRelease, fs::path>> found;
  std::error_code code;
  for (fs::directory_iterator it(local, code), end; !code && it != end; it.increment(code))
    if (const std::optional<CudaRelease> release = release_in_name(it->path()))
      found.emplace_back(*release, it->path());
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> toolkits;
  for (auto& [release, path] : found)
    toolkits.push_back(std::move(path));
  return toolkits;
}

std::vector<fs::path> candidates(const AssemblerPlaces& places) {
  std::vector<fs::path> all;
  const auto add = [&](const fs::path& directory) {
    if (directory.is_absolute())
      all.push_back(directory / "ptxas");
  };
  for (const fs::path& directory : places.path)
    add(directory);
  std::vector<fs::path> toolkits = places.toolkits;
  toolkits.push_back(places.local / "cuda");
  const std::vector<fs::path> versioned = versioned_toolkits(places.local);
  toolkits.insert(toolkits.end(), versioned.begin(), versioned.end());
  for (const fs::path& toolkit : toolkits)
    add(toolkit / "bin");
  return all;
}

// "Cuda compilation tools, release 13.0, V13.0.88"
std::optional<Assembler> assembler_that_says(const std::string& text, const fs::path& program) {
  constexpr std::string_view mark = ", release ", middle = ", V";
  const size_t at = text.find(mark), version = text.find(middle, at);
  if (at == std::string::npos || version == std::string::npos)
    return std::nullopt;
  const size_t start = at + mark.size();
  const Result<CudaRelease> release = parse_cuda_release(text.substr(start, version - start));
  const size_t first = version + middle.size();
  const std::string whole = text.substr(first, text.find_first_not_of("0123456789.", first) - first);
  if (!release || !parse_cuda_release(whole))
    return std::nullopt;
  return Assembler{program, *release, whole};
}

Result<Assembler> ask(const fs::path& program) {
  constexpr AssemblerLimits limits{std::chrono::seconds(10), uint64_t(1) << 32};
  XAAS_TRY(const ProcessResult said, run_assembler(program, {"--version"}, "/", limits));
  if (const std::optional<Assembler> assembler = assembler_that_says(said.output, program))
    return *assembler;
  return make_error(ErrorKind::missing_tool, program.string() + " does not report a version of ptxas");
}

} // namespace

AssemblerPlaces places_of_environment(const fs::path& given) {
  AssemblerPlaces places;
  places.given = given;
  places.path = directories("PATH");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const value = std::getenv(variable); value && *value)
      places.toolkits.emplace_back(value);
  return places;
}

Result<Assembler> find_assembler(const AssemblerPlaces& places) {
  if (!places.given.empty()) {
    const fs::path program = fs::absolute(places.given);
    std::error_code code;
    if (!fs::exists(program, code))
      return make_error(ErrorKind::not_found, program.string() + ": no such file");
    return ask(program);
  }
  std::vector<std::string> silent;
  for (const fs::path& candidate : candidates(places)) {
    if (!find_program(candidate.string()))
      continue;
    Result<Assembler> assembler = ask(candidate);
    if (assembler || assembler.error().kind == ErrorKind::interrupted)
      return assembler;
    silent.push_back(assembler.error().message);
  }
  return make_error(ErrorKind::missing_tool,
                    "there is no ptxas" + (silent.empty() ? "" : " that works: " + join(silent, "; ")),
                    "install a CUDA toolkit, or name one's directory in CUDA_HOME; or let PTX serve, which "
                    "the driver assembles");
}

} // namespace xaas::device
