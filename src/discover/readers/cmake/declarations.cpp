#include "readers/cmake/declarations.h"
#include "readers/cmake/condition.h"
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::discover {

bool CMakeDeclarations::execute(const CMakeCommand& command, const std::vector<CMakeWord>& words) {
  static const std::unordered_map<std::string, Handler> handlers = {
      {"option", &CMakeDeclarations::option_command},
      {"cmake_dependent_option", &CMakeDeclarations::dependent_option},
      {"set", &CMakeDeclarations::set_command},
      {"unset", &CMakeDeclarations::unset_command},
      {"set_property", &CMakeDeclarations::set_property},
      {"mark_as_advanced", &CMakeDeclarations::mark_as_advanced},
      {"project", &CMakeDeclarations::project_command},
      {"enable_language", &CMakeDeclarations::enable_language},
      {"cmake_minimum_required", &CMakeDeclarations::minimum_required},
      {"find_package", &CMakeDeclarations::find_package},
      {"find_dependency", &CMakeDeclarations::find_package},
      {"pkg_check_modules", &CMakeDeclarations::check_modules},
      {"pkg_search_module", &CMakeDeclarations::check_modules},
      {"find_library", &CMakeDeclarations::find_library},
      {"add_compile_options", &CMakeDeclarations::compile_options},
      {"target_compile_options", &CMakeDeclarations::compile_options}};
  const auto found = handlers.find(command.name);
  if (found == handlers.end() && !command.name.starts_with("check_"))
    return false;
  (this->*(found == handlers.end() ? &CMakeDeclarations::check : found->second))(words, command);
  return true;
}

namespace {

// A value may have a remark, "fftpack[built-in]", which the macro removes.
void take_remarks(Option& option, const std::vector<CMakeWord>& words) {
  for (std::string& value : option.values)
    for (const CMakeWord& word : words)
      if (word.text.ends_with(']') && word.text.starts_with(value + "["))
        value = word.text;
}

} // namespace

// The convention of find modules (cmake-developer(7)); some projects declare such options with option().
static bool names_a_place(const std::string& name) {
  for (const char* ending : {"_LIBRARY", "_LIBRARIES", "_LIBS", "_INCLUDE_DIR", "_INCLUDE_DIRS", "_DIR"})
    if (name.ends_with(ending))
      return true;
  return false;
}

void CMakeDeclarations::end_call(const Mark& begin, const std::vector<CMakeWord>& words) {
  for (size_t i = begin.touched; i < touched_.size(); ++i)
    if (Option& option = findings_.options[touched_[i]]; option.kind == Option::Kind::choice)
      take_remarks(option, words);
  if (state_.calls.empty())
    touched_.clear();
  // An argument that names other options tells when this one exists: "GPU STREQUAL CUDA;MPI".
  if (begin.options == findings_.options.size())
    return;
  constexpr size_t most = 8;
  std::vector<Mention> mentions;
  uint64_t bytes = 0;
  for (const CMakeWord& word : words) {
    bytes += word.text.size();
    if (mentions.size() < most && word.text.size() < 200)
      if (Mention mention = mention_in(word.text); !mention.names.empty())
        mentions.push_back(std::move(mention));
  }
  values_.charge_bytes(64 * (bytes / 256 + (findings_.options.size() - begin.options) * mentions.size()));
  for (size_t i = begin.options; i < findings_.options.size(); ++i) {
    Option& option = findings_.options[i];
    for (const Mention& mention : mentions)
      if (option.conditions.size() < most && !mention.names.count(option.name))
        option.conditions.push_back(mention.text);
  }
}

// The options that a condition names; none if the text is something else, such as a description.
CMakeDeclarations::Mention CMakeDeclarations::mention_in(const std::string& text) const {
  Mention mention{text, {}};
  if (text.find("  ") != std::string::npos || std::count(text.begin(), text.end(), ' ') > 7)
    return mention;
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  bool known = false;
  for (size_t at = 0; at < text.size();) {
    if (!is_part(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_part(text[end]))
      ++end;
    if (end < text.size() && text[end] == '.')
      return {text, {}};
    known |= options_.count(*mention.names.insert(text.substr(at, end - at)).first) > 0;
    at = end;
  }
  if (!known)
    mention.names.clear();
  return mention;
}

Place CMakeDeclarations::place(const std::string& name, const CMakeCommand& command) const {
  const auto has_name = [&](const CMakeCommand& each) {
    return std::any_of(each.arguments.begin(), each.arguments.end(), [&](const CMakeArgument& argument) {
      return argument.text.find(name) != std::string::npos;
    });
  };
  if (state_.calls.empty() || has_name(command))
    return {state_.file, command.line};
  for (auto call = state_.calls.rbegin(); call != state_.calls.rend(); ++call)
    if (has_name(*call->command))
      return {call->file, call->command->line};
  return {state_.calls.front().file, state_.calls.front().command->line};
}

// A new option, or the existing one.
Option& CMakeDeclarations::add_option(const std::string& name, const CMakeCommand& command) {
  touched_.push_back(options_.count(name) ? options_.at(name) : findings_.options.size());
  const auto [found, added] = options_.emplace(name, findings_.options.size());
  if (added) {
    Option option;
    option.name = name;
    option.place = place(name, command);
    option.conditions = innermost_conditions();
    findings_.options.push_back(std::move(option));
    first_by_default_[name] = state_.by_default;
  } else if (state_.by_default && !first_by_default_[name]) {
    findings_.options[found->second].conditions = innermost_conditions();
    findings_.options[found->second].place = place(name, command);
    findings_.options[found->second].help.clear();
    findings_.options[found->second].values.clear();
  }
  return findings_.options[found->second];
}
bool CMakeDeclarations::is_new(const std::string& name) const {
  return !options_.count(name);
}
std::vector<std::string> CMakeDeclarations::innermost_conditions() const {
  constexpr size_t most = 8;
  return {state_.conditions.end() - static_cast<std::ptrdiff_t>(std::min(most, state_.conditions.size())),
          state_.conditions.end()};
}
// No real project has more.
bool CMakeDeclarations::may_add_option(const std::string& name) {
  constexpr size_t most = 20'000;
  if (name.empty() || name.size() > 200 || name.find_first_of("$ ;/\n") != std::string::npos)
    return false;
  if (findings_.options.size() < most || !is_new(name))
    return true;
  if (!many_)
    findings_.notes.push_back("more than " + std::to_string(most) + " options; the others are left out");
  many_ = true;
  return false;
}

void CMakeDeclarations::set_initial(Option& option, const CMakeWord& value) {
  if (option.kind == Option::Kind::boolean) {
    const Truth truth = truth_of_constant(value.text);
    if (value.known && truth != Truth::unknown)
      option.initial = truth == Truth::yes ? "ON" : "OFF";
    else if (value.known && values_.find(value.text) && values_.find(value.text)->known)
      option.initial = truth_of_constant(values_.find(value.text)->text) == Truth::yes ? "ON" : "OFF";
  } else if (value.known) {
    option.initial = value.text;
  }
}

// The option for a declaration that decides about it: the first one, or the first of a default build.
Option* CMakeDeclarations::decided_option(const std::string& name, const CMakeCommand& command) {
  if (!may_add_option(name))
    return nullptr;
  const bool decides = is_new(name) || (state_.by_default && !first_by_default_[name]);
  Option& option = add_option(name, command);
  if (!decides)
    return nullptr;
  first_by_default_[name] = state_.by_default;
  option.initial.reset();
  return &option;
}

void CMakeDeclarations::declare_boolean(const std::string& name, const std::string& help,
                                        const CMakeWord& value, const CMakeCommand& command) {
  Option* const option = decided_option(name, command);
  if (!option)
    return;
  option->kind = Option::Kind::boolean;
  option->takes_place = names_a_place(name);
  option->help = help;
  set_initial(*option, value);
  if (state_.by_default)
    values_.set_cache(name, CMakeValue{option->initial.value_or("OFF"), option->initial.has_value()});
}

void CMakeDeclarations::option_command(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.empty())
    return;
  const std::string help = words.size() > 1 ? words[1].text : "";
  // Some projects declare texts in this way.
  if (words.size() > 2 && words[2].known && words[2].literal && !words[2].text.empty() &&
      truth_of_constant(words[2].text) == Truth::unknown && !values_.find(words[2].text))
    declare_text(words[0].text, help, "STRING", words[2], command);
  else
    declare_boolean(words[0].text, help, words.size() > 2 ? words[2] : CMakeWord{"OFF"}, command);
}

void CMakeDeclarations::dependent_option(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.size() < 4)
    return;
  // It has the other value if its conditions do not hold.
  CMakeWord value = words[2];
  for (const std::string& part : split(words[3].text, ';')) {
    std::vector<CMakeWord> condition;
    for (const std::string& word : split(part, ' '))
      if (!word.empty())
        condition.push_back({word, words[3].known, false, true});
    if (words.size() > 4 && evaluate_condition(values_, condition).truth == Truth::no)
      value = words[4];
  }
  declare_boolean(words[0].text, words[1].text, value, command);
  if (const auto found = options_.find(words[0].text); found != options_.end())
    for (const std::string& part : split(words[3].text, ';'))
      findings_.options[found->second].conditions.push_back(part);
}

void CMakeDeclarations::set_command(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.empty())
    return;
  const std::string& name = words[0].text;
  const auto cache = std::find_if(words.begin() + 1, words.end(),
                                  [](const CMakeWord& word) { return !word.quoted && word.text == "CACHE"; });
  std::vector<std::string> parts;
  bool known = true;
  const bool parent = words.back().text == "PARENT_SCOPE" && words.size() > 1;
  for (auto word = words.begin() + 1; word != (parent ? words.end() - 1 : cache); ++word) {
    parts.push_back(word->text);
    known &= word->known;
  }
  const CMakeValue value{join(parts, ";"), known};
  if (cache == words.end()) {
    if (parent)
      values_.set_in_parent(name, value);
    else if (!parent && parts.empty())
      values_.unset(name);
    else
      values_.set(name, value);
    return;
  }
  const std::string type = cache + 1 != words.end() ? (cache + 1)->text : "";
  const std::string help = words.end() - cache > 2 ? (cache + 2)->text : "";
  const bool is_forced = words.back().text == "FORCE";
  if (type == "BOOL") {
    declare_boolean(name, help, {value.text, value.known, false}, command);
    if (is_forced && state_.by_default && !is_new(name))
      values_.set_cache(name, value);
    return;
  }
  if (type == "INTERNAL" || type == "STATIC" || name.starts_with("CMAKE_") || name.starts_with("CPACK_")) {
    values_.add_cache(name, value);
    return;
  }
  declare_text(name, help, type, {value.text, value.known, false}, command);
  if (is_forced && state_.by_default && !is_new(name))
    values_.set_cache(name, value);
}

void CMakeDeclarations::declare_text(const std::string& name, const std::string& help,
                                     const std::string& type, const CMakeWord& value,
                                     const CMakeCommand& command) {
  Option* const option = decided_option(name, command);
  if (!option)
    return;
  option->kind = Option::Kind::text;
  option->help = help;
  option->takes_place = type == "PATH" || type == "FILEPATH";
  set_initial(*option, value);
  if (state_.by_default)
    values_.set_cache(name, {value.text, value.known});
}

void CMakeDeclarations::unset_command(const std::vector<CMakeWord>& words, const CMakeCommand&) {
  if (!words.empty())
    values_.unset(words[0].text);
}

// set_property(CACHE NAME... PROPERTY STRINGS VALUE...)
void CMakeDeclarations::set_property(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.size() < 4 || words[0].text != "CACHE")
    return;
  const auto property =
      std::find_if(words.begin(), words.end(), [](const CMakeWord& word) { return word.text == "PROPERTY"; });
  if (property == words.end() || words.end() - property < 3)
    return;
  if ((property + 1)->text == "HELPSTRING" && is_new(words[1].text) && may_add_option(words[1].text)) {
    // An entry that only its user makes.
    Option& option = add_option(words[1].text, command);
    option.kind = Option::Kind::text;
    option.help = (property + 2)->text;
  }
  if ((property + 1)->text != "STRINGS")
    return;
  for (auto name = words.begin() + 1; name != property; ++name) {
    const auto found = options_.find(name->text);
    if (found == options_.end())
      continue;
    Option& option = findings_.options[found->second];
    // Branches for different machines may list different values.
    for (auto value = property + 2; value != words.end(); ++value)
      for (const std::string& part : split(value->text, ';'))
        if (constexpr size_t most = 200;
            !part.empty() && option.values.size() < most &&
            std::find(option.values.begin(), option.values.end(), part) == option.values.end())
          option.values.push_back(part.substr(0, 200));
    if (!option.values.empty())
      option.kind = Option::Kind::choice;
  }
}

void CMakeDeclarations::mark_as_advanced(const std::vector<CMakeWord>& words, const CMakeCommand&) {
  for (const CMakeWord& word : words)
    if (const auto found = options_.find(word.text); found != options_.end())
      findings_.options[found->second].internal = true;
}

void CMakeDeclarations::project_command(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.empty())
    return;
  const std::string& name = words[0].text;
  const std::string here =
      std::string(cmake_source_root) + (state_.directory.empty() ? "" : "/" + state_.directory);
  for (const std::string& prefix : {std::string("PROJECT"), name})
    values_.set(prefix + "_SOURCE_DIR", {here});
  values_.set("PROJECT_NAME", {name});
  if (state_.directory == state_.top)
    values_.set("CMAKE_PROJECT_NAME", {name});
  values_.set("PROJECT_IS_TOP_LEVEL", {state_.directory == state_.top ? "ON" : "OFF"});
  const size_t languages_before = findings_.languages.size();
  if (state_.directory == state_.top && findings_.name.empty())
    findings_.name = name;
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i].text == "VERSION" && i + 1 < words.size()) {
      values_.set("PROJECT_VERSION", {words[i + 1].text, words[i + 1].known});
      if (state_.directory == state_.top && findings_.version.empty() && words[i + 1].known)
        findings_.version = words[i + 1].text;
      ++i;
    } else {
      add_language(words[i].text, command);
    }
  if (state_.directory == state_.top && findings_.languages.size() == languages_before &&
      std::none_of(words.begin(), words.end(), [](const CMakeWord& word) { return word.text == "NONE"; }))
    for (const char* language : {"C", "CXX"})
      add_language(language, command);
}
void CMakeDeclarations::enable_language(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  for (const CMakeWord& word : words)
    add_language(word.text, command);
}
void CMakeDeclarations::add_language(const std::string& name, const CMakeCommand& command) {
  static const std::set<std::string> languages = {"C",   "CXX",  "Fortran", "CUDA",
                                                  "HIP", "OBJC", "ISPC",    "ASM"};
  // Support for a GPU language is a use of its toolkit.
  if ((name == "CUDA" || name == "HIP") && languages.count(name))
    add_package(name, "", true, command);
  if (languages.count(name) &&
      std::find(findings_.languages.begin(), findings_.languages.end(), name) == findings_.languages.end())
    findings_.languages.push_back(name);
}

void CMakeDeclarations::minimum_required(const std::vector<CMakeWord>& words, const CMakeCommand&) {
  if (words.size() < 2 || words[0].text != "VERSION" || state_.directory != state_.top ||
      !(findings_.minimum_version.empty() || (state_.by_default && !has_version_by_default_)))
    return;
  findings_.minimum_version = words[1].text.substr(0, words[1].text.find("..."));
  has_version_by_default_ = state_.by_default;
}

void CMakeDeclarations::add_package(const std::string& name, const std::string& version, bool required,
                                    const CMakeCommand& command) {
  constexpr size_t most = 5000;
  if (name.empty() || name.size() > 200 || name.find('$') != std::string::npos ||
      findings_.packages.size() >= most)
    return;
  const auto [found, added] = packages_.emplace(name, findings_.packages.size());
  if (added) {
    findings_.packages.push_back({name, version, required, innermost_conditions(), place(name, command)});
    findings_.packages.back().reached = is_reached();
    return;
  }
  Package& package = findings_.packages[found->second];
  package.reached |= is_reached();
  if (package.version.empty())
    package.version = version;
  if (state_.conditions.size() < package.conditions.size())
    package.conditions = innermost_conditions();
  package.required |= required;
}

void CMakeDeclarations::find_package(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.empty())
    return;
  std::string version;
  if (words.size() > 1 && !words[1].text.empty() &&
      std::isdigit(static_cast<unsigned char>(words[1].text[0])))
    version = words[1].text.substr(0, words[1].text.find("..."));
  const bool required =
      std::any_of(words.begin(), words.end(), [](const CMakeWord& word) { return word.text == "REQUIRED"; });
  add_package(words[0].text, version, required, command);
  for (const std::string& name : {words[0].text + "_FOUND", to_upper(words[0].text) + "_FOUND"})
    values_.set(name, {"", false});
}
void CMakeDeclarations::check_modules(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.empty())
    return;
  bool required = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    required |= word == "REQUIRED";
    if (word != to_upper(word) && !word.empty()) {
      const size_t end = word.find_first_of("<>=");
      const size_t number = end == std::string::npos ? end : word.find_first_not_of("<>=", end);
      add_package(word.substr(0, end), number == std::string::npos ? "" : word.substr(number), required,
                  command);
    }
  }
  values_.set(words[0].text + "_FOUND", {"", false});
}
void CMakeDeclarations::find_library(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  bool names = true;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "NAMES")
      names = true;
    else if (word == to_upper(word) && word.size() > 3 &&
             word.find_first_of("0123456789.") == std::string::npos)
      names = false;
    else if (names && !words[i].text.empty() && word.find('/') == std::string::npos)
      add_package(word, "", false, command);
  }
  if (!words.empty())
    values_.set(words[0].text, {"", false});
}

void CMakeDeclarations::add_flag(const std::string& flag, const CMakeCommand& command) {
  if (flag.size() > 1 && flag[0] == '-' && flag.find_first_of("$ ") == std::string::npos)
    findings_.flags.emplace(flag, place(flag, command));
}
void CMakeDeclarations::compile_options(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  for (const CMakeWord& word : words)
    for (const std::string& flag : split(word.text, ' '))
      add_flag(flag, command);
}
void CMakeDeclarations::check(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (command.name.find("_flag") != std::string::npos)
    compile_options(words, command);
  if (!words.empty())
    values_.set(words.back().text, {"", false});
}

} // namespace xaas::discover
