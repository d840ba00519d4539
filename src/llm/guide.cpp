#include "guide.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::llm {

std::string_view llm_guide(); // specs/llm.json

Guide::Guide() {
  const Json json = Json::parse(llm_guide());
  instructions_ = join(json["instructions"].get<std::vector<std::string>>(), "\n\n");
  for (const auto& [system, form] : json["argument_forms"].items())
    forms_[system] = form.get<std::string>();
  weak_ = json["weak_words"].get<std::set<std::string>>();
  on_ = json["on_words"].get<std::set<std::string>>();
  off_ = json["off_words"].get<std::set<std::string>>();
  reserved_ = json["reserved"]["names"].get<std::set<std::string>>();
  prefixes_ = json["reserved"]["prefixes"].get<std::vector<std::string>>();
}

const Guide& Guide::get() {
  static const Guide guide;
  return guide;
}

std::string Guide::argument_form(spec::BuildSystem system) const {
  const auto found = forms_.find(spec::to_string(system));
  return found == forms_.end() ? std::string() : found->second;
}

bool Guide::is_on(const std::string& value) const {
  return on_.count(to_lower(value)) > 0;
}
bool Guide::is_off(const std::string& value) const {
  return off_.count(to_lower(value)) > 0;
}

bool Guide::is_reserved(const std::string& option) const {
  return reserved_.count(to_upper(option)) > 0;
}
bool Guide::has_reserved_prefix(const std::string& option) const {
  return std::any_of(
      prefixes_.begin(), prefixes_.end(),
      [name = to_upper(option)](const std::string& prefix) { return name.starts_with(prefix); });
}

std::string shorten(const std::string& text, size_t limit) {
  if (text.size() <= limit)
    return text;
  size_t end = limit < 3 ? 0 : limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

} // namespace xaas::llm
