// Reads a CMake project as a program: its commands are followed as CMake would follow them, through
// include(), add_subdirectory(), functions and macros. So an option is found whichever command declares it,
// and whatever the name of a declaring macro.
//
// Problem: nothing may be executed, and the machine is unknown, yet defaults depend on variables, conditions
// and checks. Approach: an interpreter for the small part of the language that decides options, over values
// that may be unknown. The results of checks, of programs and of the machine's files are unknown. Both sides
// of a condition are followed, because options can decide it. Of their assignments, those on the side taken
// by a build without options count; if that is unknown, those on the first side, where projects write the
// case "found". Only code that no option can reach, such as code for another operating system, is left out.
//
// Rejected: searching for `option(`, which finds no macros, no value lists and no defaults from variables;
// running CMake with a trace, which executes the project, needs its dependencies, and sees only one path.
#include "knowledge.h"
#include "readers/cmake/condition.h"
#include "readers/cmake/declarations.h"
#include "readers/cmake/value_commands.h"
#include "readers/readers.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace xaas::discover {

namespace {

using Word = CMakeWord;

class Reader {
public:
  Reader(const TreeFiles& tree, const Limits& limits, Findings& findings)
      : tree_(tree), findings_(findings), values_(limits.commands), declarations_(values_, state_, findings) {
    for (const std::string& path : tree.paths())
      if (path.ends_with(".cmake"))
        modules_[path.substr(path.rfind('/') + 1)].push_back(path);
    state_.top = findings.directory;
    values_.set("CMAKE_SOURCE_DIR",
                {std::string(cmake_source_root) + (state_.top.empty() ? "" : "/" + state_.top)});
    values_.set("CMAKE_BINARY_DIR", {"/build"});
    values_.set("CMAKE_BUILD_TYPE", {"Release"}); // as with `xaas build`
    values_.set("CMAKE_SIZEOF_VOID_P", {"8"});
    values_.set("CMAKE_Fortran_COMPILER_ID", {"LLVMFlang"});
  }

  void read() {
    run_directory(state_.top);
    declarations_.take_compared_values();
    declarations_.take_linked_names();
    note_guesses();
    if (values_.is_spent())
      findings_.notes.push_back("CMake: too many commands; the rest is not read");
  }

private:
  static constexpr int max_depth = 48; // of files, calls and blocks together

  struct File {
    std::string path; // relative
    CMakeFile content;
    std::vector<size_t> ends; // for each command that begins a block, the one that ends it
    std::unordered_map<size_t, std::vector<size_t>> parts; // for each if, its elseif and else
  };
  struct Function {
    std::shared_ptr<const File> file;
    size_t begin = 0, end = 0; // of its body
    std::vector<std::string> parameters;
    bool is_macro = false;
  };
  // --- files

  std::shared_ptr<const File> open(const std::string& path) {
    if (const auto found = files_.find(path); found != files_.end())
      return found->second;
    std::shared_ptr<File> file;
    if (const std::optional<std::string> text = tree_.text(path)) {
      file = std::make_shared<File>();
      file->path = path;
      file->content = parse_cmake(*text);
      find_blocks(*file);
      if (!file->content.error.empty())
        findings_.notes.push_back(path + ":" + std::to_string(file->content.error_line) + ": " +
                                  file->content.error + "; what follows is not read");
    }
    return files_[path] = file;
  }

  static void find_blocks(File& file) {
    static const std::unordered_map<std::string, std::string> closes = {{"endif", "if"},
                                                                        {"endforeach", "foreach"},
                                                                        {"endwhile", "while"},
                                                                        {"endfunction", "function"},
                                                                        {"endmacro", "macro"}};
    const std::vector<CMakeCommand>& commands = file.content.commands;
    file.ends.assign(commands.size(), commands.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < commands.size(); ++i) {
      const std::string& name = commands[i].name;
      if (name == "if" || name == "foreach" || name == "while" || name == "function" || name == "macro") {
        open.push_back(i);
      } else if (name == "elseif" || name == "else") {
        if (!open.empty() && commands[open.back()].name == "if")
          file.parts[open.back()].push_back(i);
      } else if (const auto close = closes.find(name); close != closes.end()) {
        if (!open.empty() && commands[open.back()].name == close->second) {
          file.ends[open.back()] = i;
          open.pop_back();
        }
      }
    }
  }

  void run_directory(const std::string& named) {
    const std::string directory = tree_.resolved(named);
    const std::string path = directory.empty() ? "CMakeLists.txt" : directory + "/CMakeLists.txt";
    const std::shared_ptr<const File> file = open(path);
    if (!file || !entered_directories_.insert(directory).second)
      return;
    const std::string before = state_.directory;
    state_.directory = directory;
    values_.push_scope();
    values_.set("CMAKE_CURRENT_SOURCE_DIR",
                {std::string(cmake_source_root) + (directory.empty() ? "" : "/" + directory)});
    run_file(file);
    values_.pop_scope();
    state_.directory = before;
  }

  void run_file(const std::shared_ptr<const File>& file) {
    const std::shared_ptr<const File> before = file_;
    const std::string list_before = values_.list_directory();
    const Returning returning(*this);
    enter(file);
    values_.set_list_directory(
        file->path.find('/') == std::string::npos ? "" : file->path.substr(0, file->path.rfind('/')));
    guarded_ = false;
    run(0, file->content.commands.size());
    guarded_ = false;
    enter(before);
    values_.set_list_directory(list_before);
  }

  void enter(const std::shared_ptr<const File>& file) {
    file_ = file;
    state_.file = file ? file->path : std::string();
  }

  void include(const std::string& name) {
    std::string path = tree_.resolved(path_in_tree(name, state_.directory));
    if (!tree_.has(path)) {
      const auto found =
          modules_.find(fs::path(name).filename().string() + (name.ends_with(".cmake") ? "" : ".cmake"));
      if (found == modules_.end())
        return; // a module of CMake itself
      path = found->second.front();
      for (const std::string& each : found->second) // one below the includer, if there is one
        if (each.starts_with(state_.directory + "/"))
          path = each;
    }
    if (includes_[path]++ < 4)
      if (const auto file = open(path))
        run_file(file);
  }

  static std::string text_of(const CMakeCommand& command) {
    std::string text;
    for (const CMakeArgument& argument : command.arguments)
      text += (text.empty() ? "" : " ") + argument.text;
    return text.substr(0, 200);
  }

  // --- running

  // A file or function: return() ends it.
  class Returning {
  public:
    explicit Returning(Reader& reader)
        : reader_(reader), returned_(reader.returned_), by_default_(reader.state_.by_default),
          certain_(reader.state_.certain) {
      reader.returned_ = false;
    }
    Returning(const Returning&) = delete;
    Returning& operator=(const Returning&) = delete;
    ~Returning() {
      reader_.returned_ = returned_;
      reader_.state_.by_default = by_default_;
      reader_.state_.certain = certain_;
    }

  private:
    Reader& reader_;
    bool returned_, by_default_, certain_;
  };

  const std::vector<CMakeCommand>& commands() const { return file_->content.commands; }

  void run(size_t begin, size_t end) {
    if (depth_ >= max_depth) {
      note_depth();
      return;
    }
    ++depth_;
    for (size_t i = begin; i < end && !values_.is_spent() && !guarded_; ++i) {
      values_.charge_command();
      const CMakeCommand& command = commands()[i];
      const size_t last = std::min(file_->ends[i], end);
      if (command.name == "if") {
        run_if(i, last);
        i = last;
      } else if (command.name == "foreach") {
        run_foreach(i, last);
        i = last;
      } else if (command.name == "while") {
        run(i + 1, last);
        i = last;
      } else if (command.name == "function" || command.name == "macro") {
        define(command, i, last);
        i = last;
      } else {
        execute(command);
      }
    }
    --depth_;
  }

  void note_guesses() {
    const auto guessed = std::count_if(findings_.options.begin(), findings_.options.end(),
                                       [](const Option& option) { return option.guessed; });
    if (guessed > 0)
      findings_.notes.push_back(std::to_string(guessed) + (guessed == 1 ? " option is" : " options are") +
                                " guessed, because the commands that declare them are not in the tree");
  }

  void note_depth() {
    if (!deep_)
      findings_.notes.push_back(file_->path + ": nested more than " + std::to_string(max_depth) +
                                " deep; deeper parts are not read");
    deep_ = true;
  }

  void run_if(size_t begin, size_t end) {
    // The parts of a condition: the command that begins each, and its end.
    std::vector<size_t> parts = {begin};
    if (const auto found = file_->parts.find(begin); found != file_->parts.end())
      parts.insert(parts.end(), found->second.begin(), found->second.end());
    parts.push_back(end);

    std::optional<std::vector<CMakeValues::Change>> chosen; // of the part that a build without options takes
    std::vector<CMakeValues::Change> others;
    Verdict earlier{Truth::no, true}; // of the parts before
    std::string negated;
    bool doubt = false; // it is unknown whether an earlier part is taken
    for (size_t part = 0; part + 1 < parts.size() && parts[part] < end && !values_.is_spent(); ++part) {
      const CMakeCommand& command = commands()[parts[part]];
      values_.charge_command();
      Verdict verdict{Truth::yes, true};
      std::string condition = negated;
      if (command.name != "else") {
        const std::vector<Word> words = values_.words_of(command);
        verdict = evaluate_condition(values_, words);
        declarations_.note_comparisons(words);
        condition = text_of(command);
        if (negated.size() < 200)
          negated += (negated.empty() ? "NOT (" : " AND NOT (") + condition + ")";
      }
      const bool impossible =
          (verdict.truth == Truth::no && verdict.fixed) || (earlier.truth == Truth::yes && earlier.fixed);
      if (impossible)
        continue;
      const bool may_be = verdict.truth == Truth::yes || (verdict.truth == Truth::unknown && verdict.likely);
      const bool taken = !chosen && may_be && state_.by_default;
      state_.conditions.push_back(condition);
      const bool by_default = state_.by_default, certain = state_.certain;
      state_.by_default = taken;
      state_.certain = certain && taken && verdict.truth == Truth::yes && !doubt;
      doubt |= verdict.truth == Truth::unknown;
      values_.begin_log();
      run(parts[part] + 1, std::min(parts[part + 1], end));
      state_.by_default = by_default;
      state_.certain = certain;
      state_.conditions.pop_back();
      std::vector<CMakeValues::Change> after = values_.take_back();
      if (taken || (!state_.by_default && !chosen))
        chosen = std::move(after);
      else if (verdict.truth == Truth::unknown && others.size() < 10'000)
        std::move(after.begin(), after.end(), std::back_inserter(others));
      if (verdict.truth == Truth::yes)
        earlier = verdict;
    }
    if (chosen)
      values_.apply(*std::move(chosen));
    if (returned_)
      state_.by_default = state_.certain = false;
    // A value that only other parts set is better than none.
    values_.apply_unknown(others);
  }

  void run_foreach(size_t begin, size_t end) {
    const std::vector<Word> words = values_.words_of(commands()[begin]);
    if (words.empty())
      return;
    std::vector<Word> items;
    if (words.size() > 1 && words[1].text == "IN") {
      bool lists = false;
      for (size_t i = 2; i < words.size(); ++i) {
        if (words[i].text == "LISTS" || words[i].text == "ITEMS") {
          lists = words[i].text == "LISTS";
        } else if (lists) {
          const CMakeValue list = values_.value_of(words[i].text);
          for (std::string& item : split(list.text, ';'))
            items.push_back({std::move(item), list.known, false});
        } else {
          items.push_back(words[i]);
        }
      }
    } else if (words.size() > 1 && words[1].text == "RANGE") {
      items.push_back({"0", true, false});
    } else {
      items.assign(words.begin() + 1, words.end());
    }
    constexpr size_t max_items = 200;
    if (items.size() > max_items)
      items.resize(max_items);
    for (const Word& item : items) {
      values_.set(words[0].text, {item.text, item.known});
      run(begin + 1, end);
    }
  }

  void define(const CMakeCommand& command, size_t begin, size_t end) {
    const std::vector<Word> words = values_.words_of(command);
    if (words.empty())
      return;
    Function function{file_, begin + 1, end, {}, command.name == "macro"};
    for (size_t i = 1; i < words.size(); ++i)
      function.parameters.push_back(words[i].text);
    functions_[to_lower(words[0].text)] = std::move(function);
  }

  // The variables that a call sets: the parameters, ARGC, ARGN, ARGV, ARGV0, ARGV1 and so on.
  static std::unordered_map<std::string, CMakeValue> arguments_of(const Function& function,
                                                                  const std::vector<Word>& words) {
    std::unordered_map<std::string, CMakeValue> arguments;
    std::vector<std::string> all, rest;
    bool all_known = true;
    for (size_t i = 0; i < words.size(); ++i) {
      arguments["ARGV" + std::to_string(i)] = {words[i].text, words[i].known};
      if (i < function.parameters.size())
        arguments[function.parameters[i]] = {words[i].text, words[i].known};
      else
        rest.push_back(words[i].text);
      all.push_back(words[i].text);
      all_known &= words[i].known;
    }
    for (size_t i = words.size(); i < function.parameters.size(); ++i)
      arguments[function.parameters[i]] = {};
    arguments["ARGC"] = {std::to_string(words.size())};
    arguments["ARGN"] = {join(rest, ";"), all_known};
    arguments["ARGV"] = {join(all, ";"), all_known};
    return arguments;
  }

  void call(const Function& function, const CMakeCommand& command) {
    if (depth_ >= max_depth)
      return note_depth();
    // With unknown values a recursion has no end, and one that calls itself twice would use up the budget.
    constexpr std::ptrdiff_t deepest_recursion = 8;
    if (std::count_if(state_.calls.begin(), state_.calls.end(), [&](const auto& each) {
          return each.command->name == command.name;
        }) >= deepest_recursion)
      return;
    const std::vector<Word> words = values_.words_of(command);
    std::unordered_map<std::string, CMakeValue> arguments = arguments_of(function, words);
    const CMakeDeclarations::Mark mark = declarations_.begin_call();
    state_.calls.push_back({&command, file_->path});
    const std::shared_ptr<const File> file_before = file_;
    const std::string list_before = values_.list_directory();
    const Returning returning(*this);
    enter(function.file);
    if (function.is_macro) {
      // A macro's parameters are not variables, but that makes no difference here: they are removed at its
      // end.
      std::map<std::string, std::optional<CMakeValue>> hidden;
      for (const auto& [name, value] : arguments) {
        const CMakeValue* const before = values_.find_local(name);
        hidden[name] = before ? std::optional(*before) : std::nullopt;
        values_.set(name, value);
      }
      run(function.begin, function.end);
      for (auto& [name, value] : hidden)
        if (value)
          values_.set(name, *std::move(value));
        else
          values_.unset(name);
    } else {
      values_.push_scope(std::move(arguments));
      run(function.begin, function.end);
      values_.pop_scope();
    }
    enter(file_before);
    values_.set_list_directory(list_before);
    state_.calls.pop_back();
    declarations_.end_call(mark, words);
  }

  // --- commands

  void execute(const CMakeCommand& command) {
    declarations_.note_imported_targets(command);
    if (const auto function = functions_.find(command.name); function != functions_.end())
      return call(Function(function->second), command);
    static const std::unordered_map<std::string, void (Reader::*)(const std::vector<Word>&)> flow = {
        {"include", &Reader::include_command},
        {"add_subdirectory", &Reader::add_subdirectory},
        {"include_guard", &Reader::include_guard},
        {"return", &Reader::return_command}};
    const std::vector<Word> words = values_.words_of(command);
    if (command.name == "message")
      declarations_.fatal_message(words, command);
    else if (const auto found = flow.find(command.name); found != flow.end())
      (this->*found->second)(words);
    else if (!declarations_.execute(command, words) && !declarations_.guess(command, words))
      compute(command, words);
    if (command.name == "find_package" && !words.empty())
      enter_find_module(words[0].text);
  }

  void compute(const CMakeCommand& command, const std::vector<Word>& words) {
    // string(TOLOWER ${X} Y): conditions over Y are about X.
    if (command.name == "string" && words.size() > 2 && !words[1].variable.empty() &&
        (words[0].text == "TOUPPER" || words[0].text == "TOLOWER"))
      declarations_.note_alias(words[2].text, words[1].variable);
    execute_value_command(values_, tree_, state_.directory, command, words);
  }

  void include_command(const std::vector<Word>& words) {
    if (words.empty())
      return;
    const bool guarded = guarded_;
    include(words[0].text);
    guarded_ = guarded;
  }
  // The project's own module for something unknown may look for a known library.
  void enter_find_module(const std::string& package) {
    const std::string module = "Find" + package;
    if (Knowledge::get().entry(Knowledge::words_of(package)) || !modules_.contains(module + ".cmake"))
      return;
    if (!entered_modules_.insert(module).second)
      return; // it may find its package's own configuration, by the same name
    const bool guarded = guarded_;
    include(module);
    guarded_ = guarded;
    entered_modules_.erase(module);
  }
  void add_subdirectory(const std::vector<Word>& words) {
    if (words.empty())
      return;
    const std::string path = path_in_tree(words[0].text, state_.directory);
    const bool guarded = guarded_;
    if (path != "\n")
      run_directory(path);
    guarded_ = guarded;
  }
  void include_guard(const std::vector<Word>&) { guarded_ = includes_[file_->path] > 1; }

  // The rest is still read, because some option may lead there.
  void return_command(const std::vector<Word>&) {
    if (state_.certain)
      returned_ = true;
  }

  const TreeFiles& tree_;
  Findings& findings_;
  CMakeValues values_;
  CMakeState state_;
  CMakeDeclarations declarations_;
  std::map<std::string, std::vector<std::string>> modules_; // files *.cmake by name
  std::map<std::string, std::shared_ptr<const File>> files_;
  std::map<std::string, int> includes_;
  std::set<std::string> entered_directories_;
  std::unordered_map<std::string, Function> functions_;
  std::shared_ptr<const File> file_;
  bool returned_ = false; // only other builds run the rest of this file or function
  std::set<std::string> entered_modules_;
  bool guarded_ = false; // the rest of the file was read before
  bool deep_ = false;    // a note says so already
  int depth_ = 0;
};

} // namespace

void read_cmake(const TreeFiles& tree, const Limits& limits, Findings& findings) {
  Reader(tree, limits, findings).read();
}

} // namespace xaas::discover
