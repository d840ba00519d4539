// Reads a Meson project: its option file, and the searches in meson.build files. Each call is read on its
// own; conditions around it are ignored.
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

// One argument: a string, a list of strings, or other text as written.
struct MesonArgument {
  std::string name; // of a keyword argument
  std::string text; // of a string, its content
  std::vector<std::string> list;
  bool is_string = false;
};
struct MesonCall {
  std::string function; // "option", "dependency", "find_library"
  std::vector<MesonArgument> arguments;
  unsigned line = 0;

  const MesonArgument* keyword(const std::string& name) const {
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const MesonArgument& argument) { return argument.name == name; });
    return found == arguments.end() ? nullptr : &*found;
  }
  std::string text(const std::string& name) const {
    const MesonArgument* const argument = keyword(name);
    return argument ? argument->text : "";
  }
  std::string first() const {
    return !arguments.empty() && arguments[0].name.empty() && arguments[0].is_string ? arguments[0].text : "";
  }
};

class MesonParser {
public:
  explicit MesonParser(const std::string& text) : text_(text) {}

  std::vector<MesonCall> calls() {
    std::vector<MesonCall> calls;
    while (at_ < text_.size()) {
      if (skip_other())
        continue;
      if (!is_name(text_[at_])) {
        step();
        continue;
      }
      const unsigned line = line_;
      const std::string name = take_name();
      // Other calls are skipped, but calls within their arguments are read, and each text once.
      if (name != "option" && name != "project" && name != "dependency" && name != "find_library")
        continue;
      skip_space();
      if (at_ < text_.size() && text_[at_] == '(') {
        step();
        MesonCall call{name, {}, line};
        take_arguments(call);
        calls.push_back(std::move(call));
      }
    }
    return calls;
  }

private:
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void step() { line_ += text_[at_++] == '\n'; }
  std::string take_name() {
    const size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_]))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  // Skips a comment or a string, which contain no calls.
  bool skip_other() {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (text_[at_] == '\'') {
      take_string();
      return true;
    }
    return false;
  }
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        step();
      else if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        return;
    }
  }
  std::string take_string() {
    std::string content;
    const bool lines = text_.compare(at_, 3, "'''") == 0;
    at_ += lines ? 3 : 1;
    while (at_ < text_.size() && (lines ? text_.compare(at_, 3, "'''") != 0 : text_[at_] != '\'')) {
      if (text_[at_] == '\\' && !lines && at_ + 1 < text_.size())
        ++at_;
      content.push_back(text_[at_]);
      step();
    }
    at_ = std::min(at_ + (lines ? 3 : 1), text_.size());
    return content;
  }

  void take_arguments(MesonCall& call) {
    while (at_ < text_.size()) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] == ')')
        return;
      if (text_[at_] == ',') {
        step();
        continue;
      }
      MesonArgument argument;
      if (is_name(text_[at_])) {
        const size_t start = at_;
        const unsigned line = line_;
        std::string name = take_name();
        skip_space();
        if (at_ < text_.size() && text_[at_] == ':') {
          step();
          skip_space();
          argument.name = std::move(name);
        } else {
          at_ = start;
          line_ = line;
        }
      }
      take_value(argument);
      call.arguments.push_back(std::move(argument));
    }
  }
  void take_value(MesonArgument& argument) {
    if (at_ < text_.size() && text_[at_] == '\'') {
      argument.is_string = true;
      argument.text = take_string();
    }
    int depth = 0;
    while (at_ < text_.size()) {
      skip_space();
      if (at_ >= text_.size())
        return;
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ')'))
        return;
      if (c == '\'') {
        argument.list.push_back(take_string());
        continue;
      }
      depth += c == '(' || c == '[' || c == '{';
      depth -= c == ')' || c == ']' || c == '}';
      if (!argument.is_string)
        argument.text.push_back(c);
      step();
    }
  }

  const std::string& text_;
  size_t at_ = 0;
  unsigned line_ = 1;
};

void add_option(const MesonCall& call, const std::string& file, Findings& findings) {
  Option option;
  option.name = call.first();
  if (option.name.empty())
    return;
  option.help = call.text("description");
  option.place = {file, call.line};
  const std::string type = call.text("type");
  const std::string value = call.text("value");
  if (type == "boolean") {
    option.kind = Option::Kind::boolean;
    option.initial = value == "false" ? "OFF" : "ON"; // true if it does not say
  } else if (type == "feature") {
    option.kind = Option::Kind::choice;
    option.values = {"auto", "enabled", "disabled"};
    option.initial = value.empty() ? "auto" : value;
  } else if (type == "combo" || type == "array") {
    option.kind = Option::Kind::choice;
    if (const MesonArgument* const choices = call.keyword("choices"))
      option.values = choices->list;
    const MesonArgument* const initial = call.keyword("value");
    if (initial)
      option.initial = initial->is_string ? initial->text : join(initial->list, ",");
    else if (!option.values.empty()) // an array has all of them
      option.initial = type == "array" ? join(option.values, ",") : option.values.front();
  } else {
    option.kind = Option::Kind::text;
    option.initial = value;
  }
  findings.options.push_back(std::move(option));
}

void add_build_file(const std::vector<MesonCall>& calls, const std::string& file, Findings& findings) {
  for (const MesonCall& call : calls) {
    if (call.function == "project" && findings.name.empty()) {
      findings.name = call.first();
      findings.version = call.text("version");
      findings.stated_license = call.text("license");
      std::string minimum = call.text("meson_version");
      minimum.erase(0, minimum.find_first_of("0123456789"));
      findings.minimum_version = minimum;
      for (size_t i = 1; i < call.arguments.size(); ++i)
        if (call.arguments[i].name.empty()) {
          std::vector<std::string> names = call.arguments[i].list;
          if (call.arguments[i].is_string)
            names.insert(names.begin(), call.arguments[i].text);
          for (const std::string& name : names)
            findings.languages.push_back(name == "cpp"       ? "CXX"
                                         : name == "c"       ? "C"
                                         : name == "fortran" ? "Fortran"
                                         : name == "cuda"    ? "CUDA"
                                                             : name);
        }
    } else if (call.function == "dependency" || call.function == "find_library") {
      if (call.first().empty() || is_for_developers(file))
        continue;
      std::string version = call.text("version");
      version.erase(0, std::min(version.find_first_of("0123456789"), version.size()));
      const std::string required = call.text("required");
      const auto same = std::find_if(findings.packages.begin(), findings.packages.end(),
                                     [&](const Package& package) { return package.name == call.first(); });
      if (same != findings.packages.end())
        continue;
      Package package{call.first(), version, required.empty() || required == "true", {}, {file, call.line}};
      package.linked = !is_bundled(file);
      findings.packages.push_back(std::move(package));
    }
  }
}

} // namespace

void read_meson(const TreeFiles& tree, Findings& findings) {
  const std::string directory = findings.directory.empty() ? "" : findings.directory + "/";
  for (const std::string& file : {directory + "meson.options", directory + "meson_options.txt"})
    if (const std::optional<std::string> text = tree.text(file)) {
      for (const MesonCall& call : MesonParser(*text).calls())
        if (call.function == "option")
          add_option(call, file, findings);
      break;
    }
  for (const std::string& path : tree.paths())
    if ((path == "meson.build" || path.ends_with("/meson.build")) &&
        path.find("subprojects/") == std::string::npos)
      if (const std::optional<std::string> text = tree.text(path))
        add_build_file(MesonParser(*text).calls(), path, findings);
}

} // namespace xaas::discover
