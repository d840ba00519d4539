#include "knowledge.h"

namespace xaas::discover {

std::optional<spec::Requirement> needs_of(const std::string& name) {
  const Knowledge& knowledge = Knowledge::get();
  const std::vector<std::string> words = Knowledge::words_of(name);
  spec::Requirement needs;
  if (const SimdEntry* const simd = knowledge.simd(words)) {
    if (!Knowledge::can_require(*simd))
      return std::nullopt;
    needs.cpu = simd->features;
  } else if (const Entry* const entry = knowledge.entry(words)) {
    needs = entry->needs;
  }
  return needs;
}

} // namespace xaas::discover
