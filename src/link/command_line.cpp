// Problem: a link must be repeated on another machine, from its command line alone. The command line names
// directories of this machine, and may name options that run code or read other files.
//
// Example: ld -pie -L/usr/lib crt1.o main.o -lm -Map=x -z now
//
//     -pie         the option --pie
//     -L/usr/lib   a search directory, which is not recorded
//     crt1.o       an input
//     -lm          the input libm.so; if that is a linker script, its inputs in a group
//     -Map=x       dropped, because it does not change the output; x is created empty
//     -z now       the option -z with the value now
//
// `-plugin evil.so` is refused, because it runs code, and so is any option that is not in the list
// (options.cpp).
//
// Approach: options are looked up as in GNU ld: first a long name after one or two dashes, then, after one
// dash, a letter with its value joined. A name that begins with `o` needs two dashes, because one dash means
// `-o` and a file name. As in lld, library directories apply wherever they stand, so they are collected
// before libraries are searched.
//
// Rejected: `ld.lld --reproduce`, which keeps free text and every directory of the machine; lld's own parser,
// which is not a public interface and accepts more than can be repeated.
#include <xaas/base/utf8.h>
#include <xaas/link/command_line.h>

#include "options.h"
#include "script.h"

#include <xaas/link/note.h>

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/StringSaver.h>

#include <algorithm>

namespace xaas::link {
namespace {

constexpr int max_depth = 16; // of nested response files and of scripts that name scripts

// A scanned argument: an option with its value, or an input.
struct Argument {
  const Option* option = nullptr; // nullptr: an input
  std::string text;               // as written, for messages and `dropped`
  std::string value;
};

constexpr const char* runs_code = "it runs code, reads files that are not inputs, or makes the output random";

Error refused(const std::string& argument, const std::string& why) {
  return make_error(ErrorKind::failed, "linker option " + argument + ": " + why);
}

Result<void> expand_response_files(const std::vector<std::string>& arguments, const fs::path& directory,
                                   int depth, std::vector<std::string>& expanded) {
  for (const std::string& argument : arguments) {
    std::error_code error;
    const fs::path file = directory / argument.substr(std::min<size_t>(1, argument.size()));
    if (argument.size() < 2 || argument[0] != '@' || !fs::is_regular_file(file, error)) {
      expanded.push_back(argument);
      continue;
    }
    if (depth == max_depth)
      return make_error(ErrorKind::failed, argument + ": response files name each other");
    XAAS_TRY(const std::string text, read_file(file, uint64_t(1) << 28));
    llvm::BumpPtrAllocator memory;
    llvm::StringSaver saver(memory);
    llvm::SmallVector<const char*, 64> parts;
    llvm::cl::TokenizeGNUCommandLine(text, saver, parts);
    XAAS_CHECK(expand_response_files(std::vector<std::string>(parts.begin(), parts.end()), directory,
                                     depth + 1, expanded));
  }
  return {};
}

// Splits arguments into options with values and inputs.
class Scanner {
public:
  explicit Scanner(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Result<std::vector<Argument>> scan() {
    std::vector<Argument> scanned;
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      if (argument.size() < 2 || argument[0] != '-') {
        if (argument == "-")
          return make_error(ErrorKind::failed, "linking standard input is not supported");
        scanned.push_back({nullptr, argument, argument});
        continue;
      }
      XAAS_TRY(Argument option, scan_option(argument));
      scanned.push_back(std::move(option));
    }
    return scanned;
  }

private:
  Result<Argument> scan_option(const std::string& argument) {
    const bool two_dashes = argument.starts_with("--");
    const std::string body = argument.substr(two_dashes ? 2 : 1);
    const size_t equals = body.find('=');
    const std::string name = body.substr(0, equals);
    // `-o...` is an output and `-lto...` a library; with two dashes they are long names.
    const bool letter = !two_dashes && name.size() > 1 && (name[0] == 'o' || name.starts_with("lto"));
    const Option* option = letter ? nullptr : find_option(name);
    if (option &&
        (equals == std::string::npos || (option->value != Option::Value::none && name.size() > 1))) {
      Argument scanned{option, argument,
                       equals == std::string::npos ? std::string() : body.substr(equals + 1)};
      if (equals == std::string::npos && option->value == Option::Value::required)
        XAAS_CHECK(take_value(scanned));
      return scanned;
    }
    if (!two_dashes) {
      // A letter with its value joined; `-O` may have none.
      option = find_option(body.substr(0, 1));
      if (option && option->value == Option::Value::required && body.size() > 1 && body[0] != 'f' &&
          body[0] != 'F')
        return Argument{option, argument, body.substr(1)};
    }
    return refused(argument, "unknown, or not repeatable on another machine");
  }

  Result<void> take_value(Argument& option) {
    if (at_ == arguments_.size())
      return refused(option.text, "missing value");
    option.value = arguments_[at_++];
    option.text += " " + option.value;
    return {};
  }

  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
};

class Parser {
public:
  explicit Parser(const fs::path& directory) : directory_(directory) { link_.output = directory / "a.out"; }

  Result<ParsedLink> parse(const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) // these options apply to all arguments, wherever they stand
      collect(argument);
    for (const Argument& argument : arguments) {
      if (!argument.option)
        XAAS_CHECK(add_file(argument.value, 0));
      else
        XAAS_CHECK(add_option(argument));
    }
    if (!link_.plugins.empty() && link_.kind == OutputKind::relocatable)
      return refused("--load-pass-plugin " + link_.plugins.front().string(),
                     "a relocatable output has no IR on which it could run");
    return std::move(link_);
  }

private:
  void collect(const Argument& argument) {
    if (!argument.option)
      return;
    const std::string_view name = argument.option->name;
    if (name == "sysroot")
      sysroot_ = argument.value;
    else if (name == "library-path")
      search_path_.push_back(argument.value);
    else if (name == "load-pass-plugin")
      link_.plugins.push_back(directory_ / argument.value);
    else if (name == "omagic" || name == "nmagic")
      static_ = true;
  }

  Result<void> add_option(const Argument& argument) {
    const Option& option = *argument.option;
    switch (option.use) {
    case Option::Use::drop:
      if (!link_.plugins.empty())
        XAAS_CHECK(read_lto_option(argument));
      link_.dropped.push_back(argument.text);
      return {};
    case Option::Use::writes:
      link_.dropped.push_back(argument.text);
      if (!argument.value.empty() && argument.value != "-")
        link_.maps.push_back(directory_ / argument.value);
      return {};
    case Option::Use::refused:
      return refused(argument.text, runs_code);
    case Option::Use::parsed:
      return add_parsed(argument);
    case Option::Use::file:
      return add_file_option(argument);
    case Option::Use::keep:
      return add_kept(argument);
    }
    return {};
  }

  Result<void> add_parsed(const Argument& argument) {
    const std::string_view name = argument.option->name;
    const std::string& value = argument.value;
    if (name == "shared") {
      link_.kind = OutputKind::shared;
    } else if (name == "relocatable") {
      link_.kind = OutputKind::relocatable;
    } else if (name == "output") {
      link_.output = directory_ / value;
    } else if (name == "library") {
      return add_library(value, 0);
    } else if (name == "plugin") {
      const std::string plugin = fs::path(value).filename();
      if (!plugin.starts_with("LLVMgold") && !plugin.starts_with("liblto_plugin"))
        return refused(argument.text, "it runs code");
      link_.dropped.push_back(argument.text);
    } else if (name == "mllvm") {
      return add_llvm_option(argument);
    } else if (name == "format") {
      if (value != "elf" && value != "default" && !value.starts_with("elf64-"))
        return refused(argument.text, "input that is not ELF");
      link_.dropped.push_back(argument.text);
    } else if (name == "oformat") {
      if (!value.starts_with("elf"))
        return refused(argument.text, "output that is not ELF");
      link_.dropped.push_back(argument.text);
    }
    return {};
  }

  // What matters only to a link with IR: -plugin-opt is gold's name for the options of LTO, and of LLVM if a
  // dash follows.
  Result<void> read_lto_option(const Argument& argument) {
    const std::string text = argument.text.substr(argument.text.find_first_not_of('-'));
    const std::string of_gold = "plugin-opt", of_lld = "lto-";
    const bool gold = text.starts_with(of_gold);
    const std::string value = gold ? text.substr(std::min(text.size(), of_gold.size() + 1))
                              : text.starts_with(of_lld) ? text.substr(of_lld.size())
                                                         : std::string();
    if (gold && value.starts_with("-"))
      return add_llvm_option({argument.option, argument.text, value});
    if (value.starts_with("newpm-passes") || value.starts_with("aa-pipeline"))
      return refused(argument.text, "it replaces the passes among which a pass plugin has its place");
    if (value.size() == 2 && value[0] == 'O' && value[1] >= '0' && value[1] <= '3')
      link_.lto_level = static_cast<unsigned>(value[1] - '0');
    return {};
  }

  // For plugins of the link. `-load=FILE` makes LLVM know their options when it reads those that follow.
  Result<void> add_llvm_option(const Argument& argument) {
    const std::string& text = argument.value;
    const std::string option = text.substr(std::min(text.size(), text.find_first_not_of('-')));
    const auto is_plugin = [&](const fs::path& file) {
      return std::any_of(link_.plugins.begin(), link_.plugins.end(), [&](const fs::path& plugin) {
        return plugin.lexically_normal() == file.lexically_normal();
      });
    };
    const bool loads = option.starts_with("load=");
    if (link_.plugins.empty() || (loads && !is_plugin(directory_ / option.substr(5))))
      return refused(argument.text, runs_code);
    if (!loads)
      link_.llvm_options.push_back(option);
    return {};
  }

  Result<void> add_kept(const Argument& argument) {
    const Option& option = *argument.option;
    std::string value = argument.value;
    if (option.name == "Bstatic")
      static_ = true;
    else if (option.name == "Bdynamic")
      static_ = false;
    else if (option.name == "push-state")
      states_.push_back(static_);
    else if (option.name == "pop-state" && !states_.empty()) {
      static_ = states_.back();
      states_.pop_back();
    } else if (option.name == "start-group") {
      in_group_ = true;
    } else if (option.name == "end-group") {
      in_group_ = false;
    } else if (option.name == "build-id" && value == "uuid") {
      value = "sha1"; // a random number would make every link different
    } else if (option.name == "compress-debug-sections" && value.starts_with("zlib-")) {
      value = "zlib"; // GNU ld's names for variants
    } else if (option.name == "z" && !valid_value(option, value)) {
      link_.dropped.push_back(argument.text); // lld ignores unknown keywords
      return {};
    }
    if (!valid_value(option, value))
      return refused(argument.text, "not a valid value for this option");
    if (!is_utf8(value))
      return refused(escape_bytes(argument.text), "not UTF-8");
    link_.items.push_back({LinkItem::Kind::option, canonical(option), value, {}, {}});
    return {};
  }

  static bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error) && !fs::is_directory(path, error);
  }

  fs::path search_directory(const std::string& directory) const {
    for (const std::string_view prefix : {"=", "$SYSROOT"})
      if (directory.starts_with(prefix))
        return fs::path(sysroot_ + "/" + directory.substr(prefix.size()));
    return directory_ / directory;
  }

  std::optional<fs::path> search(const std::string& name) const {
    for (const std::string& directory : search_path_)
      if (fs::path path = search_directory(directory) / name; is_file(path))
        return path;
    return std::nullopt;
  }

  Result<void> add_file_option(const Argument& argument) {
    std::optional<fs::path> path = directory_ / argument.value;
    if (!is_file(*path))
      path = search(argument.value);
    if (!path)
      return make_error(ErrorKind::failed, "cannot open " + argument.value + ": No such file or directory");
    XAAS_TRY(const std::string name, file_name(*path));
    link_.items.push_back({LinkItem::Kind::file_option, canonical(*argument.option), {}, *path, name});
    return {};
  }

  Result<std::string> file_name(const fs::path& path) const {
    const std::string name = path.filename();
    if (name.empty() || !is_utf8(name))
      return make_error(ErrorKind::failed,
                        escape_bytes(path.string()) + ": a file name that is empty or not UTF-8");
    return name;
  }

  Result<void> add_library(const std::string& name, int depth) {
    if (name.starts_with(":")) {
      if (const auto path = search(name.substr(1)))
        return add_path(*path, depth);
      return make_error(ErrorKind::failed, "unable to find library -l" + name);
    }
    for (const std::string& directory : search_path_)
      for (const char* suffix : {".so", ".a"})
        if (const fs::path path = search_directory(directory) / ("lib" + name + suffix);
            !(static_ && suffix == std::string_view(".so")) && is_file(path))
          return add_path(path, depth);
    return make_error(ErrorKind::failed, "unable to find library -l" + name);
  }

  Result<void> add_file(const std::string& file, int depth) {
    const fs::path path = directory_ / file;
    if (!is_file(path))
      return make_error(ErrorKind::failed, "cannot open " + file + ": No such file or directory");
    return add_path(path, depth);
  }

  // A file that is neither an object nor an archive is a linker script.
  Result<void> add_path(const fs::path& path, int depth) {
    XAAS_TRY(const std::string name, file_name(path));
    XAAS_TRY(const bool text, is_text(path));
    if (text) {
      XAAS_TRY(const std::string script, read_file(path, 1 << 20));
      if (const auto groups = parse_library_script(script))
        return add_script(path, *groups, depth);
    }
    link_.items.push_back({LinkItem::Kind::input, {}, {}, path, name});
    return {};
  }

  static Result<bool> is_text(const fs::path& path) {
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error || size == 0 || size > 1 << 20)
      return false;
    XAAS_TRY(const std::string content, read_file(path));
    return !is_elf(content) && !is_archive(content) && content.find('\0') == std::string::npos;
  }

  void add_flag(const char* option) { link_.items.push_back({LinkItem::Kind::option, option, {}, {}, {}}); }

  Result<void> add_script(const fs::path& script, const std::vector<ScriptGroup>& groups, int depth) {
    if (depth == max_depth)
      return make_error(ErrorKind::failed, script.string() + ": linker scripts name each other");
    for (const ScriptGroup& group : groups) {
      const bool grouped = group.group && !in_group_; // groups do not nest
      if (grouped) {
        add_flag("--start-group");
        in_group_ = true;
      }
      for (const ScriptInput& input : group.inputs) {
        if (input.as_needed) {
          add_flag("--push-state");
          add_flag("--as-needed");
        }
        XAAS_CHECK(add_script_input(script, input.name, depth + 1).in(script.string()));
        if (input.as_needed)
          add_flag("--pop-state");
      }
      if (grouped) {
        add_flag("--end-group");
        in_group_ = false;
      }
    }
    return {};
  }

  Result<void> add_script_input(const fs::path& script, const std::string& name, int depth) {
    if (name.starts_with("-l"))
      return add_library(name.substr(2), depth);
    if (name.starts_with("="))
      return add_file(sysroot_ + "/" + name.substr(1), depth);
    if (name.starts_with("/")) {
      const bool under_sysroot = !sysroot_.empty() && !relative_under(script, sysroot_).empty();
      return add_file(under_sysroot && is_file(sysroot_ + name) ? sysroot_ + name : name, depth);
    }
    if (const fs::path beside = script.parent_path() / name; is_file(beside))
      return add_path(beside, depth);
    if (is_file(directory_ / name))
      return add_path(directory_ / name, depth);
    if (const auto path = search(name))
      return add_path(*path, depth);
    return make_error(ErrorKind::failed, "unable to find " + name);
  }

  fs::path directory_;
  std::string sysroot_;
  std::vector<std::string> search_path_;
  bool static_ = false, in_group_ = false;
  std::vector<bool> states_;
  ParsedLink link_;
};

} // namespace

Result<ParsedLink> parse_command_line(const std::vector<std::string>& arguments, const fs::path& directory) {
  std::vector<std::string> expanded;
  XAAS_CHECK(expand_response_files(arguments, directory, 0, expanded));
  XAAS_TRY(const std::vector<Argument> scanned, Scanner(expanded).scan());
  return Parser(directory).parse(scanned);
}

} // namespace xaas::link
