// Problem: hand-written assembly for x86 does not depend on the configuration's ISA level: it has a function
// for each instruction set, and the program chooses when it starts. But a build assembles it for every level
// again, and large files of macros take seconds each.
//
// Example: two configurations assemble a file, each in its own build directory.
//
//     nasm -f elf64 -I /tmp/build-1/ -MD -MF mc.d -o mc.o ../src/mc.asm     reads config.asm, x86inc.asm
//     nasm -f elf64 -I /tmp/build-2/ -MD -MF mc.d -o mc.o ../src/mc.asm     the same bytes: found
//
// Approach: the key has the assembler's own digest, the source as it is named, the options and the directory
// without the places of the build, and the names and contents of all files that NASM's preprocessor reads.
// `nasm -M` lists them for each command, at a tenth of the cost of assembling, so that a file that appears
// earlier on the search path changes the key. A source that may read anything else is assembled, and so is a
// command that is not understood. A result is filed only if NASM printed nothing, if its files did not change
// meanwhile, and if the object has no place of the build but in the source's name.
//
// Rejected: a list of files from the run that made a result, as compiler caches do, because it has to prove
// that no other file would be found now; the preprocessed text, which hides the number of the pass and is no
// cheaper; the list of `nasm -MD`, in which NASM 2.16.01 forgets included files.
#include "nasm.h"
#include "driver_run.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/known/known.h>
#include <xaas/known/places.h>
#include <xaas/session/log.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

namespace xaas::frontdoor {

namespace {

// Where an option of NASM has its value: in the same word or in the next one (-o), only in the same word
// (-O2), nowhere (-MP).
enum class Value { either, attached, next, none };
enum class Role { meaning, output, list, dependencies, naming };

struct Option {
  std::string_view name;
  Value value;
  Role role;
};

// Options that leave assembling as it is. Longer names come first.
constexpr std::array nasm_options = {
    Option{"--include", Value::next, Role::meaning}, Option{"-MD", Value::none, Role::list},
    Option{"-MF", Value::next, Role::dependencies},  Option{"-MT", Value::next, Role::naming},
    Option{"-MQ", Value::next, Role::naming},        Option{"-MP", Value::none, Role::naming},
    Option{"-o", Value::either, Role::output},       Option{"-f", Value::either, Role::meaning},
    Option{"-I", Value::either, Role::meaning},      Option{"-i", Value::either, Role::meaning},
    Option{"-D", Value::either, Role::meaning},      Option{"-d", Value::either, Role::meaning},
    Option{"-U", Value::either, Role::meaning},      Option{"-u", Value::either, Role::meaning},
    Option{"-P", Value::either, Role::meaning},      Option{"-p", Value::either, Role::meaning},
    Option{"-F", Value::either, Role::meaning},      Option{"-X", Value::either, Role::meaning},
    Option{"-O", Value::attached, Role::meaning},    Option{"-w", Value::attached, Role::meaning},
    Option{"-W", Value::attached, Role::meaning},    Option{"-g", Value::attached, Role::meaning},
};

const Option* option_of(const std::string& word) {
  const auto is_it = [&](const Option& option) {
    return option.value == Value::next || option.value == Value::none ? word == option.name
                                                                      : word.starts_with(option.name);
  };
  const auto* const found = std::find_if(nasm_options.begin(), nasm_options.end(), is_it);
  return found == nasm_options.end() ? nullptr : found;
}

// `words` is the option, with its value if that is another word.
void take(NasmCommand& command, const Option& option, std::vector<std::string> words) {
  const std::string value = words.size() > 1 ? words.back() : words.front().substr(option.name.size());
  switch (option.role) {
  case Role::meaning:
    command.meaning.insert(command.meaning.end(), words.begin(), words.end());
    return;
  case Role::naming:
    command.naming.insert(command.naming.end(), words.begin(), words.end());
    return;
  case Role::output:
    command.output = value;
    return;
  case Role::list:
    command.lists = true;
    if (words.size() > 1)
      command.dependencies = value;
    return;
  case Role::dependencies:
    command.dependencies = value;
    return;
  }
}

Result<int> run_unchanged(const session::Session& session, const std::vector<std::string>& arguments) {
  Command command{.arguments = {session.nasm.program.string()}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.inherit_input = command.inherit_output = true;
  XAAS_TRY(const ProcessResult result, run_process(command));
  return result.exit_code;
}

// One command, whose result may be known.
class Assembling {
public:
  Assembling(const session::Session& session, NasmCommand command, const std::vector<std::string>& arguments)
      : session_(session), command_(std::move(command)), arguments_(arguments),
        cache_(known::cache_of(session)) {}

  // The exit status.
  Result<int> run() {
    XAAS_TRY(const TemporaryDirectory scratch, TemporaryDirectory::create());
    XAAS_TRY(const std::optional<Digest> key, make_key(scratch.path()));
    if (!key)
      return run_unchanged(session_, arguments_);
    const std::optional<std::string> known = cache_.get(*key);
    trace::Span span("assemble", session::portable_name(session_, command_.source));
    span.set("cache", known ? "hit" : "miss");
    if (known && !session_.check_sharing) {
      XAAS_CHECK(write_known(*known));
      return 0;
    }
    XAAS_TRY(const int code, assemble());
    if (code != 0)
      return code;
    XAAS_CHECK(file_result(*key, scratch.path(), known));
    return code;
  }

private:
  // Nothing if the files and options do not determine the result.
  Result<std::optional<Digest>> make_key(const fs::path& scratch) {
    rule_ = scratch / "rule";
    std::vector<std::string> words = {session_.nasm.program.string()};
    words.insert(words.end(), command_.meaning.begin(), command_.meaning.end());
    for (const std::string& word :
         {std::string("-o"), command_.output, std::string("-M"), std::string("-MF"), rule_.string()})
      words.push_back(word);
    words.insert(words.end(), command_.naming.begin(), command_.naming.end());
    words.push_back(command_.source);
    XAAS_TRY(const ProcessResult listed, run_process({.arguments = words}));
    std::error_code code;
    if (listed.exit_code != 0 || !fs::exists(rule_, code))
      return std::optional<Digest>(); // assembling reports why
    XAAS_TRY(const std::string makefile, read_file(rule_));
    const std::optional<std::vector<std::string>> files = files_of_rule(makefile);
    return files ? key_with(*files) : std::optional<Digest>();
  }

  std::optional<Digest> key_with(const std::vector<std::string>& files) const {
    Hasher key;
    key.update_part("nasm 1");
    key.update_part(session_.nasm.digest.to_string());
    key.update_part(known::without_places(session_, fs::current_path().string()));
    key.update_part(command_.source); // the object names it
    key.update_number(command_.meaning.size());
    for (const std::string& word : command_.meaning)
      key.update_part(known::without_places(session_, word));
    for (const std::string& file : files) {
      const Result<std::string> text = read_file(file);
      if (!text || reads_more_than_text(*text))
        return std::nullopt;
      key.update_part(known::without_places(session_, file));
      key.update_part(*text);
    }
    return key.finish();
  }

  Result<int> assemble() {
    std::vector<std::string> words = {session_.nasm.program.string()};
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    Command command{.arguments = words};
    command.inherit_input = true;
    XAAS_TRY(const ProcessResult result, run_process(command));
    std::cerr << result.output;
    prints_ = !result.output.empty();
    return result.exit_code;
  }

  Result<void> write_known(const std::string& object) const {
    if (command_.lists) {
      XAAS_TRY(const std::string rule, read_file(rule_));
      XAAS_CHECK(write_output(command_.dependencies, rule));
    }
    return write_output(command_.output, object);
  }

  // `known` is what was filed under this key before.
  Result<void> file_result(const Digest& key, const fs::path& scratch,
                           const std::optional<std::string>& known) {
    XAAS_TRY(const std::string object, read_file(command_.output));
    XAAS_TRY(const std::optional<Digest> key_now, make_key(scratch));
    if (prints_ || key_now != key || names_places(object))
      return {};
    if (known && *known != object)
      XAAS_CHECK(log_difference(session_, session::portable_name(session_, command_.source) +
                                              ": assembling it gives another object than the known one"));
    static_cast<void>(cache_.put(key, object)); // a cache that cannot be written only costs time
    return {};
  }

  bool names_places(const std::string& object) const {
    const std::string others = replaced(object, command_.source, "");
    return known::without_places(session_, others) != others;
  }

  const session::Session& session_;
  NasmCommand command_;
  const std::vector<std::string>& arguments_;
  store::Cache cache_;
  fs::path rule_;
  bool prints_ = false;
};

} // namespace

std::optional<NasmCommand> parse_nasm(const std::vector<std::string>& arguments) {
  NasmCommand command;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with('-')) {
      if (!command.source.empty())
        return std::nullopt;
      command.source = word;
      continue;
    }
    const Option* const option = option_of(word);
    if (!option)
      return std::nullopt;
    std::vector<std::string> words = {word};
    const bool has_next = option->value == Value::next ||
                          (option->value == Value::either && word.size() == option->name.size());
    if (has_next && ++i == arguments.size())
      return std::nullopt;
    if (has_next)
      words.push_back(arguments[i]);
    if (option->role == Role::list && i + 1 < arguments.size() && !arguments[i + 1].starts_with('-'))
      words.push_back(arguments[++i]); // the file's name may follow
    take(command, *option, std::move(words));
  }
  // Without -MD, NASM writes no list, whatever -MF names.
  const bool complete =
      !command.source.empty() && !command.output.empty() && (!command.lists || !command.dependencies.empty());
  return complete ? std::optional(std::move(command)) : std::nullopt;
}

std::optional<std::vector<std::string>> files_of_rule(const std::string& makefile) {
  // "a.o : a.asm \\\n  b.inc\n\nb.inc :\n": the first rule ends at the first line that is not continued.
  const std::string text = replaced(makefile, "\\\n", " ");
  const std::string rule = text.substr(0, text.find('\n'));
  const size_t colon = rule.find(" : ");
  if (colon == std::string::npos || rule.find_first_of("\\$#%") != std::string::npos)
    return std::nullopt;
  std::vector<std::string> files = split(rule.substr(colon + 3), ' ');
  std::erase(files, "");
  return files;
}

bool reads_more_than_text(std::string_view text) {
  constexpr std::array words = {"incbin",  "%!",       "%pathsearch", "%depend", "__date",
                                "__?date", "__time",   "__?time",     "__utc",   "__?utc",
                                "__posix", "__?posix", "__pass",      "__?pass"};
  const std::string lower = to_lower(std::string(text));
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return lower.find(word) != std::string::npos; });
}

int run_nasm(const session::Session& session, const std::vector<std::string>& arguments) {
  std::optional<NasmCommand> command = parse_nasm(arguments);
  const char* const more = std::getenv("NASMENV");
  if (session.cache.empty() || (more && *more))
    command.reset();
  const Result<int> code =
      command ? Assembling(session, *std::move(command), arguments).run() : run_unchanged(session, arguments);
  return code ? *code : print_error(code.error());
}

} // namespace xaas::frontdoor
