#include "completion_words.h"

#include <xaas/base/text.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>

namespace xaas::cli {

namespace {

// The values of CLI::IsMember, which describes itself as "{a,b}".
std::vector<std::string> allowed_values(const CLI::Option& option) {
  const std::string type = option.get_type_name(); // LABEL, then ":" and each check
  const size_t start = type.find('{'), end = type.find('}');
  if (start == std::string::npos || end == std::string::npos || end < start)
    return {};
  return split(type.substr(start + 1, end - start - 1), ',');
}

// The values of an option: those of its check, or names that LLVM knows.
std::vector<std::string> values_of(const std::string& name, const CLI::Option& option) {
  std::vector<std::string> values = allowed_values(option);
  for (const std::string& arch : target::architectures()) {
    std::vector<std::string> more;
    if (name == "--arch")
      more = {arch};
    else if (name == "--platform")
      more = {"linux/" + target::oci_architecture(arch)};
    else if (name == "--cpu")
      more = target::cpu_names(arch);
    else if (name == "--isa")
      more = target::isa_levels(arch);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

// The image transports that an option's help names: "oci:DIR[:TAG], docker://HOST/NAME".
std::vector<std::string> transports_in(const std::string& help) {
  std::vector<std::string> found;
  const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  for (size_t colon = help.find(':'); colon != std::string::npos; colon = help.find(':', colon + 1)) {
    size_t start = colon, end = colon + 1;
    while (start > 0 && in_name(help[start - 1]))
      --start;
    if (help.compare(end, 2, "//") == 0)
      end += 2;
    const std::string transport = help.substr(start, end - start);
    if (start < colon && end < help.size() && std::isupper(static_cast<unsigned char>(help[end])) &&
        std::find(found.begin(), found.end(), transport) == found.end())
      found.push_back(transport);
  }
  return found;
}

CompletionWord::Kind kind_of(const CompletionWord& word) {
  if (!word.values.empty())
    return CompletionWord::Kind::values;
  const std::string& label = word.label;
  if (label == "IMAGE" || label == "TARGET" || (word.positional() && !word.transports.empty()))
    return CompletionWord::Kind::images;
  if (label == "MACHINE")
    return CompletionWord::Kind::machines;
  if (label == "FILE" || label == "SPEC")
    return CompletionWord::Kind::files;
  return label == "DIR" || label == "SRC" ? CompletionWord::Kind::directories : CompletionWord::Kind::any;
}

CompletionWord word_of(const CLI::Option& option) {
  CompletionWord word;
  word.meaning = option.get_description();
  std::string longest;
  if (option.get_positional()) {
    word.label = option.get_name(true);
  } else {
    for (const std::string& name : option.get_snames())
      word.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
      word.names.push_back("--" + name);
    longest = word.names.empty() ? "" : word.names.back();
    if (option.get_expected_max() == 0)
      return word;
    const std::string type = option.get_type_name();
    word.label = type.substr(0, type.find(':'));
    if (word.label.empty())
      word.label = "VALUE";
  }
  word.values = values_of(longest, option);
  word.transports = transports_in(word.meaning);
  word.kind = kind_of(word);
  if (word.kind == CompletionWord::Kind::images && word.transports.empty())
    word.transports = {"oci:", "oci-archive:", "docker://"};
  return word;
}

} // namespace

std::vector<CompletionCommand> completion_commands() {
  std::vector<CompletionCommand> all;
  for (const CommandEntry& entry : commands()) {
    if (entry.hidden)
      continue;
    const std::unique_ptr<Command> command = entry.make();
    const std::unique_ptr<CLI::App> app = make_app(entry, *command);
    CompletionCommand words{entry.name, entry.summary, {}};
    for (const CLI::Option* option : app->get_options())
      words.words.push_back(word_of(*option));
    all.push_back(std::move(words));
  }
  return all;
}

} // namespace xaas::cli
