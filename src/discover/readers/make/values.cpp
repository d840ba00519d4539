#include "readers/make/values.h"

#include "readers/make/text.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <functional>

namespace xaas::discover {

using namespace make_text;

namespace {

constexpr int deepest_expansion = 64;
constexpr size_t most_steps = 500'000; // lines and expansions, and KiB of values

std::string each(const std::string& text, const std::function<std::string(const std::string&)>& change) {
  std::vector<std::string> words = words_of(text);
  for (std::string& word : words)
    word = change(word);
  std::erase(words, "");
  return join(words, " ");
}

std::string filter(const std::vector<std::string>& arguments, bool keep) {
  if (arguments.size() < 2)
    return "";
  const std::vector<std::string> patterns = words_of(arguments[0]);
  return each(arguments[1], [&](const std::string& word) {
    const bool some = std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
      return pattern == word || (pattern.find('%') != std::string::npos && matches(word, pattern));
    });
    return some == keep ? word : std::string();
  });
}

} // namespace

struct MakeValues::Functions {
  using Function = std::function<std::string(MakeValues&, const Words&)>;
  static const std::map<std::string, Function>& all() {
    const auto at = [](const Words& words, size_t index) {
      return index < words.size() ? words[index] : std::string();
    };
    static const std::map<std::string, Function> functions = {
        {"shell", [](MakeValues& self, const Words& words) { return self.shell(words); }},
        {"wildcard", [at](MakeValues& self, const Words& words) { return self.wildcard(at(words, 0)); }},
        {"strip", [at](MakeValues&, const Words& words) { return join(words_of(at(words, 0)), " "); }},
        {"filter", [](MakeValues&, const Words& words) { return filter(words, true); }},
        {"filter-out", [](MakeValues&, const Words& words) { return filter(words, false); }},
        {"subst", [at](MakeValues&,
                       const Words& words) { return replace_all(at(words, 2), at(words, 0), at(words, 1)); }},
        {"patsubst",
         [at](MakeValues&, const Words& words) {
           return each(at(words, 2), [&](const std::string& word) {
             return replace_pattern(word, at(words, 0), at(words, 1));
           });
         }},
        {"addprefix",
         [at](MakeValues&, const Words& words) {
           return each(at(words, 1), [&](const std::string& word) { return at(words, 0) + word; });
         }},
        {"addsuffix",
         [at](MakeValues&, const Words& words) {
           return each(at(words, 1), [&](const std::string& word) { return word + at(words, 0); });
         }},
        {"notdir",
         [at](MakeValues&, const Words& words) {
           return each(at(words, 0),
                       [](const std::string& word) { return word.substr(word.rfind('/') + 1); });
         }},
        {"basename",
         [at](MakeValues&, const Words& words) {
           return each(at(words, 0), [](const std::string& word) {
             const size_t dot = word.rfind('.');
             return dot == std::string::npos || word.find('/', dot) != std::string::npos
                        ? word
                        : word.substr(0, dot);
           });
         }},
        {"sort",
         [at](MakeValues&, const Words& words) {
           Words list = words_of(at(words, 0));
           std::sort(list.begin(), list.end());
           list.erase(std::unique(list.begin(), list.end()), list.end());
           return join(list, " ");
         }},
        {"firstword",
         [at](MakeValues&, const Words& words) {
           const Words list = words_of(at(words, 0));
           return list.empty() ? std::string() : list.front();
         }},
        {"if", [at](MakeValues&,
                    const Words& words) { return trim(at(words, 0)).empty() ? at(words, 2) : at(words, 1); }},
        {"findstring",
         [at](MakeValues&, const Words& words) {
           return at(words, 1).find(at(words, 0)) == std::string::npos ? std::string() : at(words, 0);
         }},
        {"info", [](MakeValues&, const Words&) { return std::string(); }},
        {"warning", [](MakeValues&, const Words&) { return std::string(); }},
        {"error", [](MakeValues&, const Words&) { return std::string(); }},
        {"origin", [](MakeValues&, const Words&) { return std::string(1, unknown); }}};
    return functions;
  }
};

MakeValues::MakeValues(const TreeFiles& tree, std::string directory, const std::string& arch)
    : tree_(tree), directory_(std::move(directory)) {
  variables_ = {{"CC", "cc"},     {"CXX", "c++"},  {"AR", "ar"},
                {"MAKE", "make"}, {"RM", "rm -f"}, {"CURDIR", std::string(1, unknown)}};
  shell_ = {{"uname", "Linux"}, {"uname -s", "Linux"}, {"uname -m", arch}, {"uname -p", arch}};
}

bool MakeValues::is_spent() const {
  return steps_ >= most_steps || interrupt_signal() != 0;
}

bool MakeValues::is_empty(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() || found->second.empty();
}

void MakeValues::set(const std::string& name, std::string value) {
  variables_[name] = std::move(value);
}

void MakeValues::store(const std::string& name, const std::string& value) {
  std::string stored = replace_all(expand(value), "$", "$$");
  charge(8 * stored.size()); // it stays in memory
  set(name, std::move(stored));
}

void MakeValues::add(const std::string& name, const std::string& value) {
  std::string& known = variables_[name];
  charge(known.size() + value.size());
  if (known.size() + value.size() < longest_value)
    known += (known.empty() ? "" : " ") + value;
}

std::string MakeValues::expand(const std::string& text, int depth) {
  if (text.find('$') == std::string::npos)
    return text;
  charge(text.size());
  if (depth > deepest_expansion || is_spent())
    return std::string(1, unknown);
  std::string result;
  for (size_t at = 0; at < text.size() && result.size() < longest_value; ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      result.push_back(text[at]);
      continue;
    }
    charge(result.size() / 16); // the copies on the way up
    const char next = text[++at];
    if (next == '$') {
      result.push_back('$');
    } else if (next == '(' || next == '{') {
      const char close = next == '(' ? ')' : '}';
      const size_t end = end_of_part(text, at + 1, close, false);
      result += reference(text.substr(at + 1, end - at - 1), depth + 1);
      at = end;
    } else {
      result += value_of(std::string(1, next), depth + 1);
    }
  }
  return result;
}

std::string MakeValues::value_of(const std::string& name, int depth) {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : expand(found->second, depth);
}

std::string MakeValues::reference(const std::string& text, int depth) {
  const size_t blank = text.find_first_of(" \t");
  if (const std::string name = text.substr(0, blank);
      blank != std::string::npos && Functions::all().count(name)) {
    Words arguments;
    size_t at = blank + 1;
    while (at <= text.size()) {
      const size_t end = end_of_part(text, at, ')', true);
      arguments.push_back(expand(text.substr(at, end - at), depth));
      at = end + 1;
    }
    return Functions::all().at(name)(*this, arguments);
  }
  if (blank != std::string::npos)
    return std::string(1, unknown); // a function that is not modelled
  if (const size_t colon = text.find(':');
      colon != std::string::npos && text.find('=', colon) != std::string::npos)
    return substitution(text, colon, depth);
  return value_of(trim(expand(text, depth)), depth);
}

// $(NAME:a=b), with the colon at `colon`
std::string MakeValues::substitution(const std::string& text, size_t colon, int depth) {
  const size_t equal = text.find('=', colon);
  std::string from = expand(text.substr(colon + 1, equal - colon - 1), depth),
              to = expand(text.substr(equal + 1), depth);
  if (from.find('%') == std::string::npos)
    from = "%" + from, to = "%" + to;
  return each(value_of(trim(expand(text.substr(0, colon), depth)), depth),
              [&](const std::string& word) { return replace_pattern(word, from, to); });
}

std::string MakeValues::wildcard(const std::string& patterns) {
  Words found;
  for (std::string pattern : words_of(patterns)) {
    charge(32 * tree_.paths().size());
    if (is_spent())
      break;
    const size_t star = pattern.find('*');
    if (star != std::string::npos)
      pattern[star] = '%';
    for (const std::string& path : tree_.paths()) {
      if (!path.starts_with(directory_))
        continue;
      const std::string name = path.substr(directory_.size());
      if ((star == std::string::npos ? name == pattern : matches(name, pattern)) &&
          std::count(name.begin(), name.end(), '/') == std::count(pattern.begin(), pattern.end(), '/'))
        found.push_back(name);
    }
  }
  return join(found, " ");
}

std::string MakeValues::shell(const Words& arguments) const {
  const auto known = shell_.find(trim(join(arguments, ",")));
  return known == shell_.end() ? std::string(1, unknown) : known->second;
}

} // namespace xaas::discover
