#include "draft_words.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <set>
#include <string_view>

namespace xaas::discover {

std::string_view draft_knowledge(); // specs/draft.json

namespace {

struct DraftWords {
  std::set<std::string> asks_the_machine, unwanted;
  static const DraftWords& get() {
    static const DraftWords words = [] {
      const Json json = Json::parse(draft_knowledge(), nullptr, true, true);
      return DraftWords{json["asks_the_machine"].get<std::set<std::string>>(),
                        json["unwanted"].get<std::set<std::string>>()};
    }();
    return words;
  }
};

} // namespace

bool asks_the_machine(const std::string& value) {
  return DraftWords::get().asks_the_machine.contains(to_lower(value));
}

bool is_unwanted(const std::vector<std::string>& words) {
  return DraftWords::get().unwanted.contains(join(words, " "));
}

} // namespace xaas::discover
