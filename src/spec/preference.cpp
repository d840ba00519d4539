// The CPUs that a word of `prefer` names.
#include "check.h"

#include <xaas/base/glob.h>
#include <xaas/spec/application.h>

#include <algorithm>
#include <optional>

namespace xaas::spec {
namespace {

bool is_pattern(const std::string& word) {
  return word.find('*') != std::string::npos;
}

// nullopt: `name` is not a level of this architecture.
std::optional<size_t> level_index(const std::string& arch, const std::string& name) {
  const std::vector<std::string> levels = target::isa_levels(arch);
  const auto found = std::find(levels.begin(), levels.end(), name);
  return found == levels.end() ? std::nullopt : std::optional<size_t>(found - levels.begin());
}

} // namespace

const std::string* Preference::find(const target::Cpu& on) const {
  const std::optional<size_t> level = level_index(on.arch, target::isa_level(on.arch, on.features));
  const std::vector<std::string> names = target::names_of_same_cpu(on.arch, on.name);
  for (const std::string& word : cpu) {
    if (const std::optional<size_t> wanted = level_index(on.arch, word)) {
      if (level && *wanted <= *level)
        return &word;
      continue;
    }
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return glob_match(word, name); }))
      return &word;
  }
  return nullptr;
}

bool names_a_cpu(const std::string& word) {
  if (is_level(word))
    return true;
  return std::any_of(architectures().begin(), architectures().end(), [&](const std::string& arch) {
    if (!is_pattern(word)) {
      // An architecture with extensions is a target for LLVM, but not a CPU.
      const Result<target::Cpu> cpu = target::cpu_by_name(arch, word);
      return cpu && cpu->name == word;
    }
    const std::vector<std::string> names = target::cpu_names(arch);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return glob_match(word, name); });
  });
}

} // namespace xaas::spec
