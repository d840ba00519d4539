#include "images.h"

#include <cstdlib>

namespace xaas::cli {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

} // namespace

Result<SpecFile> read_spec(const std::string& argument, const std::string& source_override) {
  SpecFile spec;
  std::error_code code;
  const bool tree = fs::is_directory(argument, code);
  spec.path = tree ? fs::path(argument) / "xaas.json" : fs::path(argument);
  if (tree && !fs::exists(spec.path, code))
    return make_error(ErrorKind::not_found, "source tree " + argument + ": has no xaas.json",
                      "write an application spec (docs/application-spec.md) and give its path");
  XAAS_TRY(spec.application, spec::read_application(spec.path));
  spec.source = source_override.empty() ? fs::absolute(spec.path).parent_path() : fs::path(source_override);
  spec.source = fs::weakly_canonical(spec.source, code);
  return spec;
}

Result<system::SystemDescription> system_of(const std::string& file, const std::string& cpu) {
  system::SystemDescription description;
  if (!file.empty()) {
    XAAS_TRY(description, system::read_system(file));
  } else {
    // What deploying needs to know is read from files: it runs no program.
    system::Probes probes;
    probes.runtime_versions = false;
    description = system::detect(probes);
  }
  if (cpu.empty())
    return description;
  return system::with_cpu(std::move(description), cpu);
}

Result<std::optional<int64_t>> source_date_epoch() {
  const std::string text = environment("SOURCE_DATE_EPOCH");
  if (text.empty())
    return std::optional<int64_t>();
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 11)
    return make_error(ErrorKind::usage, "SOURCE_DATE_EPOCH=" + text + ": not a number of seconds since 1970");
  return std::optional<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
}

fs::path cache_directory() {
  if (const std::string own = environment("XAAS_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "xaas";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "xaas";
  return temporary_root() / "xaas-cache";
}

Result<uint64_t> max_cache_bytes() {
  const std::string text = environment("XAAS_CACHE_MAX_SIZE");
  if (text.empty())
    return uint64_t(5) << 30;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const size_t power = std::string_view("KMGT").find(unit.empty() ? '?' : unit[0]);
  const bool known = unit.empty() || (unit.size() == 1 && power != std::string_view::npos);
  if (digits == 0 || digits > 9 || !known)
    return make_error(ErrorKind::usage, "XAAS_CACHE_MAX_SIZE=" + text + ": not a size",
                      "a number of bytes, or one with K, M, G or T, as in 20G");
  return std::strtoull(text.c_str(), nullptr, 10) << (unit.empty() ? 0 : 10 * (power + 1));
}

Result<fs::path> program_path() {
  // The launcher of the relocatable archive says where it is: /proc/self/exe is then the archive's loader.
  if (const std::string launcher = environment("XAAS_LAUNCHER"); !launcher.empty())
    return fs::path(launcher);
  std::error_code code;
  const fs::path path = fs::read_symlink("/proc/self/exe", code);
  if (code)
    return make_error(ErrorKind::failed, "finding this program: /proc/self/exe: " + code.message());
  return path;
}

} // namespace xaas::cli
