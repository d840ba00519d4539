#include "images.h"
#include "caches.h"
#include "settings.h"

#include <xaas/base/text.h>
#include <xaas/target/architectures.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

namespace xaas::cli {

std::string not_empty(const std::string& text) {
  return text.empty() ? "is empty" : "";
}

Result<void> check_output(const std::string& option, const fs::path& path) {
  const fs::path directory = fs::absolute(path).parent_path();
  std::error_code code;
  if (fs::is_directory(path, code))
    return make_error(ErrorKind::usage, option + " " + path.string() + ": is a directory");
  if (!fs::exists(path, code) && access(directory.c_str(), W_OK) != 0)
    return errno_error(errno, option + " " + path.string());
  return {};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<SpecFile> read_spec(const std::string& argument, const std::string& source_override,
                           const std::string& arch) {
  SpecFile spec;
  std::error_code code;
  const bool tree = fs::is_directory(argument, code);
  spec.path = tree ? fs::path(argument) / "xaas.json" : fs::path(argument);
  if (tree && !fs::exists(spec.path, code)) {
    XAAS_TRY(discover::Findings findings, discover::read_tree(argument));
    if (!findings.system)
      return discover::no_build_system(argument, findings, "no xaas.json and no known build system");
    for (const std::string& note : findings.notes)
      print_note(note);
    discover::Draft draft = discover::draft(findings, discover::classify(findings), arch);
    spec.application = draft.application;
    spec.from_tree = {std::move(findings), std::move(draft)};
    print_note(argument + " has no xaas.json; using the spec that `xaas init` would write");
  } else {
    XAAS_TRY(spec.application, spec::read_application(spec.path));
  }
  spec.source = source_override.empty() ? fs::absolute(spec.path).parent_path() : fs::path(source_override);
  spec.source = fs::weakly_canonical(spec.source, code);
  return spec;
}

Result<build::Request> new_build_request(const fs::path& source, const std::string& arch) {
  build::Request request;
  std::error_code code;
  request.source = fs::weakly_canonical(source, code);
  request.arch = arch;
  request.jobs = default_jobs();
  request.library_path = split(environment("LD_LIBRARY_PATH"), ':');
  XAAS_TRY(request.program, program_path());
  request.logs = cache_directory() / "logs";
  return request;
}

Result<system::SystemDescription> system_of(const std::string& machine, const std::string& cpu) {
  system::SystemDescription description;
  if (!machine.empty()) {
    XAAS_TRY(const fs::path file, settings().machines().file_of(machine).in("--system"));
    XAAS_TRY(description, system::read_system(file));
  } else {
    // Deploying needs only what can be read from files, so no program is run.
    system::Probes probes;
    probes.runtime_versions = false;
    description = system::detect(probes);
  }
  if (cpu.empty())
    return description;
  Result<system::SystemDescription> changed = system::with_cpu(description, cpu);
  // A CPU of another architecture belongs to another machine, of which nothing else is known.
  if (!changed && machine.empty())
    for (const std::string& arch : target::architectures())
      if (Result<system::SystemDescription> other = system::any_system(arch, cpu))
        return other;
  return changed;
}

Result<std::optional<int64_t>> source_date_epoch() {
  const std::string text = environment("SOURCE_DATE_EPOCH");
  if (text.empty())
    return std::optional<int64_t>();
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 11)
    return make_error(ErrorKind::usage, "SOURCE_DATE_EPOCH=" + text + ": not a number of seconds since 1970");
  return std::optional<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
}

Result<fs::path> program_path() {
  // In the relocatable archive, /proc/self/exe is the loader; the launcher passes its own path.
  if (const std::string launcher = environment("XAAS_LAUNCHER"); !launcher.empty())
    return fs::path(launcher);
  std::error_code code;
  const fs::path path = fs::read_symlink("/proc/self/exe", code);
  if (code)
    return make_error(ErrorKind::failed, "finding this program: /proc/self/exe: " + code.message());
  return path;
}

} // namespace xaas::cli
