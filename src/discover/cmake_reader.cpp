// Reads a CMake project as a language: its commands are followed as CMake would, through include(),
// add_subdirectory(), functions and macros, so that an option is found whoever declares it and whatever the
// declaring macro is called.
//
// Problem: nothing may be executed, and no machine is known; yet defaults come out of variables, conditions
// and checks. Approach: an interpreter of the small part of the language that decides options, over values
// that may be unknown. What a check, a program or a file of the machine would answer is unknown. Both sides
// of a condition are followed, because options that somebody sets decide it; of what they assign, the side
// counts that a build without any option takes (where that is unknown: the first, which is what projects
// write for "found"). Only what no option can change, such as another operating system, is left out.
//
// Rejected: searching for `option(` (finds no macro, no value list, no default that is a variable), and
// running CMake with a trace (executes the project, needs its dependencies, and sees one path only).
#include "cmake_language.h"
#include "knowledge.h"
#include "readers.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <fnmatch.h>
#include <functional>
#include <memory>
#include <unordered_map>

namespace xaas::discover {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}
std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

struct Value {
  std::string text;
  bool known = true; // else the text is what is left of it
};

enum class Truth { no, yes, unknown };

struct Verdict {
  Truth truth = Truth::unknown;
  bool fixed = false; // no option can change it
  bool likely = true; // of an unknown one: "found" is what projects ask, and write first
};

// Variables of CMake's own that say what machine and compiler this is. Ours is Linux, with Clang.
const std::unordered_map<std::string, std::string>& fixed_variables() {
  static const std::unordered_map<std::string, std::string> variables = {{"WIN32", ""},
                                                                         {"APPLE", ""},
                                                                         {"MSVC", ""},
                                                                         {"MINGW", ""},
                                                                         {"CYGWIN", ""},
                                                                         {"ANDROID", ""},
                                                                         {"IOS", ""},
                                                                         {"BORLAND", ""},
                                                                         {"MSYS", ""},
                                                                         {"XCODE", ""},
                                                                         {"EMSCRIPTEN", ""},
                                                                         {"UNIX", "1"},
                                                                         {"LINUX", "1"},
                                                                         {"CMAKE_SYSTEM_NAME", "Linux"},
                                                                         {"CMAKE_HOST_SYSTEM_NAME", "Linux"},
                                                                         {"CMAKE_HOST_UNIX", "1"},
                                                                         {"CMAKE_HOST_WIN32", ""},
                                                                         {"CMAKE_HOST_APPLE", ""},
                                                                         {"CMAKE_CROSSCOMPILING", ""},
                                                                         {"CMAKE_C_COMPILER_ID", "Clang"},
                                                                         {"CMAKE_CXX_COMPILER_ID", "Clang"},
                                                                         {"CMAKE_COMPILER_IS_GNUCC", ""},
                                                                         {"CMAKE_COMPILER_IS_GNUCXX", ""}};
  return variables;
}

class Reader {
public:
  Reader(const TreeFiles& tree, const Limits& limits, Findings& findings)
      : tree_(tree), commands_left_(limits.commands), findings_(findings) {
    for (const std::string& path : tree.paths())
      if (path.ends_with(".cmake"))
        modules_[path.substr(path.rfind('/') + 1)].push_back(path);
    scopes_.emplace_back();
    top_ = findings.directory;
    set("CMAKE_SOURCE_DIR", {std::string(root_name) + (top_.empty() ? "" : "/" + top_)});
    set("CMAKE_BINARY_DIR", {"/build"});
    set("CMAKE_BUILD_TYPE", {"Release"}); // as `xaas build` has it
    set("CMAKE_SIZEOF_VOID_P", {"8"});
    set("CMAKE_Fortran_COMPILER_ID", {"LLVMFlang"});
  }

  void read() {
    run_directory(top_);
    if (commands_left_ == 0)
      findings_.notes.push_back("CMake: more commands than are followed; the rest is not read");
  }

private:
  // The tree, as a directory of its own: no path of this machine comes into a value.
  static constexpr const char* root_name = "/source";
  static constexpr int max_depth = 48; // of files, calls and blocks together

  struct File {
    std::string path; // relative
    CMakeFile content;
    std::vector<size_t> ends; // of each command that begins a block: what ends it
    std::unordered_map<size_t, std::vector<size_t>> parts; // of each if: its elseif and else
  };
  struct Function {
    std::shared_ptr<const File> file;
    size_t begin = 0, end = 0; // of its body
    std::vector<std::string> parameters;
    bool is_macro = false;
  };
  using Variables = std::unordered_map<std::string, Value>;

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

  // The path in the tree of an absolute or relative name; empty: it is not in the tree.
  static std::string in_tree(const std::string& name, const std::string& directory) {
    const fs::path path =
        (name.starts_with("/") ? fs::path(name) : fs::path(root_name) / directory / name).lexically_normal();
    std::string text = path.string();
    if (text.size() > 1 && text.ends_with('/'))
      text.pop_back();
    const std::string prefix = std::string(root_name) + "/";
    if (text == root_name)
      return "";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string("\n");
  }

  void run_directory(const std::string& directory) {
    const std::string path = directory.empty() ? "CMakeLists.txt" : directory + "/CMakeLists.txt";
    const std::shared_ptr<const File> file = open(path);
    if (!file || !entered_directories_.insert(directory).second)
      return;
    const std::string before = directory_;
    directory_ = directory;
    scopes_.emplace_back();
    set("CMAKE_CURRENT_SOURCE_DIR", {std::string(root_name) + (directory.empty() ? "" : "/" + directory)});
    run_file(file);
    scopes_.pop_back();
    directory_ = before;
  }

  void run_file(const std::shared_ptr<const File>& file) {
    const std::shared_ptr<const File> before = file_;
    const std::string list_before = list_directory_;
    const Returning returning(*this);
    file_ = file;
    list_directory_ =
        file->path.find('/') == std::string::npos ? "" : file->path.substr(0, file->path.rfind('/'));
    guarded_ = false;
    run(0, file->content.commands.size());
    guarded_ = false;
    file_ = before;
    list_directory_ = list_before;
  }

  void include(const std::string& name) {
    std::string path = in_tree(name, directory_);
    if (!tree_.has(path)) {
      const auto found =
          modules_.find(fs::path(name).filename().string() + (name.ends_with(".cmake") ? "" : ".cmake"));
      if (found == modules_.end())
        return; // CMake's own
      path = found->second.front();
      for (const std::string& each : found->second) // one below who asks, if there is one
        if (each.starts_with(directory_ + "/"))
          path = each;
    }
    if (includes_[path]++ < 4)
      if (const auto file = open(path))
        run_file(file);
  }

  // --- values

  void set(const std::string& name, Value value) { write(scopes_.size() - 1, name, std::move(value)); }
  void unset(const std::string& name) { write(scopes_.size() - 1, name, std::nullopt); }

  // What the parts of a condition change is written down, so that it can be taken back.
  struct Change {
    size_t scope;
    std::string name;
    std::optional<Value> before;
  };
  struct Log {
    size_t scopes; // that were there at its beginning; others are gone at its end
    std::vector<Change> changes;
  };
  void write(size_t scope, const std::string& name, std::optional<Value> value) {
    constexpr size_t longest = 20'000;
    if (value && value->text.size() > longest) {
      value->text.resize(longest);
      value->known = false;
    }
    charge(value ? value->text.size() : 0);
    Variables& variables = scopes_[scope];
    const auto found = variables.find(name);
    if (!logs_.empty() && scope < logs_.back().scopes)
      logs_.back().changes.push_back(
          {scope, name, found == variables.end() ? std::nullopt : std::optional(found->second)});
    if (value)
      variables[name] = *std::move(value);
    else if (found != variables.end())
      variables.erase(found);
  }
  // Long values cost as many commands as short ones of their length.
  void charge(size_t bytes) { commands_left_ -= std::min<uint64_t>(commands_left_, bytes / 64); }

  // Takes the changes back; gives what they had made.
  std::vector<Change> take_back(const Log& log) {
    std::vector<Change> after;
    std::set<std::pair<size_t, std::string>> seen;
    for (const Change& change : log.changes)
      if (seen.insert({change.scope, change.name}).second) {
        const auto found = scopes_[change.scope].find(change.name);
        after.push_back({change.scope, change.name,
                         found == scopes_[change.scope].end() ? std::nullopt : std::optional(found->second)});
      }
    for (auto change = log.changes.rbegin(); change != log.changes.rend(); ++change)
      if (change->before)
        scopes_[change->scope][change->name] = *change->before;
      else
        scopes_[change->scope].erase(change->name);
    return after;
  }

  const Value* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end())
        return &found->second;
    const auto cached = cache_.find(name);
    return cached == cache_.end() ? nullptr : &cached->second;
  }

  Value value_of(const std::string& name) const {
    if (name == "CMAKE_CURRENT_LIST_DIR")
      return {std::string(root_name) + (list_directory_.empty() ? "" : "/" + list_directory_)};
    if (const Value* found = find(name))
      return *found;
    if (const auto fixed = fixed_variables().find(name); fixed != fixed_variables().end())
      return {fixed->second};
    return {"", !name.starts_with("CMAKE_") && !name.ends_with("_FOUND") && !name.ends_with("_found")};
  }

  // ${...}, also within each other.
  Value expand(const std::string& text) const {
    Value result;
    size_t at = 0;
    expand_until(text, at, '\0', result, 0);
    return result;
  }
  void expand_until(const std::string& text, size_t& at, char end, Value& result, int depth) const {
    constexpr int deepest = 20;
    while (at < text.size() && (end == '\0' || text[at] != end)) {
      if (depth < deepest && text.compare(at, 2, "${") == 0) {
        at += 2;
        Value name;
        expand_until(text, at, '}', name, depth + 1);
        ++at;
        const Value value = value_of(name.text);
        result.known &= name.known && value.known;
        if (result.text.size() < 20'000)
          result.text += value.text;
      } else if (text.compare(at, 5, "$ENV{") == 0) {
        at = std::min(text.find('}', at), text.size() - 1) + 1;
        result.known = false;
      } else {
        result.text.push_back(text[at++]);
      }
    }
  }

  struct Word {
    std::string text;
    bool known = true, quoted = false;
    bool literal = false;      // as the file has it
    std::string variable = {}; // it is the value of this one
  };
  std::vector<Word> words_of(const CMakeCommand& command) {
    std::vector<Word> words;
    size_t bytes = 0;
    constexpr size_t most_words = 20'000, most_bytes = 2'000'000;
    for (const CMakeArgument& argument : command.arguments) {
      if (words.size() > most_words || bytes > most_bytes) {
        charge(bytes);
        break;
      }
      if (argument.bracket) {
        words.push_back({argument.text, true, true, true});
        continue;
      }
      Value value = expand(argument.text);
      bytes += value.text.size();
      const bool literal = argument.text.find("${") == std::string::npos;
      std::string variable;
      if (argument.text.starts_with("${") && argument.text.find('}') == argument.text.size() - 1)
        variable = argument.text.substr(2, argument.text.size() - 3);
      if (argument.quoted) {
        words.push_back({std::move(value.text), value.known, true, literal, variable});
      } else if (literal && value.text.find(';') == std::string::npos) {
        words.push_back({std::move(value.text), value.known, false, true});
      } else {
        // Nothing, if it is known to be empty.
        if (value.text.empty() && !value.known)
          words.push_back({"", false, false, false, variable});
        for (std::string& part : split(value.text, ';'))
          if (!part.empty())
            words.push_back({std::move(part), value.known, false, literal, variable});
      }
    }
    if (bytes > 10'000)
      charge(bytes);
    return words;
  }

  // --- conditions

  static Truth constant(const std::string& text) {
    const std::string word = upper(text);
    if (word == "1" || word == "ON" || word == "YES" || word == "TRUE" || word == "Y")
      return Truth::yes;
    if (word.empty() || word == "0" || word == "OFF" || word == "NO" || word == "FALSE" || word == "N" ||
        word == "IGNORE" || word == "NOTFOUND" || word.ends_with("-NOTFOUND"))
      return Truth::no;
    if (word.find_first_not_of("0123456789") == std::string::npos)
      return Truth::yes;
    return Truth::unknown;
  }

  // if(<variable|constant>)
  Verdict truth_of(const Word& word) const {
    if (!word.known)
      return {};
    if (const Truth truth = constant(word.text); truth != Truth::unknown)
      return {truth, word.literal || is_fixed_variable(word.variable)};
    if (fixed_variables().count(word.text) && !find(word.text))
      return {constant(fixed_variables().at(word.text)), true};
    const Value value = value_of(word.text);
    if (!value.known)
      return Knowledge::get().is_other_compiler(Knowledge::words_of(word.text)) ? Verdict{Truth::no, false}
                                                                                : Verdict();
    const Truth truth = constant(value.text);
    return {truth == Truth::unknown ? Truth::yes : truth, false};
  }

  bool is_fixed_variable(const std::string& name) const {
    return !name.empty() && fixed_variables().count(name) && !find(name);
  }

  // A side of a comparison: a variable's value where there is one of that name.
  Value side(const Word& word) const {
    if (!word.known)
      return {word.text, false};
    if (!word.quoted && (find(word.text) || fixed_variables().count(word.text)))
      return value_of(word.text);
    return {word.text};
  }

  class Condition {
  public:
    // `words` must outlive it.
    Condition(const Reader& reader, const std::vector<Word>& words) : reader_(reader), words_(words) {}
    Verdict evaluate() { return any(); }

  private:
    bool is(const char* word) const {
      return at_ < words_.size() && !words_[at_].quoted && words_[at_].text == word;
    }
    Verdict any() {
      Verdict left = all();
      while (is("OR")) {
        ++at_;
        const Verdict right = all();
        if (left.truth == Truth::yes || right.truth == Truth::yes)
          left = {Truth::yes, left.truth == Truth::yes ? left.fixed : right.fixed};
        else if (left.truth == Truth::no && right.truth == Truth::no)
          left = {Truth::no, left.fixed && right.fixed};
        else
          left = {Truth::unknown, false, left.likely || right.likely};
      }
      return left;
    }
    Verdict all() {
      Verdict left = one();
      while (is("AND")) {
        ++at_;
        const Verdict right = one();
        if (left.truth == Truth::no || right.truth == Truth::no)
          left = {Truth::no,
                  (left.truth == Truth::no && left.fixed) || (right.truth == Truth::no && right.fixed)};
        else if (left.truth == Truth::yes && right.truth == Truth::yes)
          left = {Truth::yes, left.fixed && right.fixed};
        else
          left = {Truth::unknown, false, left.likely && right.likely};
      }
      return left;
    }
    Verdict one() {
      if (is("NOT")) {
        ++at_;
        if (++depth_ > deepest)
          return {};
        Verdict verdict = one();
        --depth_;
        if (verdict.truth != Truth::unknown)
          verdict.truth = verdict.truth == Truth::yes ? Truth::no : Truth::yes;
        verdict.likely = !verdict.likely;
        return verdict;
      }
      if (is("(")) {
        ++at_;
        if (++depth_ > deepest)
          return {};
        const Verdict verdict = any();
        --depth_;
        at_ += is(")");
        return verdict;
      }
      for (const char* test : {"EXISTS", "TARGET", "COMMAND", "POLICY", "IS_DIRECTORY", "TEST", "IS_ABSOLUTE",
                               "IS_SYMLINK", "IS_READABLE"})
        if (is(test) && at_ + 1 < words_.size()) {
          at_ += 2;
          return {};
        }
      if (is("DEFINED") && at_ + 1 < words_.size()) {
        const std::string& name = words_[at_ + 1].text;
        at_ += 2;
        return {reader_.find(name)           ? Truth::yes
                : name.starts_with("CMAKE_") ? Truth::unknown
                                             : Truth::no,
                false};
      }
      if (at_ >= words_.size())
        return {};
      const Word& left = words_[at_++];
      if (at_ + 1 < words_.size() && !words_[at_].quoted)
        if (const auto compare = comparison(words_[at_].text)) {
          const Verdict verdict = (this->**compare)(left, words_[at_ + 1], words_[at_].text);
          at_ += 2;
          return verdict;
        }
      return reader_.truth_of(left);
    }

    using Compare = Verdict (Condition::*)(const Word&, const Word&, const std::string&) const;
    static std::optional<Compare> comparison(const std::string& name) {
      if (name == "STREQUAL" || name == "EQUAL" || name == "VERSION_EQUAL" || name == "PATH_EQUAL")
        return &Condition::equal;
      if (name == "MATCHES")
        return &Condition::matches;
      for (const char* other : {"LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL", "STRLESS", "STRGREATER",
                                "STRLESS_EQUAL", "STRGREATER_EQUAL", "VERSION_LESS", "VERSION_GREATER",
                                "VERSION_LESS_EQUAL", "VERSION_GREATER_EQUAL", "IN_LIST", "IS_NEWER_THAN"})
        if (name == other)
          return &Condition::unknown;
      return std::nullopt;
    }
    Verdict equal(const Word& left, const Word& right, const std::string&) const {
      // Of all values that an unknown one may have, few are this one.
      const Value a = reader_.side(left), b = reader_.side(right);
      if (!a.known || !b.known)
        return {Truth::no, false};
      return {a.text == b.text ? Truth::yes : Truth::no, is_fixed(left)};
    }
    // A plain word within a plain word; other expressions are not tried.
    Verdict matches(const Word& left, const Word& right, const std::string&) const {
      const Value value = reader_.side(left);
      std::string pattern = right.text;
      if (pattern.starts_with("^"))
        pattern.erase(0, 1);
      if (pattern.ends_with("$"))
        pattern.pop_back();
      if (!right.known || pattern.find_first_of("[]()*+?.|\\^$") != std::string::npos)
        return {};
      if (!value.known)
        return {Truth::no, false};
      return {value.text.find(pattern) != std::string::npos ? Truth::yes : Truth::no, is_fixed(left)};
    }
    // CMake itself is a new one.
    Verdict unknown(const Word& left, const Word&, const std::string& name) const {
      if (left.text == "CMAKE_VERSION" || left.variable == "CMAKE_VERSION")
        return {name.find("LESS") == std::string::npos ? Truth::yes : Truth::no, false};
      return {};
    }
    bool is_fixed(const Word& left) const {
      return reader_.is_fixed_variable(left.variable) ||
             (left.literal && reader_.is_fixed_variable(left.text));
    }

    const Reader& reader_;
    const std::vector<Word>& words_;
    size_t at_ = 0;
    int depth_ = 0;
    static constexpr int deepest = 100;
  };

  static std::string text_of(const CMakeCommand& command) {
    std::string text;
    for (const CMakeArgument& argument : command.arguments)
      text += (text.empty() ? "" : " ") + argument.text;
    return text.substr(0, 200);
  }

  // --- running

  // A file or function: what return() says holds to its end.
  class Returning {
  public:
    explicit Returning(Reader& reader)
        : reader_(reader), returned_(reader.returned_), by_default_(reader.by_default_),
          certain_(reader.certain_) {
      reader.returned_ = false;
    }
    Returning(const Returning&) = delete;
    Returning& operator=(const Returning&) = delete;
    ~Returning() {
      reader_.returned_ = returned_;
      reader_.by_default_ = by_default_;
      reader_.certain_ = certain_;
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
    for (size_t i = begin; i < end && commands_left_ > 0 && !guarded_; ++i) {
      --commands_left_;
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

  void note_depth() {
    if (!deep_)
      findings_.notes.push_back(file_->path + ": nested more than " + std::to_string(max_depth) +
                                " deep; what is deeper is not read");
    deep_ = true;
  }

  void run_if(size_t begin, size_t end) {
    // The parts: the command that begins each, and where it ends.
    std::vector<size_t> parts = {begin};
    if (const auto found = file_->parts.find(begin); found != file_->parts.end())
      parts.insert(parts.end(), found->second.begin(), found->second.end());
    parts.push_back(end);

    std::optional<std::vector<Change>> chosen; // by the part that a build without options takes
    std::vector<Change> others;
    Verdict earlier{Truth::no, true}; // of the parts before
    std::string negated;
    bool doubt = false; // whether an earlier part is taken
    for (size_t part = 0; part + 1 < parts.size() && parts[part] < end && commands_left_ > 0; ++part) {
      const CMakeCommand& command = commands()[parts[part]];
      --commands_left_;
      Verdict verdict{Truth::yes, true};
      std::string condition = negated;
      if (command.name != "else") {
        const std::vector<Word> words = words_of(command);
        verdict = Condition(*this, words).evaluate();
        condition = text_of(command);
        if (negated.size() < 200)
          negated += (negated.empty() ? "NOT (" : " AND NOT (") + condition + ")";
      }
      const bool impossible =
          (verdict.truth == Truth::no && verdict.fixed) || (earlier.truth == Truth::yes && earlier.fixed);
      if (impossible)
        continue;
      const bool may_be = verdict.truth == Truth::yes || (verdict.truth == Truth::unknown && verdict.likely);
      const bool taken = !chosen && may_be && by_default_;
      conditions_.push_back(condition);
      const bool by_default = by_default_, certain = certain_;
      by_default_ = taken;
      certain_ = certain && taken && verdict.truth == Truth::yes && !doubt;
      doubt |= verdict.truth == Truth::unknown;
      logs_.push_back({scopes_.size(), {}});
      run(parts[part] + 1, std::min(parts[part + 1], end));
      const Log log = std::move(logs_.back());
      logs_.pop_back();
      by_default_ = by_default;
      certain_ = certain;
      conditions_.pop_back();
      std::vector<Change> after = take_back(log);
      if (taken || (!by_default_ && !chosen))
        chosen = std::move(after);
      else if (verdict.truth == Truth::unknown && others.size() < 10'000)
        std::move(after.begin(), after.end(), std::back_inserter(others));
      if (verdict.truth == Truth::yes)
        earlier = verdict;
    }
    if (chosen)
      for (Change& change : *chosen)
        write(change.scope, change.name, std::move(change.before));
    if (returned_)
      by_default_ = certain_ = false;
    // What only the other parts know is better than nothing.
    for (Change& change : others)
      if (change.before && !scopes_[change.scope].count(change.name))
        write(change.scope, change.name, Value{change.before->text, false});
  }

  void run_foreach(size_t begin, size_t end) {
    const std::vector<Word> words = words_of(commands()[begin]);
    if (words.empty())
      return;
    std::vector<Word> items;
    if (words.size() > 1 && words[1].text == "IN") {
      bool lists = false;
      for (size_t i = 2; i < words.size(); ++i) {
        if (words[i].text == "LISTS" || words[i].text == "ITEMS") {
          lists = words[i].text == "LISTS";
        } else if (lists) {
          const Value list = value_of(words[i].text);
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
      set(words[0].text, {item.text, item.known});
      run(begin + 1, end);
    }
  }

  void define(const CMakeCommand& command, size_t begin, size_t end) {
    const std::vector<Word> words = words_of(command);
    if (words.empty())
      return;
    Function function{file_, begin + 1, end, {}, command.name == "macro"};
    for (size_t i = 1; i < words.size(); ++i)
      function.parameters.push_back(words[i].text);
    functions_[lower(words[0].text)] = std::move(function);
  }

  void call(const Function& function, const CMakeCommand& command) {
    if (depth_ >= max_depth) {
      note_depth();
      return;
    }
    const std::vector<Word> words = words_of(command);
    Variables arguments;
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

    const size_t options_before = findings_.options.size(), touched_before = touched_.size();
    const std::optional<Place> call_before = call_;
    if (!call_)
      call_ = Place{file_->path, command.line};
    const std::shared_ptr<const File> file_before = file_;
    const std::string list_before = list_directory_;
    const Returning returning(*this);
    file_ = function.file;
    if (function.is_macro) {
      // Its parameters are no variables, but nobody can tell: they are taken away at the end.
      std::map<std::string, std::optional<Value>> hidden;
      for (const auto& [name, value] : arguments) {
        const auto found = scopes_.back().find(name);
        hidden[name] = found == scopes_.back().end() ? std::nullopt : std::optional(found->second);
        set(name, value);
      }
      run(function.begin, function.end);
      for (auto& [name, value] : hidden)
        write(scopes_.size() - 1, name, std::move(value));
    } else {
      scopes_.push_back(std::move(arguments));
      run(function.begin, function.end);
      scopes_.pop_back();
    }
    file_ = file_before;
    list_directory_ = list_before;
    call_ = call_before;
    for (size_t i = touched_before; i < touched_.size(); ++i)
      if (Option& option = findings_.options[touched_[i]]; option.kind == Option::Kind::choice)
        take_remarks(option, words);
    if (!call_)
      touched_.clear();
    // An argument that names other options says when this one is there: "GPU STREQUAL CUDA;MPI".
    for (size_t i = options_before; i < findings_.options.size(); ++i)
      for (const Word& word : words)
        if (word.text.size() < 200 && mentions_option(word.text, findings_.options[i].name))
          findings_.options[i].conditions.push_back(word.text);
  }

  // A value may be written with a remark, "fftpack[built-in]", that the macro takes away.
  static void take_remarks(Option& option, const std::vector<Word>& words) {
    for (std::string& value : option.values)
      for (const Word& word : words)
        if (word.text.ends_with(']') && word.text.starts_with(value + "["))
          value = word.text;
  }

  bool mentions_option(const std::string& text, const std::string& but) const {
    size_t at = 0;
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    bool mentioned = false;
    while (at < text.size()) {
      if (!is_part(text[at])) {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < text.size() && is_part(text[end]))
        ++end;
      const std::string word = text.substr(at, end - at);
      if (word == but || (end < text.size() && text[end] == '.'))
        return false; // a description
      mentioned |= options_.count(word) > 0 && options_.at(word) < findings_.options.size();
      at = end;
    }
    return mentioned && text.find("  ") == std::string::npos && split(text, ' ').size() <= 8;
  }

  // --- commands

  // Imported targets of GPU toolkits are how a build names their libraries (FindCUDAToolkit; ROCm's
  // packages).
  void note_imported_targets(const CMakeCommand& command) {
    for (const CMakeArgument& argument : command.arguments)
      for (const char* space : {"CUDA::", "roc::", "hip::"})
        if (argument.text.starts_with(space) && argument.text.find('$') == std::string::npos)
          add_package(argument.text.substr(std::string_view(space).size()), "", false, command);
  }

  void execute(const CMakeCommand& command) {
    note_imported_targets(command);
    if (const auto function = functions_.find(command.name); function != functions_.end())
      return call(Function(function->second), command);
    static const std::unordered_map<std::string,
                                    void (Reader::*)(const std::vector<Word>&, const CMakeCommand&)>
        known = {{"set", &Reader::set_command},
                 {"unset", &Reader::unset_command},
                 {"option", &Reader::option_command},
                 {"cmake_dependent_option", &Reader::dependent_option},
                 {"set_property", &Reader::set_property},
                 {"mark_as_advanced", &Reader::mark_as_advanced},
                 {"include", &Reader::include_command},
                 {"add_subdirectory", &Reader::add_subdirectory},
                 {"include_guard", &Reader::include_guard},
                 {"return", &Reader::return_command},
                 {"project", &Reader::project_command},
                 {"enable_language", &Reader::enable_language},
                 {"cmake_minimum_required", &Reader::minimum_required},
                 {"find_package", &Reader::find_package},
                 {"find_dependency", &Reader::find_package},
                 {"pkg_check_modules", &Reader::check_modules},
                 {"pkg_search_module", &Reader::check_modules},
                 {"find_library", &Reader::find_library},
                 {"list", &Reader::list_command},
                 {"string", &Reader::string_command},
                 {"cmake_parse_arguments", &Reader::parse_arguments},
                 {"add_compile_options", &Reader::compile_options},
                 {"target_compile_options", &Reader::compile_options},
                 {"execute_process", &Reader::outside},
                 {"try_compile", &Reader::outside},
                 {"try_run", &Reader::outside},
                 {"find_path", &Reader::outside},
                 {"find_program", &Reader::outside},
                 {"find_file", &Reader::outside},
                 {"file", &Reader::file_command},
                 {"cmake_host_system_information", &Reader::outside},
                 {"get_target_property", &Reader::outside},
                 {"get_filename_component", &Reader::outside},
                 {"math", &Reader::math_command},
                 {"get_property", &Reader::outside}};
    const std::vector<Word> words = words_of(command);
    if (const auto found = known.find(command.name); found != known.end())
      return (this->*found->second)(words, command);
    if (command.name.starts_with("check_"))
      return check(words, command);
  }

  Place place(const CMakeCommand& command) const { return call_ ? *call_ : Place{file_->path, command.line}; }

  // A new option, or the one that is there already.
  Option& add_option(const std::string& name, const CMakeCommand& command) {
    touched_.push_back(options_.count(name) ? options_.at(name) : findings_.options.size());
    const auto [found, added] = options_.emplace(name, findings_.options.size());
    if (added) {
      Option option;
      option.name = name;
      option.place = place(command);
      option.conditions = innermost_conditions();
      findings_.options.push_back(std::move(option));
      first_by_default_[name] = by_default_;
    } else if (by_default_ && !first_by_default_[name]) {
      findings_.options[found->second].conditions = innermost_conditions();
      findings_.options[found->second].place = place(command);
      findings_.options[found->second].help.clear();
      findings_.options[found->second].values.clear();
    }
    return findings_.options[found->second];
  }
  bool is_new(const std::string& name) const { return !options_.count(name); }
  std::vector<std::string> innermost_conditions() const {
    constexpr size_t most = 8;
    return {conditions_.end() - static_cast<std::ptrdiff_t>(std::min(most, conditions_.size())),
            conditions_.end()};
  }
  // Nobody has more of them.
  bool may_add_option(const std::string& name) {
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

  void set_initial(Option& option, const Word& value) {
    if (option.kind == Option::Kind::boolean) {
      const Truth truth = constant(value.text);
      if (value.known && truth != Truth::unknown)
        option.initial = truth == Truth::yes ? "ON" : "OFF";
      else if (value.known && find(value.text) && find(value.text)->known)
        option.initial = constant(find(value.text)->text) == Truth::yes ? "ON" : "OFF";
    } else if (value.known) {
      option.initial = value.text;
    }
  }

  void declare_boolean(const std::string& name, const std::string& help, const Word& value,
                       const CMakeCommand& command) {
    if (!may_add_option(name))
      return;
    const bool fresh = is_new(name) || (by_default_ && !first_by_default_[name]);
    Option& option = add_option(name, command);
    if (!fresh)
      return;
    first_by_default_[name] = by_default_;
    option.kind = Option::Kind::boolean;
    option.help = help;
    option.initial.reset();
    set_initial(option, value);
    if (by_default_)
      cache_[name] = Value{option.initial.value_or("OFF"), option.initial.has_value()};
  }

  void option_command(const std::vector<Word>& words, const CMakeCommand& command) {
    if (!words.empty())
      declare_boolean(words[0].text, words.size() > 1 ? words[1].text : "",
                      words.size() > 2 ? words[2] : Word{"OFF"}, command);
  }

  void dependent_option(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.size() < 4)
      return;
    // Where its conditions do not hold it has the other value.
    Word value = words[2];
    for (const std::string& part : split(words[3].text, ';')) {
      std::vector<Word> condition;
      for (const std::string& word : split(part, ' '))
        if (!word.empty())
          condition.push_back({word, words[3].known, false, true});
      if (words.size() > 4 && Condition(*this, condition).evaluate().truth == Truth::no)
        value = words[4];
    }
    declare_boolean(words[0].text, words[1].text, value, command);
    if (const auto found = options_.find(words[0].text); found != options_.end())
      for (const std::string& part : split(words[3].text, ';'))
        findings_.options[found->second].conditions.push_back(part);
  }

  void set_command(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.empty())
      return;
    const std::string& name = words[0].text;
    const auto cache = std::find_if(words.begin() + 1, words.end(),
                                    [](const Word& word) { return !word.quoted && word.text == "CACHE"; });
    std::vector<std::string> parts;
    bool known = true;
    const bool parent = words.back().text == "PARENT_SCOPE" && words.size() > 1;
    for (auto word = words.begin() + 1; word != (parent ? words.end() - 1 : cache); ++word) {
      parts.push_back(word->text);
      known &= word->known;
    }
    const Value value{join(parts, ";"), known};
    if (cache == words.end()) {
      if (parent && scopes_.size() > 1)
        write(scopes_.size() - 2, name, value);
      else if (!parent && parts.empty())
        unset(name);
      else
        set(name, value);
      return;
    }
    const std::string type = cache + 1 != words.end() ? (cache + 1)->text : "";
    const std::string help = words.end() - cache > 2 ? (cache + 2)->text : "";
    const bool is_forced = words.back().text == "FORCE";
    if (type == "BOOL") {
      declare_boolean(name, help, {value.text, value.known, false}, command);
      if (is_forced && by_default_ && !is_new(name))
        cache_[name] = value;
      return;
    }
    if (type == "INTERNAL" || type == "STATIC" || name.starts_with("CMAKE_") || name.starts_with("CPACK_")) {
      cache_.emplace(name, value);
      return;
    }
    if (!may_add_option(name))
      return;
    const bool fresh = is_new(name) || (by_default_ && !first_by_default_[name]);
    Option& option = add_option(name, command);
    if (fresh) {
      first_by_default_[name] = by_default_;
      option.kind = Option::Kind::text;
      option.help = help;
      option.takes_place = type == "PATH" || type == "FILEPATH";
      option.initial.reset();
      set_initial(option, {value.text, value.known, false});
      if (by_default_)
        cache_[name] = value;
    }
    if (is_forced && by_default_)
      cache_[name] = value;
  }

  void unset_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (!words.empty())
      unset(words[0].text);
  }

  // set_property(CACHE NAME... PROPERTY STRINGS VALUE...)
  void set_property(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.size() < 4 || words[0].text != "CACHE")
      return;
    const auto property =
        std::find_if(words.begin(), words.end(), [](const Word& word) { return word.text == "PROPERTY"; });
    if (property == words.end() || words.end() - property < 3)
      return;
    if ((property + 1)->text == "HELPSTRING" && is_new(words[1].text) && may_add_option(words[1].text)) {
      // An entry that nothing makes but its user.
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
      if (!option.values.empty())
        continue;
      for (auto value = property + 2; value != words.end(); ++value)
        for (const std::string& part : split(value->text, ';'))
          if (constexpr size_t most = 1000; !part.empty() && option.values.size() < most)
            option.values.push_back(part.substr(0, 200));
      if (!option.values.empty())
        option.kind = Option::Kind::choice;
    }
  }

  void mark_as_advanced(const std::vector<Word>& words, const CMakeCommand&) {
    for (const Word& word : words)
      if (const auto found = options_.find(word.text); found != options_.end())
        findings_.options[found->second].internal = true;
  }

  void include_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.empty())
      return;
    const bool guarded = guarded_;
    include(words[0].text);
    guarded_ = guarded;
  }
  void add_subdirectory(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.empty())
      return;
    const std::string path = in_tree(words[0].text, directory_);
    const bool guarded = guarded_;
    if (path != "\n")
      run_directory(path);
    guarded_ = guarded;
  }
  void include_guard(const std::vector<Word>&, const CMakeCommand&) { guarded_ = includes_[file_->path] > 1; }

  // What follows is still read: some option may lead there.
  void return_command(const std::vector<Word>&, const CMakeCommand&) {
    if (certain_)
      returned_ = true;
  }

  void project_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.empty())
      return;
    const std::string& name = words[0].text;
    const std::string here = std::string(root_name) + (directory_.empty() ? "" : "/" + directory_);
    for (const std::string& prefix : {std::string("PROJECT"), name})
      set(prefix + "_SOURCE_DIR", {here});
    set("PROJECT_NAME", {name});
    if (directory_ == top_)
      set("CMAKE_PROJECT_NAME", {name});
    set("PROJECT_IS_TOP_LEVEL", {directory_ == top_ ? "ON" : "OFF"});
    const size_t languages_before = findings_.languages.size();
    if (directory_ == top_ && findings_.name.empty())
      findings_.name = name;
    for (size_t i = 1; i < words.size(); ++i)
      if (words[i].text == "VERSION" && i + 1 < words.size()) {
        set("PROJECT_VERSION", {words[i + 1].text, words[i + 1].known});
        if (directory_ == top_ && findings_.version.empty() && words[i + 1].known)
          findings_.version = words[i + 1].text;
        ++i;
      } else {
        add_language(words[i].text);
      }
    if (directory_ == top_ && findings_.languages.size() == languages_before &&
        std::none_of(words.begin(), words.end(), [](const Word& word) { return word.text == "NONE"; }))
      for (const char* language : {"C", "CXX"})
        add_language(language);
  }
  void enable_language(const std::vector<Word>& words, const CMakeCommand&) {
    for (const Word& word : words)
      add_language(word.text);
  }
  void add_language(const std::string& name) {
    static const std::set<std::string> languages = {"C",   "CXX",  "Fortran", "CUDA",
                                                    "HIP", "OBJC", "ISPC",    "ASM"};
    if (languages.count(name) &&
        std::find(findings_.languages.begin(), findings_.languages.end(), name) == findings_.languages.end())
      findings_.languages.push_back(name);
  }

  void minimum_required(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.size() > 1 && words[0].text == "VERSION" && findings_.minimum_version.empty() &&
        directory_ == top_)
      findings_.minimum_version = words[1].text.substr(0, words[1].text.find("..."));
  }

  void add_package(const std::string& name, const std::string& version, bool required,
                   const CMakeCommand& command) {
    constexpr size_t most = 5000;
    if (name.empty() || name.size() > 200 || name.find('$') != std::string::npos ||
        findings_.packages.size() >= most)
      return;
    const auto [found, added] = packages_.emplace(name, findings_.packages.size());
    if (added) {
      findings_.packages.push_back({name, version, required, innermost_conditions(), place(command)});
      return;
    }
    Package& package = findings_.packages[found->second];
    if (package.version.empty())
      package.version = version;
    if (conditions_.size() < package.conditions.size())
      package.conditions = innermost_conditions();
    package.required |= required;
  }

  void find_package(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.empty())
      return;
    std::string version;
    if (words.size() > 1 && !words[1].text.empty() &&
        std::isdigit(static_cast<unsigned char>(words[1].text[0])))
      version = words[1].text.substr(0, words[1].text.find("..."));
    const bool required =
        std::any_of(words.begin(), words.end(), [](const Word& word) { return word.text == "REQUIRED"; });
    add_package(words[0].text, version, required, command);
    for (const std::string& name : {words[0].text + "_FOUND", upper(words[0].text) + "_FOUND"})
      set(name, {"", false});
  }
  void check_modules(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.empty())
      return;
    bool required = false;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      required |= word == "REQUIRED";
      if (word != upper(word) && !word.empty()) {
        const size_t end = word.find_first_of("<>=");
        const size_t number = end == std::string::npos ? end : word.find_first_not_of("<>=", end);
        add_package(word.substr(0, end), number == std::string::npos ? "" : word.substr(number), required,
                    command);
      }
    }
    set(words[0].text + "_FOUND", {"", false});
  }
  void find_library(const std::vector<Word>& words, const CMakeCommand& command) {
    bool names = true;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word == "NAMES")
        names = true;
      else if (word == upper(word) && word.size() > 3 &&
               word.find_first_of("0123456789.") == std::string::npos)
        names = false;
      else if (names && !words[i].text.empty() && word.find('/') == std::string::npos)
        add_package(word, "", false, command);
    }
    if (!words.empty())
      set(words[0].text, {"", false});
  }

  void list_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.size() < 2)
      return;
    const std::string& action = words[0].text;
    if (action == "APPEND" || action == "PREPEND") {
      Value value = value_of(words[1].text);
      for (size_t i = 2; i < words.size(); ++i) {
        if (value.text.size() > 100'000)
          break;
        value.text += (value.text.empty() ? "" : ";") + words[i].text;
        value.known &= words[i].known;
      }
      set(words[1].text, value);
    } else if (action == "LENGTH" || action == "GET" || action == "FIND" || action == "JOIN") {
      set(words.back().text, {"", false});
    }
  }

  void string_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.size() < 2)
      return;
    const std::string& action = words[0].text;
    if ((action == "TOUPPER" || action == "TOLOWER") && words.size() > 2) {
      set(words[2].text, {action == "TOUPPER" ? upper(words[1].text) : lower(words[1].text), words[1].known});
    } else if (action == "REPLACE" && words.size() > 4) {
      std::string text;
      bool known = true;
      for (size_t i = 4; i < words.size(); ++i) {
        text += words[i].text;
        known &= words[i].known;
      }
      const std::string &from = words[1].text, &to = words[2].text;
      for (size_t at = 0;
           !from.empty() && (at = text.find(from, at)) != std::string::npos && text.size() < 100'000;
           at += to.size())
        text.replace(at, from.size(), to);
      set(words[3].text, {text, known});
    } else if (action == "APPEND" || action == "CONCAT") {
      Value value = action == "APPEND" ? value_of(words[1].text) : Value();
      for (size_t i = 2; i < words.size() && value.text.size() < 100'000; ++i) {
        value.text += words[i].text;
        value.known &= words[i].known;
      }
      set(words[1].text, value);
    } else if (action == "STRIP" && words.size() > 2) {
      set(words[2].text, {trim(words[1].text), words[1].known});
    } else if (action == "REGEX" && words.size() > 3) {
      set(words[1].text == "REPLACE" && words.size() > 4 ? words[4].text : words[3].text, {"", false});
    } else {
      set(words.back().text, {"", false});
    }
  }

  // cmake_parse_arguments(PREFIX "FLAGS" "ONE" "MANY" ARGS...)
  void parse_arguments(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.size() < 4 || words[0].text == "PARSE_ARGV")
      return;
    const std::string prefix = words[0].text + "_";
    std::map<std::string, int> kinds;
    for (int kind = 0; kind < 3; ++kind)
      for (const std::string& name : split(words[1 + static_cast<size_t>(kind)].text, ';'))
        kinds[name] = kind;
    for (const auto& [name, kind] : kinds)
      set(prefix + name, {kind == 0 ? "FALSE" : ""});
    std::string current;
    for (size_t i = 4; i < words.size(); ++i) {
      if (const auto found = kinds.find(words[i].text); found != kinds.end() && !words[i].quoted) {
        current = found->second == 0 ? "" : found->first;
        if (found->second == 0)
          set(prefix + found->first, {"TRUE"});
        continue;
      }
      const std::string name = prefix + (current.empty() ? "UNPARSED_ARGUMENTS" : current);
      Value value = find(name) ? *find(name) : Value();
      value.text += (value.text.empty() ? "" : ";") + words[i].text;
      value.known &= words[i].known;
      set(name, value);
      if (!current.empty() && kinds[current] == 1)
        current.clear();
    }
  }

  void add_flag(const std::string& flag, const CMakeCommand& command) {
    if (flag.size() > 1 && flag[0] == '-' && flag.find_first_of("$ ") == std::string::npos)
      findings_.flags.emplace(flag, place(command));
  }
  void compile_options(const std::vector<Word>& words, const CMakeCommand& command) {
    for (const Word& word : words)
      for (const std::string& flag : split(word.text, ' '))
        add_flag(flag, command);
  }
  void check(const std::vector<Word>& words, const CMakeCommand& command) {
    if (command.name.find("_flag") != std::string::npos)
      compile_options(words, command);
    if (!words.empty())
      set(words.back().text, {"", false});
  }
  // file(GLOB NAME PATTERN...) over the tree; `*` and `?` within one part of a path.
  void file_command(const std::vector<Word>& words, const CMakeCommand& command) {
    if (words.size() < 3 || (words[0].text != "GLOB" && words[0].text != "GLOB_RECURSE"))
      return outside(words, command);
    const bool deep = words[0].text == "GLOB_RECURSE";
    std::vector<std::string> found;
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i].text == "RELATIVE") {
        ++i;
        continue;
      }
      const std::string pattern = in_tree(words[i].text, directory_);
      constexpr std::ptrdiff_t most_stars = 8; // a matcher takes long for many
      if (pattern == "\n" || pattern.empty() || !words[i].known ||
          std::count(pattern.begin(), pattern.end(), '*') > most_stars)
        continue;
      charge(tree_.paths().size() * 4);
      const std::string directory =
          pattern.substr(0, pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/') + 1);
      constexpr size_t most = 2000;
      for (const std::string& path : tree_.paths())
        if (path.starts_with(directory) && found.size() < most &&
            fnmatch(deep ? pattern.substr(directory.size()).c_str() : pattern.c_str(),
                    deep ? path.substr(path.rfind('/') + 1).c_str() : path.c_str(), FNM_PATHNAME) == 0)
          found.push_back(std::string(root_name) + "/" + path);
    }
    set(words[1].text, {join(found, ";")});
  }
  void math_command(const std::vector<Word>& words, const CMakeCommand&) {
    if (words.size() > 1)
      set(words[1].text, {"", false});
  }
  // The answer of something outside: every name in it may have got a value.
  void outside(const std::vector<Word>& words, const CMakeCommand& command) {
    if (command.name.starts_with("find_") || command.name.starts_with("try_") ||
        command.name.starts_with("get_")) {
      if (!words.empty())
        set(words[0].text, {"", false});
      return;
    }
    for (size_t i = 1; i < words.size(); ++i)
      if (words[i - 1].text.ends_with("_VARIABLE") || (command.name == "file" && i == words.size() - 1))
        set(words[i].text, {"", false});
  }

  const TreeFiles& tree_;
  uint64_t commands_left_;
  Findings& findings_;
  std::map<std::string, std::vector<std::string>> modules_; // files *.cmake by name
  std::map<std::string, std::shared_ptr<const File>> files_;
  std::map<std::string, int> includes_;
  std::set<std::string> entered_directories_;
  std::unordered_map<std::string, Function> functions_;
  std::vector<Variables> scopes_;
  Variables cache_;
  std::unordered_map<std::string, size_t> options_; // index in the findings
  std::unordered_map<std::string, size_t> packages_;
  std::unordered_map<std::string, bool> first_by_default_;
  std::vector<size_t> touched_; // options that the outermost call of a macro declares
  std::vector<Log> logs_;
  std::shared_ptr<const File> file_;
  std::string top_;                        // of the project
  std::string directory_, list_directory_; // of the running CMakeLists.txt, of the running file
  std::vector<std::string> conditions_;
  std::optional<Place> call_;        // of the project's own macro
  bool by_default_ = true;           // a build without any option comes here
  bool certain_ = true;              // so does every build
  bool returned_ = false;            // the rest of this file or function is for other builds
  bool guarded_ = false;             // the rest of the file was read before
  bool deep_ = false, many_ = false; // that is noted
  int depth_ = 0;
};

} // namespace

void read_cmake(const TreeFiles& tree, const Limits& limits, Findings& findings) {
  Reader(tree, limits, findings).read();
}

} // namespace xaas::discover
