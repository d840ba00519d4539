#include "settings.h"

#include "images.h"
#include "terminal.h"

#include <xaas/base/modesty.h>

#include <cstdlib>

namespace xaas::cli {

namespace {

std::optional<config::Settings>& current() {
  static std::optional<config::Settings> held;
  return held;
}

// temporary_root(), frontdoor::find_clang() and build tools read these variables.
void export_variables(const config::Settings& read) {
  for (const config::Definition& definition : config::definitions()) {
    const std::string_view key = definition.key;
    if (key != "temporary_directory" && key != "clang" && key != "flang")
      continue;
    const config::Setting& setting = read.at(definition.key);
    if (setting.value.is_string() && setting.origin != config::Origin::built_in)
      setenv(definition.variable, setting.value.get<std::string>().c_str(), 1);
  }
}

} // namespace

Result<void> read_settings(const CLI::App& app, bool quiet) {
  // Without /proc the owner of this program is unknown and not trusted.
  const Result<fs::path> program = program_path();
  XAAS_TRY(config::Settings read,
           config::Settings::read(config::own_sources(program ? *program : fs::path())));
  for (const config::Definition& definition : config::definitions()) {
    if (!definition.option)
      continue;
    const CLI::Option* const option = app.get_option_no_throw(std::string("--") + definition.option);
    if (option && option->count() > 0)
      XAAS_CHECK(read.take_option(definition, option->results()));
  }
  for (const config::File& file : read.files()) {
    if (!file.trouble.empty())
      print_note(file.trouble + "; it is not read");
    for (const std::string& warning : file.warnings)
      if (!quiet)
        print_warning(warning);
  }
  export_variables(read);
  current() = std::move(read);
  return {};
}

const config::Settings& settings() {
  if (!current()) {
    config::Sources none;
    none.environment = [](const char*) { return std::optional<std::string>(); };
    if (Result<config::Settings> built_in = config::Settings::read(none))
      current() = *std::move(built_in);
  }
  return *current();
}

unsigned jobs() {
  const std::optional<unsigned> set = settings().jobs();
  const unsigned allowed = allowed_jobs(settings().login_jobs());
  if (!set)
    return allowed;
  return settings().jobs_only_lower() ? std::min(*set, allowed) : *set;
}

void be_modest() {
  if (!in_batch_job())
    be_nice(settings().nice());
}

} // namespace xaas::cli
