#include "machine.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <unistd.h>

namespace xaas::system {

Machine::Machine(const Probes& probes)
    : root_(probes.root), environment_(probes.environment), search_path_(probes.path) {
  if (search_path_.empty())
    search_path_ = split(environment("PATH"), ':');
}

bool Machine::has(const std::string& absolute) const {
  std::error_code code;
  return fs::exists(path(absolute), code);
}

std::string Machine::text(const std::string& absolute) const {
  std::error_code code;
  if (!fs::is_regular_file(path(absolute), code)) // a pipe would never end
    return {};
  const Result<std::string> content = read_file(path(absolute), uint64_t(64) << 20);
  return content ? trim(*content) : std::string();
}

std::optional<uint64_t> Machine::number(const std::string& absolute) const {
  return parse_number(text(absolute));
}

std::vector<std::string> Machine::entries(const std::string& absolute) const {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(path(absolute), code), end; !code && entry != end; entry.increment(code))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Machine::environment(const std::string& name) const {
  if (environment_.empty()) {
    const char* value = std::getenv(name.c_str());
    return value ? value : "";
  }
  const auto found = environment_.find(name);
  return found == environment_.end() ? "" : found->second;
}

std::optional<fs::path> Machine::find_program(const std::string& name) const {
  for (const std::string& directory : search_path_) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
    std::error_code code;
    if (fs::is_regular_file(candidate, code) && access(candidate.c_str(), X_OK) == 0)
      return fs::absolute(candidate, code);
  }
  return std::nullopt;
}

std::optional<uint64_t> parse_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data())
    return std::nullopt;
  return value;
}

} // namespace xaas::system
