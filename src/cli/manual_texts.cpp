#include "manual_texts.h"

#include <xaas/base/text.h>
#include <xaas/config/settings.h>

#include <algorithm>
#include <string_view>

namespace xaas::cli {

std::string_view manual_text(std::string_view name); // manual/NAME.txt

namespace {

// Lines joined by blanks; an empty line, and the end, finish a paragraph.
std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  bool open = false;
  for (const std::string& line : split(text, '\n')) {
    const std::string words = trim(line);
    if (words.empty()) {
      open = false;
      continue;
    }
    if (open)
      paragraphs.back() += " " + words;
    else
      paragraphs.push_back(words);
    open = true;
  }
  return paragraphs;
}

// An entry is its term at the beginning of a line and indented lines: "for:" with the commands, then the
// meaning. Lines that begin with "#" are comments.
std::vector<ManualEntry> entries_of(std::string_view text) {
  constexpr std::string_view commands = "for: ";
  std::vector<ManualEntry> entries;
  for (const std::string& line : split(text, '\n')) {
    const std::string words = trim(line);
    if (words.empty() || line.front() == '#')
      continue;
    if (line.front() != ' ') {
      entries.push_back({words, {}, {}});
      continue;
    }
    if (entries.empty())
      continue;
    ManualEntry& entry = entries.back();
    if (words.starts_with(commands))
      entry.commands = words.substr(commands.size());
    else
      entry.meaning += (entry.meaning.empty() ? "" : " ") + words;
  }
  return entries;
}

// The variable of a setting means what the setting means.
std::vector<ManualEntry> all_variables() {
  std::vector<ManualEntry> variables = entries_of(manual_text("environment"));
  for (ManualEntry& variable : variables)
    for (const config::Definition& definition : config::definitions())
      if (definition.variable && variable.term == definition.variable)
        variable.meaning = definition.meaning;
  return variables;
}

} // namespace

std::vector<std::string> manual_paragraphs(const std::string& page) {
  return paragraphs_of(manual_text(page));
}

bool ManualEntry::applies_to(const std::string& command, const CLI::App& app) const {
  const std::vector<std::string> words = split(commands, ' ');
  if (std::find(words.begin(), words.end(), "!" + command) != words.end())
    return false;
  bool names_some = false;
  for (const std::string& word : words) {
    names_some = names_some || word[0] != '!';
    if (word == command || (word[0] == '-' && app.get_option_no_throw(word)))
      return true;
  }
  return !names_some;
}

const std::vector<ManualEntry>& exit_codes() {
  static const std::vector<ManualEntry> codes = entries_of(manual_text("exit-status"));
  return codes;
}

const std::vector<ManualEntry>& manual_files() {
  static const std::vector<ManualEntry> files = entries_of(manual_text("files"));
  return files;
}

const std::vector<ManualEntry>& manual_variables() {
  static const std::vector<ManualEntry> variables = all_variables();
  return variables;
}

} // namespace xaas::cli
