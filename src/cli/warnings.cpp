#include "warnings.h"

#include <algorithm>
#include <map>

namespace xaas::cli {

Json warnings_json(const std::vector<image::Warning>& warnings) {
  Json json = Json::array();
  for (const image::Warning& each : warnings)
    json.push_back(Json{{"kind", each.kind},
                        {"file", each.file.empty() ? Json() : Json(each.file)},
                        {"line", each.line ? Json(each.line) : Json()},
                        {"message", each.message}});
  return json;
}

std::string warnings_text(const std::vector<image::Warning>& warnings, bool all) {
  constexpr size_t shown = 4;
  std::map<std::string, size_t> counts;
  std::string text;
  for (const image::Warning& each : warnings) {
    if (++counts[each.kind] > shown && !all)
      continue;
    std::string place =
        each.file.empty() ? "" : each.file + (each.line ? ":" + std::to_string(each.line) : "");
    text += "xaas: warning: " + place + (place.empty() ? "" : ": ") + each.message + "\n";
  }
  size_t more = 0;
  for (const auto& [kind, count] : counts)
    more += count - std::min(count, shown);
  if (more && !all)
    text += "xaas: warning: and " + std::to_string(more) + " more; -v lists all\n";
  return text;
}

} // namespace xaas::cli
