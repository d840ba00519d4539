#include "failure.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>
#include <xaas/link/note.h>
#include <xaas/loader/dynamic.h>

#include <algorithm>

namespace xaas::trial {

namespace {

using Cause = build::FailedBuild::Cause;

constexpr uint64_t longest_log = uint64_t(256) << 20;

// Directories of CMake, Meson and Automake with the programs of their checks.
bool is_of_build_system(const fs::path& directory) {
  const std::string name = directory.filename();
  return name == "CMakeFiles" || name == "_deps" || name == "meson-private" || name == "meson-logs" ||
         name == ".libs" || name == ".git";
}

bool is_of_tests(const std::string& path) {
  const std::string name = to_lower(fs::path(path).stem().string());
  return discover::is_for_developers(path) || starts_with(name, "test_") || ends_with(name, "_test") ||
         ends_with(name, "_tests");
}

std::optional<Product::Kind> kind_of(const std::string& content, const std::string& arch) {
  if (link::is_archive(content))
    return link::find_note_bytes(content).empty() ? std::nullopt : std::optional(Product::Kind::archive);
  if (!loader::is_elf_for(content, arch))
    return std::nullopt;
  const Result<std::vector<link::Note>> notes = link::read_notes(content);
  const Result<loader::Dynamic> dynamic = loader::read_dynamic(content);
  if (!notes || !dynamic || notes->empty() || notes->back().kind != link::Note::Kind::link)
    return std::nullopt;
  return dynamic->shared ? Product::Kind::shared_library : Product::Kind::program;
}

bool may_be_product(const fs::directory_entry& entry, fs::file_time_type since) {
  std::error_code code;
  if (entry.is_symlink(code) || !entry.is_regular_file(code) || entry.last_write_time(code) < since)
    return false;
  const std::string name = entry.path().filename();
  const bool executable = (entry.status(code).permissions() & fs::perms::owner_exec) != fs::perms::none;
  return executable || name.ends_with(".a") || name.find(".so") != std::string::npos;
}

// The step that comes after those that succeeded.
std::string failed_step(const build::FailedBuild& failed) {
  const spec::BuildSystem system = failed.build.application->build.system;
  const std::string last = failed.steps.empty() ? "" : failed.steps.back();
  if (last == "build")
    return "install";
  const bool configures = system != spec::BuildSystem::make && system != spec::BuildSystem::commands;
  return configures && last != "configure" ? "configure" : "build";
}

// Without the directories of this build, which mean nothing afterwards.
std::string without_directories(std::string text, const project::ConfigurationBuild& build) {
  for (const fs::path& directory : {build.source, build.build, build.copy})
    if (!directory.empty())
      text = replaced(std::move(text), directory.string() + "/", "");
  return replaced(std::move(text), build.destination.string(), "$DESTDIR");
}

// The first line that explains a failure. CMake's first line only has the place.
std::string first_line(const std::string& text) {
  std::string line;
  for (const std::string& each : split(text, '\n')) {
    const std::string part = trim(each);
    if (part.empty())
      continue;
    line += (line.empty() ? "" : " ") + part;
    if (!line.starts_with("CMake Error") || !line.ends_with(":"))
      break;
  }
  return line;
}

} // namespace

std::vector<Product> products_in(const fs::path& directory, const std::string& arch,
                                 fs::file_time_type since) {
  std::vector<Product> products;
  std::error_code code;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, options, code), end; !code && it != end;
       it.increment(code)) {
    if (is_of_build_system(it->path())) {
      it.disable_recursion_pending();
      continue;
    }
    if (!may_be_product(*it, since))
      continue;
    const Result<std::string> content = read_file(it->path());
    if (!content)
      continue;
    if (const auto kind = kind_of(*content, arch))
      products.push_back({*kind, it->path().lexically_relative(directory).string()});
  }
  const auto of_tests = [](const Product& product) { return is_of_tests(product.path); };
  if (!std::all_of(products.begin(), products.end(), of_tests))
    std::erase_if(products, of_tests);
  std::sort(products.begin(), products.end());
  return products;
}

Failure failure_of(const build::FailedBuild& failed) {
  Failure failure;
  failure.cause = failed.cause;
  if (failed.cause == Cause::step)
    failure.step = failed_step(failed);
  failure.output = without_directories(failed.error.output, failed.build);
  failure.error = failure.output.empty() ? failed.error.message : first_line(failure.output);
  if (Result<std::string> log = read_file(failed.build.log, longest_log))
    failure.log = *std::move(log);
  if (failed.cause == Cause::install || failure.step == "install")
    failure.products = products_in(failed.build.build, failed.build.arch, failed.configured);
  return failure;
}

} // namespace xaas::trial
