// Problem: a project's helpers (`my_option(USE_X "Use X" ON)`) may come from a module outside the tree: one
// of another package, or the tree is only a part of the project. Approach: a call declares an option if it
// has the parts of a declaration: an identifier, a help text, and a default or a list of values with the
// default in it. Rejected: a list of the helpers that are known, because every project has its own.
//
// The shapes, as projects use them:
//   f(NAME "help" [VALUE])                         a switch
//   f(NAME "help" VALUE "condition" [OTHERWISE])   a switch that depends on others
//   f(NAME "help" DEFAULT VALUE...)                a choice
//   f(NAME "help" TYPE VALUE ["condition"])        a typed entry of the cache
//   f(NAME MACRO "help" [VALUE])                   a switch that also defines a macro
//   f(NAME [TYPE] VALUE "help")                    the same in another order
//   f([FEATURE|NAME] NAME DEFAULT VALUE DESCRIPTION "help" [CONDITION "condition"])   with keywords
#include "readers/cmake/guess.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::discover {

bool is_own_command(const std::string& name) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    // Those of CMake 4.1 and earlier, without those that a reader of options handles itself.
    for (const std::string& each : split(
             "add_compile_definitions add_custom_command add_custom_target add_definitions add_dependencies "
             "add_executable add_library add_link_options add_test aux_source_directory block break "
             "build_command build_name cmake_file_api cmake_host_system_information "
             "cmake_instrumentation cmake_language cmake_parse_arguments cmake_path cmake_pkg_config "
             "cmake_policy configure_file continue create_test_sourcelist ctest_build ctest_configure "
             "ctest_coverage ctest_empty_binary_directory ctest_memcheck ctest_read_custom_files "
             "ctest_run_script ctest_sleep ctest_start ctest_submit ctest_test ctest_update ctest_upload "
             "define_property enable_testing endblock exec_program execute_process export "
             "export_library_dependencies file find_file find_path find_program fltk_wrap_ui "
             "get_cmake_property get_directory_property get_filename_component get_property "
             "get_source_file_property get_target_property get_test_property include_directories "
             "include_external_msproject include_regular_expression install install_files "
             "install_programs install_targets link_directories link_libraries list load_cache "
             "load_command make_directory math message output_required_files qt_wrap_cpp qt_wrap_ui remove "
             "remove_definitions separate_arguments set_directory_properties set_source_files_properties "
             "set_target_properties set_tests_properties site_name source_group string subdir_depends "
             "subdirs target_compile_definitions target_compile_features target_include_directories "
             "target_link_directories target_link_libraries target_link_options "
             "target_precompile_headers target_sources try_compile try_run use_mangled_mesa "
             "utility_source variable_requires variable_watch write_file",
             ' '))
      all.insert(each);
    return all;
  }();
  return names.count(name) > 0;
}

namespace {

using Form = GuessedOption::Form;

bool is_identifier(const std::string& text) {
  constexpr size_t longest = 100;
  return text.size() > 1 && text.size() < longest && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(
             text.begin(), text.end(),
             [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// "USE_X", "X" and "Project_ENABLE_X", but not "Project" or "a_target".
bool is_option_name(const CMakeWord& word) {
  if (word.quoted || !word.known || !is_identifier(word.text))
    return false;
  const bool all_upper = word.text == to_upper(word.text);
  const size_t line = word.text.find('_');
  return all_upper || (line != std::string::npos && std::isupper(static_cast<unsigned char>(word.text[0])) &&
                       std::isupper(static_cast<unsigned char>(word.text[line + 1])));
}

// A sentence for users: more than one word.
bool is_help(const CMakeWord& word) {
  return word.quoted && std::isalnum(static_cast<unsigned char>(word.text.empty() ? ' ' : word.text[0])) &&
         word.text.find(' ') != std::string::npos;
}

bool is_switch_value(const CMakeWord& word) {
  return truth_of_constant(word.text) != Truth::unknown ? !word.text.empty() || !word.variable.empty()
                                                        : !word.variable.empty();
}

std::optional<Form> type_of(const CMakeWord& word) {
  if (word.quoted)
    return std::nullopt;
  if (word.text == "BOOL")
    return Form::boolean;
  if (word.text == "STRING")
    return Form::text;
  return word.text == "PATH" || word.text == "FILEPATH" ? std::optional(Form::place) : std::nullopt;
}

bool names_options(const CMakeCommand& command) {
  return command.name.find("option") != std::string::npos;
}

using CMakeWords = std::vector<CMakeWord>;

void set_condition(GuessedOption& option, const CMakeWords& words, size_t at) {
  if (at < words.size())
    option.condition = words[at].text;
  if (at + 1 < words.size())
    option.otherwise = words[at + 1];
}

// NAME "help" DEFAULT VALUE...: the default is one of the values, or a variable.
bool take_choice(GuessedOption& option, const CMakeWords& words, size_t at) {
  if (words.size() - at < 3)
    return false;
  const CMakeWord& initial = words[at];
  bool has_initial = !initial.variable.empty() || (initial.quoted && initial.text.empty());
  for (size_t i = at + 1; i < words.size(); ++i) {
    if (words[i].text.empty() || words[i].text.find(' ') != std::string::npos)
      return false;
    const std::string plain = words[i].text.substr(0, words[i].text.find('['));
    has_initial |= to_lower(plain) == to_lower(initial.text);
  }
  if (!has_initial)
    return false;
  for (size_t i = at + 1; i < words.size(); ++i)
    option.values.push_back(words[i].text);
  option.form = Form::choice;
  option.value = initial;
  return true;
}

// What follows the help text.
bool take_rest(GuessedOption& option, const CMakeCommand& command, const CMakeWords& words, size_t at) {
  if (at == words.size())
    return names_options(command);
  if (const std::optional<Form> type = type_of(words[at])) {
    if (at + 1 >= words.size())
      return false;
    option.form = *type;
    option.value = words[at + 1];
    set_condition(option, words, at + 2);
    return true;
  }
  if (take_choice(option, words, at))
    return true;
  const size_t left = words.size() - at;
  constexpr size_t most = 3; // value, condition, the value without it
  if (!is_switch_value(words[at]) || left > most || (left > 1 && !words[at + 1].quoted))
    return false;
  option.value = words[at];
  set_condition(option, words, at + 1);
  return true;
}

std::optional<GuessedOption> by_position(const CMakeCommand& command, const CMakeWords& words) {
  if (words.size() < 2 || !is_option_name(words[0]))
    return std::nullopt;
  GuessedOption option;
  option.name = words[0].text;
  const bool second_name = words.size() > 2 && is_option_name(words[1]) && is_help(words[2]) &&
                           truth_of_constant(words[1].text) == Truth::unknown && !type_of(words[1]);
  const size_t help = second_name ? 2 : 1;
  if (is_help(words[help])) {
    option.help = words[help].text;
    return take_rest(option, command, words, help + 1) ? std::optional(option) : std::nullopt;
  }
  const std::optional<Form> type = type_of(words[1]);
  const size_t value = type ? 2 : 1;
  if (words.size() != value + 2 || !is_help(words[value + 1]) || (!type && !is_switch_value(words[value])))
    return std::nullopt;
  option.form = type.value_or(Form::boolean);
  option.value = words[value];
  option.help = words[value + 1].text;
  return option;
}

bool is_keyword(const CMakeWord& word) {
  static const std::set<std::string> keywords = {
      "FEATURE",  "NAME",        "OPTION",    "VARIABLE", "DEFAULT",   "VALUE",
      "INITIAL",  "DESCRIPTION", "DOC",       "HELP",     "DOCSTRING", "VALUES",
      "STRINGS",  "CHOICES",     "CONDITION", "DEPENDS",  "TYPE",      "REQUIRED_PACKAGES",
      "ADVANCED", "OPTIONS",     "CATEGORY",  "NO_TPL",   "PURPOSE"};
  return !word.quoted && keywords.count(word.text) > 0;
}

std::optional<GuessedOption> by_keywords(const CMakeCommand& command, const CMakeWords& words) {
  if (!names_options(command) || words.empty())
    return std::nullopt;
  GuessedOption option;
  bool has_default = false;
  if (!is_keyword(words[0]) && is_option_name(words[0]))
    option.name = words[0].text;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!is_keyword(words[i]))
      continue;
    const std::string& key = words[i].text;
    const CMakeWord& next = words[i + 1];
    if ((key == "NAME" || key == "OPTION" || key == "VARIABLE") && option.name.empty())
      option.name = next.text;
    else if (key == "FEATURE" && option.name.empty()) // such helpers compose the name (ecbuild)
      option.name = "ENABLE_" + next.text;
    else if (key == "DEFAULT" || key == "VALUE" || key == "INITIAL")
      option.value = next, has_default = true;
    else if (key == "DESCRIPTION" || key == "DOC" || key == "HELP" || key == "DOCSTRING" || key == "PURPOSE")
      option.help = next.text;
    else if (key == "CONDITION" || key == "DEPENDS")
      option.condition = next.quoted ? next.text : "";
    else if (key == "VALUES" || key == "STRINGS" || key == "CHOICES" || key == "OPTIONS")
      for (size_t j = i + 1; j < words.size() && !is_keyword(words[j]); ++j)
        option.values.push_back(words[j].text);
  }
  if (option.values.size() > 1)
    option.form = Form::choice;
  else if (!is_switch_value(option.value))
    option.form = Form::text;
  if (!has_default || option.help.empty() || !is_identifier(option.name))
    return std::nullopt;
  return option;
}

} // namespace

std::optional<GuessedOption> guess_option(const CMakeCommand& command, const std::vector<CMakeWord>& words) {
  constexpr size_t most = 64;
  if (words.size() > most || is_own_command(command.name))
    return std::nullopt;
  if (std::optional<GuessedOption> option = by_keywords(command, words))
    return option;
  return by_position(command, words);
}

} // namespace xaas::discover
