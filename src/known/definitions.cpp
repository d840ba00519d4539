// Problem: two configurations of a project differ in its config.h. Nearly all sources include the file, and
// each reads a few of its macros. The file's digest differs, so the preprocessor runs again.
//
// Example: GROMACS for two kinds of SIMD instructions. A source that reads only GMX_DOUBLE has the same
// tokens.
//
//     #define GMX_DOUBLE 0                  #define GMX_DOUBLE 0
//     #define GMX_SIMD_X86_SSE2 1           #define GMX_SIMD_X86_SSE2 0
//     /* #undef GMX_SIMD_X86_FMA */         #define GMX_SIMD_X86_FMA 1
//
// Approach: a run of the preprocessor shows which macros of such a file nothing read, and which names nothing
// looked up (MacroWatch). The record of the run (inputs.cpp) has the digest of the file without the lines
// that are about these, and their names. Another file with the same digest has the same effect.
//
// A line is left out only if it says nothing but `#define NAME` with numbers and strings, or
// `/* #undef NAME */`, as Autoconf and CMake write for macros that are not defined. Its name takes its place:
// the others keep their lines, which messages show, and their order.
//
// It is not left out if Clang might say something about it, or look at the name in another way: if another
// line is about the name, too; if the name is reserved, or has no capital letter, as keywords and attributes;
// where it shows whether a condition is the guard of the header; in a last line without an end.
//
// Everything else must be equal, comments too, and such a file has only directives that Clang reads as it
// reads code. So the text of both files is the same but for definitions that nothing reads, and Clang agrees
// on where comments are: it has to have seen each line as a definition or a comment of just this line.
//
// Rejected: the digest of the definitions that were read alone. Messages show lines, and a definition may
// depend on the directives around it.
#include "definitions.h"

#include <xaas/base/text.h>

#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace xaas::known {

namespace {

using llvm::StringRef;

constexpr StringRef spaces = " \t";

// Takes a word, which may be empty.
StringRef take_word(StringRef& text) {
  text = text.ltrim(spaces);
  const StringRef word = text.take_while(is_word_character);
  text = text.drop_front(word.size());
  return word;
}

// The others that Clang knows (`#pragma`, `#warning`, `# 1 "file"`) are not read as code is, or have effects.
bool is_directive(StringRef word) {
  static const std::set<StringRef> known = {"define",  "undef",    "if",   "ifdef", "ifndef", "elif",
                                            "elifdef", "elifndef", "else", "endif", "include"};
  return known.contains(word);
}

// False for names that may have a meaning for Clang without being macros: those of keywords, attributes and
// the preprocessor are reserved or have no capitals. The others are macros that Clang proposes if they are
// defined.
bool may_be_left_out(StringRef name) {
  static const std::set<StringRef> proposed = {"NULL", "Nil", "YES", "NO"};
  return !name.empty() && name.front() != '_' && !(name.front() >= '0' && name.front() <= '9') &&
         !name.contains("__") &&
         name.find_if([](char c) { return c >= 'A' && c <= 'Z'; }) != StringRef::npos &&
         !proposed.contains(name);
}

// The text of a macro: numbers, punctuation, and strings without escapes, prefixes and suffixes. Nothing in
// it begins a comment, and there are no words: Clang diagnoses some where they are defined, finds macros by
// their text when it proposes one, and has all of them in its table.
bool is_simple_text(StringRef text) {
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? ' ' : text[i - 1];
    if (text[i] == '"') {
      in_string = !in_string;
      const char beside = in_string ? before : i + 1 < text.size() ? text[i + 1] : ' ';
      if (is_word_character(beside) || beside == '.')
        return false;
    } else if (in_string) {
      if (text[i] < ' ' || text[i] > '~' || text[i] == '\\' || text[i] == '?') // trigraphs
        return false;
    } else if (is_word_character(text[i])) {
      if (!is_word_character(before) && (text[i] < '0' || text[i] > '9'))
        return false;
    } else if (!StringRef(" \t.,:;=()+-*/").contains(text[i])) {
      return false;
    }
  }
  return !in_string && !text.contains("//") && !text.contains("/*") && !text.contains("*/");
}

// The name in `/* #undef NAME */`; else empty.
StringRef undefined_name(StringRef line) {
  line = line.trim(spaces);
  if (!line.consume_front("/*") || !line.consume_back("*/"))
    return {};
  line = line.trim(spaces);
  if (!line.consume_front("#") || take_word(line) != "undef")
    return {};
  const StringRef name = take_word(line);
  return line.empty() ? name : StringRef();
}

// Removes the comments of a line. False if Clang might find other ones.
bool remove_comments(StringRef line, bool& in_comment, std::string& rest) {
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const StringRef here = line.substr(i);
    if (in_comment) {
      if (here.starts_with("*/")) {
        in_comment = false;
        ++i;
      }
    } else if (here.front() == '\\') {
      return false;
    } else if (here.front() == '"') {
      in_string = !in_string;
      rest += '"';
    } else if (in_string) {
      rest += here.front();
    } else if (here.starts_with("/*")) {
      in_comment = true;
      rest += ' ';
      ++i;
    } else if (here.starts_with("//")) {
      return !here.contains("/*"); // C89 has no such comments
    } else if (here.front() == '\'' || here.starts_with("R\"")) {
      return false;
    } else {
      rest += here.front();
    }
  }
  return !in_string;
}

// Names of files may contain what begins comments and strings elsewhere.
bool is_clear_outside_of_definitions(StringRef directive, StringRef line) {
  if (directive == "include")
    return line.count('"') + line.count('<') + line.count('>') == 2 && !line.contains("//") &&
           !line.contains("/*");
  return !line.contains('"') && !line.contains('<');
}

struct Line {
  enum class Kind { blank, condition, end_of_condition, other } kind = Kind::blank;
  std::string name; // that it defines or undefines, or says is not defined
  bool is_defined = false, may_be_left_out = false;
};

// Nothing: the line has a form that this program does not read.
std::optional<Line> read_line(StringRef line, bool& in_comment) {
  const bool inside = in_comment;
  std::string code;
  if (line.rtrim(" \t\v\f").ends_with("\\") || !remove_comments(line, in_comment, code))
    return std::nullopt;
  StringRef content = StringRef(code).trim(" \t\v\f");
  Line result;
  if (content.empty()) {
    if (!inside && !in_comment)
      result.name = undefined_name(line).str();
    result.may_be_left_out = may_be_left_out(result.name);
    return result;
  }
  if (!content.consume_front("#"))
    return std::nullopt;
  const StringRef directive = take_word(content);
  if (!is_directive(directive))
    return std::nullopt;
  if (directive == "endif")
    result.kind = Line::Kind::end_of_condition;
  else
    result.kind = directive.starts_with("if") ? Line::Kind::condition : Line::Kind::other;
  if (directive != "define" && directive != "undef")
    return is_clear_outside_of_definitions(directive, line) ? std::optional(result) : std::nullopt;
  result.name = take_word(content).str();
  result.is_defined = directive == "define";
  result.may_be_left_out = result.is_defined && code == line && may_be_left_out(result.name) &&
                           (content.empty() || spaces.contains(content.front())) && is_simple_text(content);
  return result;
}

} // namespace

std::optional<DefinitionFile> DefinitionFile::read(std::string_view text) {
  DefinitionFile file;
  StringRef rest(text);
  if (rest.contains("?\?/") || rest.contains('\r') || rest.contains('\0'))
    return std::nullopt;
  bool in_comment = false, after_condition = false;
  unsigned depth = 0, groups = 0; // of conditions
  bool more_than_groups = false;  // directives outside of conditions that are never left out
  std::set<std::string> outside;  // names of places outside of conditions
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    file.lines_.push_back(line.str());
    const std::optional<Line> read = read_line(line, in_comment);
    if (!read)
      return std::nullopt;
    const bool is_last_part = rest.empty() && !text.ends_with('\n'); // Clang can warn about its end
    const bool is_place = read->may_be_left_out && !after_condition && !is_last_part;
    if (!read->name.empty()) {
      if (!file.names_.insert(read->name).second)
        file.places_.erase(read->name);
      else if (is_place)
        file.places_.emplace(read->name, Place{static_cast<unsigned>(file.lines_.size()), read->is_defined});
    }
    if (depth == 0 && is_place)
      outside.insert(read->name);
    more_than_groups |= depth == 0 && read->kind == Line::Kind::other && !is_place;
    groups += depth == 0 && read->kind == Line::Kind::condition;
    if (read->kind == Line::Kind::end_of_condition && depth-- == 0)
      return std::nullopt;
    depth += read->kind == Line::Kind::condition;
    if (read->kind != Line::Kind::blank)
      after_condition = read->kind == Line::Kind::condition;
  }
  // Without the directives around it, one condition may be the guard of the header.
  if (groups == 1 && !more_than_groups)
    for (const std::string& name : outside)
      file.places_.erase(name);
  file.text_ = text;
  return file;
}

Digest DefinitionFile::without(const std::set<std::string>& names) const {
  std::map<unsigned, std::string> left_out;
  for (const auto& [name, place] : places_)
    if (names.contains(name))
      left_out.emplace(place.line, name);
  Hasher hasher;
  for (unsigned number = 1; number <= lines_.size(); ++number) {
    const auto found = left_out.find(number);
    hasher.update_number(found != left_out.end());
    hasher.update_part(found == left_out.end() ? lines_[number - 1] : found->second);
  }
  hasher.update_number(text_.ends_with('\n')); // Clang can warn about that
  return hasher.finish();
}

} // namespace xaas::known
