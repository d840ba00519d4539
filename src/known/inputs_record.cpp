#include "inputs_record.h"

#include <xaas/known/places.h>

#include <xaas/base/text.h>

#include <llvm/ADT/StringExtras.h>

#include <charconv>

namespace xaas::known {

namespace {

constexpr std::string_view end_of_record = "\nend\n";

// Takes the text up to `end`, which must be there.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos)
    return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

std::optional<Digest> digest_in(std::string_view text) {
  const Result<Digest> digest = Digest::parse("sha256:" + std::string(text));
  return digest ? std::optional(*digest) : std::nullopt;
}

template <class Number> bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return code == std::errc() && end == text.data() + text.size();
}

constexpr size_t digits_of_word = 8;

bool read_words(std::string_view text, std::vector<uint32_t>& words) {
  for (; text.size() >= digits_of_word; text.remove_prefix(digits_of_word))
    if (!read_number(text.substr(0, digits_of_word), words.emplace_back(), 16))
      return false;
  return text.empty();
}

bool read_result(std::string_view line, Preprocessed& result) {
  const std::optional<std::string_view> digest = take_until(line, ' '), expanded = take_until(line, ' '),
                                        queries = take_until(line, ' ');
  if (!digest || !expanded || !queries || !read_number(*queries, result.lock_free_queries) ||
      line.size() != 2)
    return false;
  const std::optional<Digest> text = digest_in(*digest), macros = digest_in(*expanded);
  result.text = text.value_or(Digest());
  result.macros = macros.value_or(Digest());
  result.reads_instruction_set = line[0] == '1';
  result.needs_features = line[1] == '1';
  return text && macros;
}

std::string words_in_hex(const std::vector<uint32_t>& words) {
  std::string text;
  for (const uint32_t word : words)
    text += llvm::utohexstr(word, true, digits_of_word);
  return text;
}

} // namespace

std::string write_record(const session::Session& session, const Preprocessed& result,
                         const Digest& other_macros, const MacrosRead& macros,
                         const std::vector<FileAnswer>& files, const std::vector<Dependency>& dependencies) {
  std::string text(record_version);
  text += '\n' + result.text.hex() + ' ' + result.macros.hex() + ' ' +
          std::to_string(result.lock_free_queries) + ' ' + (result.reads_instruction_set ? '1' : '0') +
          (result.needs_features ? '1' : '0') + '\n';
  text += other_macros.hex() + '\n' + words_in_hex(macros.words) + '\n';
  for (const auto& [name, value] : macros.defined)
    text += "macro " + name + ' ' + value + '\n';
  for (const FileAnswer& file : files)
    text += (file.unread.empty() ? "file " : "definitions ") + file.status + ' ' +
            (file.content ? file.content->hex() : "-") + ' ' +
            (file.unread.empty() ? "" : llvm::join(file.unread, ",") + ' ') +
            path_without_place(session, file.path) + '\n';
  for (const Dependency& dependency : dependencies)
    text += std::string(dependency.of_system ? "system " : "user ") +
            path_without_place(session, dependency.path) + '\n';
  text.pop_back(); // the end of a record has it
  return text.append(end_of_record);
}

std::string_view take_record(std::string_view& value) {
  const size_t end = value.find(end_of_record);
  const std::string_view record =
      end == std::string_view::npos ? std::string_view() : value.substr(0, end + end_of_record.size());
  value.remove_prefix(record.size());
  return record;
}

std::optional<InputsRecord> read_record(std::string_view text) {
  if (!text.ends_with(end_of_record))
    return std::nullopt;
  text.remove_suffix(end_of_record.size() - 1); // but for the end of its last line
  const std::optional<std::string_view> first = take_until(text, '\n'), result = take_until(text, '\n'),
                                        others = take_until(text, '\n'), words = take_until(text, '\n');
  InputsRecord record;
  if (first != record_version || !result || !others || !words || !read_result(*result, record.result) ||
      !read_words(*words, record.macros.words))
    return std::nullopt;
  const std::optional<Digest> digest = digest_in(*others);
  if (!digest)
    return std::nullopt;
  record.other_macros = *digest;
  while (text.starts_with("macro ")) {
    take_until(text, ' ');
    const std::optional<std::string_view> name = take_until(text, ' '), value = take_until(text, '\n');
    if (!name || !value)
      return std::nullopt;
    record.macros.defined.emplace(*name, *value);
  }
  record.paths = text;
  return record;
}

std::optional<std::vector<Dependency>> read_paths(const session::Session& session, std::string_view paths,
                                                  FileCheck* check) {
  std::vector<Dependency> dependencies;
  while (!paths.empty()) {
    std::optional<std::string_view> line = take_until(paths, '\n');
    const std::optional<std::string_view> kind = line ? take_until(*line, ' ') : std::nullopt;
    if (kind == "system" || kind == "user") {
      dependencies.push_back({path_with_place(session, *line), kind == "system"});
      const std::string& path = dependencies.back().path;
      if (path_without_place(session, path) != *line || !is_clear_path(session, path))
        return std::nullopt;
      continue;
    }
    const bool defines = kind == "definitions";
    const std::optional<std::string_view> status =
        kind == "file" || defines ? take_until(*line, ' ') : std::nullopt;
    const std::optional<std::string_view> content = status ? take_until(*line, ' ') : std::nullopt;
    const std::optional<std::string_view> unread = content && defines ? take_until(*line, ' ') : content;
    if (!unread)
      return std::nullopt;
    if (!check)
      continue;
    const std::string path = path_with_place(session, *line);
    // A path that is in no directory of that build, but in one of this, has another name here.
    if (path_without_place(session, path) != *line)
      return std::nullopt;
    const std::optional<Digest> digest = *content == "-" ? std::nullopt : digest_in(*content);
    FileAnswer answer = {path, std::string(*status), digest, {}};
    if (defines)
      for (std::string& name : split(*unread, ','))
        answer.unread.insert(std::move(name));
    if ((*content != "-" && !digest) || !check->is_same(answer))
      return std::nullopt;
  }
  return dependencies;
}

} // namespace xaas::known
