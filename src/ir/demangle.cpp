#include <xaas/base/json.h>
#include <xaas/base/utf8.h>
#include <xaas/base/worker.h>
#include <xaas/ir/demangle.h>

#include <llvm/Demangle/Demangle.h>

namespace xaas::ir {

namespace {

constexpr size_t longest_name = size_t(1) << 14;
constexpr uint64_t most_memory = uint64_t(1) << 30;
constexpr uint64_t longest_answer = uint64_t(64) << 20;
constexpr double most_seconds = 20;

// For each name its name in the source, or "" where there is none.
Result<std::string> demangle_all(const std::set<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) {
    std::string text = llvm::demangle(name);
    json.push_back(text != name && text.size() <= longest_name && is_utf8(text) ? std::move(text) : "");
  }
  return json.dump();
}

Result<std::vector<std::string>> read_answer(const std::string& answer) {
  XAAS_TRY(const Json json, parse_json(answer, "names", false, ErrorKind::integrity));
  return JsonReader(json, "names").strings();
}

} // namespace

std::map<std::string, std::string> demangled(const std::set<std::string>& names) {
  std::map<std::string, std::string> result;
  for (const std::string& name : names)
    result.emplace(name, name);
  if (names.empty())
    return result;
  const Result<std::string> answer =
      run_worker([&] { return demangle_all(names); },
                 {.memory = most_memory, .cpu_seconds = most_seconds, .answer = longest_answer});
  if (!answer)
    return result;
  const Result<std::vector<std::string>> texts = read_answer(*answer);
  if (!texts || texts->size() != names.size())
    return result;
  auto text = texts->begin();
  for (auto& [name, shown] : result) {
    if (!text->empty())
      shown = *text;
    ++text;
  }
  return result;
}

} // namespace xaas::ir
