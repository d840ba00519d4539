// Reads plain makefiles: the variables that their conditionals test, and those that a file for users sets or
// offers in a comment ("# USE_OPENMP = 1").
#include "readers/make/rules.h"
#include "readers/make/use.h"
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>
#include <regex>

namespace xaas::discover {

static std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_makefile(const std::string& path) {
  const std::string name = file_name(path);
  if (name.ends_with(".in") || name.ends_with(".am"))
    return false;
  return name == "Makefile" || name == "makefile" || name == "GNUmakefile" || name.starts_with("Makefile.") ||
         name.starts_with("makefile.") || name.starts_with("Make.") || name.ends_with(".mk") ||
         name == "make.inc" || name.starts_with("make.inc.") || name == "make.include" ||
         name == "make.def" || name == "make.sys" || name == "make.conf" || name.starts_with("config.make");
}

namespace {

// Files that users are meant to edit: the variables that they set are options.
bool is_for_users(const std::string& path) {
  const std::string name = file_name(path);
  for (const char* part : {"rule", "inc", "config", "user", "local", "conf"})
    if (name.find(part) != std::string::npos)
      return true;
  return false;
}

// Variables of make and compilers that every makefile has. They are not options of this application.
bool is_common(const std::string& name) {
  static const std::set<std::string> names = {
      "CC",       "CXX",      "FC",       "F77",     "F90",     "LD",        "AR",
      "RANLIB",   "CFLAGS",   "CXXFLAGS", "FFLAGS",  "FCFLAGS", "LDFLAGS",   "LIBS",
      "LDLIBS",   "PREFIX",   "prefix",   "DESTDIR", "INSTALL", "SHELL",     "MAKE",
      "RM",       "CP",       "VPATH",    "OBJS",    "OBJECTS", "SRCS",      "SOURCES",
      "INCLUDES", "CPPFLAGS", "OPTF",     "OPTC",    "OPTL",    "VERSION",   "DEBUG",
      "HOSTCC",   "OSNAME",   "OS",       "ARCH",    "BINARY",  "MAKEFLAGS", "MAKECMDGOALS",
      "CROSS",    "HOST_OS",  "UNAME",    "PLAT",    "LIBEXT",  "LIBNAME",   "MAKEOVERRIDES"};
  return names.count(name) > 0;
}

class MakeReader {
public:
  MakeReader(const TreeFiles& tree, Findings& findings) : tree_(tree), findings_(findings), uses_(findings) {}

  void read() {
    for (const std::string& path : tree_.paths()) {
      if (!is_near_the_build(path) || !is_makefile(path))
        continue;
      if (const std::optional<std::string> text = tree_.text(path))
        read_file(*text, path);
    }
    uses_.finish();
    for (auto& [name, option] : options_)
      if (tested_.count(name) || offered_.count(name))
        findings_.options.push_back(finished(std::move(option)));
    std::sort(findings_.options.begin(), findings_.options.end(),
              [](const Option& a, const Option& b) { return a.place < b.place; });
  }

private:
  // At most one level below the build's first file; templates to choose from, two levels.
  bool is_near_the_build(const std::string& path) const {
    const std::string& top = findings_.directory;
    const bool below = !top.empty() && path.starts_with(top + "/");
    return std::count(path.begin(), path.end(), '/') <=
           (is_make_template(path) ? 2 : 1) + (below ? 1 + std::count(top.begin(), top.end(), '/') : 0);
  }

  Option& option(const std::string& name, const std::string& path, unsigned line) {
    const auto [found, added] = options_.try_emplace(name);
    if (added) {
      found->second.name = name;
      found->second.kind = Option::Kind::text;
      found->second.place = {path, line};
    }
    return found->second;
  }

  void read_file(const std::string& text, const std::string& path) {
    std::vector<std::string> comment;
    unsigned number = 0;
    size_t at = 0;
    const bool for_users = is_for_users(path);
    MakeBranches branches;
    while (at < text.size()) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = trim(text.substr(at, end - at));
      const bool recipe = text[at] == '\t';
      at = end + 1;
      ++number;
      if (recipe) {
        uses_.add_line(line, {path, number}, branches.is_default());
        continue;
      }
      if (line.empty()) {
        comment.clear();
        continue;
      }
      if (line[0] == '#') {
        const std::string inner = trim(line.substr(std::min(line.find_first_not_of('#'), line.size())));
        if (inner.find('=') != std::string::npos)
          uses_.add_line(inner, {path, number}, false);
        if (for_users && add_assignment(inner, path, number, comment, true, false))
          comment.clear();
        else
          comment.push_back(inner);
        continue;
      }
      if (branches.read(line, default_of(line))) {
        add_condition(line, path, number);
      } else {
        uses_.add_line(line, {path, number}, branches.is_default());
        add_assignment(line, path, number, comment, false, branches.is_default());
      }
      comment.clear();
    }
  }

  struct Test {
    std::string name, value;
    bool is_negated = false, has_value = false;
  };
  // ifdef X; ifeq ($(X),value), also with the sides swapped; ifeq "$(X)" "value"; ifneq (,$(filter
  // value,$(X))).
  static std::optional<Test> test_in(const std::string& line) {
    static const std::regex defined(R"re(^(?:else\s+)?if(n?)def\s+([A-Za-z_]\w*))re");
    static const std::regex left(
        R"re(^(?:else\s+)?if(n?)eq\s*\(\s*"?\$[({](?:strip\s+\$[({])?([A-Za-z_]\w*)[)}]+"?\s*,\s*"?([^)"]*)"?\))re");
    static const std::regex right(
        R"re(^(?:else\s+)?if(n?)eq\s*\(\s*([^,$()]*?)\s*,\s*\$[({]([A-Za-z_]\w*)[)}]\s*\))re");
    static const std::regex quoted(
        R"re(^(?:else\s+)?if(n?)eq\s+["']\$[({]([A-Za-z_]\w*)[)}]["']\s+["']([^"']*)["'])re");
    static const std::regex contains(
        R"re(^(?:else\s+)?if(n?)eq\s*\(.*\$[({](?:filter|findstring)\s+([^,$]+),\s*\$[({]([A-Za-z_]\w*)[)}]\s*[)}])re");
    std::smatch match;
    const std::string start = line.substr(0, 300);
    const auto found = [&](size_t name, size_t value) {
      return Test{match[name], value ? trim(match[value].str()) : "", match[1].length() > 0, value > 0};
    };
    if (std::regex_search(start, match, defined))
      return found(2, 0);
    if (std::regex_search(start, match, left) || std::regex_search(start, match, quoted))
      return found(2, 3);
    if (std::regex_search(start, match, right))
      return found(3, 2);
    if (std::regex_search(start, match, contains)) {
      Test test = found(3, 2);
      test.is_negated = !test.is_negated; // the comparison is with nothing
      return test;
    }
    return std::nullopt;
  }

  void add_condition(const std::string& line, const std::string& path, unsigned number) {
    const std::optional<Test> test = test_in(line);
    if (test && test->value.empty())
      add_test(test->name, "", path, number);
    else if (test)
      for (const std::string& value : split(test->value, ' '))
        add_test(test->name, value, path, number);
  }

  // What a condition gives if nobody sets a variable; nothing if that is unknown.
  std::optional<bool> default_of(const std::string& line) const {
    const std::optional<Test> test = test_in(line);
    if (!test)
      return std::nullopt;
    const std::string system = to_lower(test->value);
    if (system == "linux")
      return !test->is_negated;
    if (system == "darwin" || system == "windows_nt" || system == "freebsd" || system == "aix")
      return test->is_negated;
    const auto found = options_.find(test->name);
    if (is_common(test->name) && found == options_.end())
      return std::nullopt;
    const std::string value = found == options_.end() ? "" : found->second.initial.value_or("");
    if (value.find('$') != std::string::npos)
      return std::nullopt;
    const bool equal = test->has_value ? value == test->value : !value.empty();
    return equal != test->is_negated;
  }

  // A variable that is compared with a value, or tested for being set.
  void add_test(const std::string& name, const std::string& value, const std::string& path, unsigned number) {
    if (is_common(name))
      return;
    Option& found = option(name, path, number);
    tested_.insert(name);
    if (value.empty() && found.values.empty())
      found.kind = Option::Kind::boolean;
    else if (!value.empty() && value.find('$') == std::string::npos &&
             std::find(found.values.begin(), found.values.end(), value) == found.values.end())
      found.values.push_back(value);
  }

  // NAME = value, also with := and ?=; in a comment, an offered value. `is_default`: a build without options
  // gets there.
  bool add_assignment(const std::string& line, const std::string& path, unsigned number,
                      const std::vector<std::string>& comment, bool offered, bool is_default) {
    static const std::regex assignment(R"(^(?:override\s+|export\s+)?([A-Za-z_]\w*)\s*(?:[:?]?=)\s*(.*)$)");
    std::smatch match;
    const std::string start = line.substr(0, 300);
    if (!std::regex_match(start, match, assignment))
      return false;
    const std::string name = match[1];
    const size_t remark = match[2].str().find(" #");
    const std::string value = trim(match[2].str().substr(0, remark));
    if (is_common(name) ||
        (offered && value.find(' ') != std::string::npos && value.find('-') == std::string::npos))
      return false;
    const bool user_file = is_for_users(path);
    Option& found = option(name, path, number);
    if (found.help.empty())
      found.help =
          (remark == std::string::npos ? join(comment, " ") : trim(match[2].str().substr(remark + 2)))
              .substr(0, 500);
    if (user_file)
      offered_.insert(name);
    if (is_default && !found.initial)
      found.initial = value;
    if (offered)
      offers_[name].insert(value);
    return true;
  }

  Option finished(Option option) const {
    static const std::set<std::string> boolean = {"0",    "1",     "y",    "n",     "yes", "no",
                                                  "true", "false", "on",   "off",   "Y",   "N",
                                                  "YES",  "NO",    "TRUE", "FALSE", "ON",  "OFF"};
    std::vector<std::string> words;
    for (const std::string& value : option.values)
      if (!boolean.count(value))
        words.push_back(value);
    bool yes_or_no = !option.values.empty() && words.empty();
    if (const auto found = offers_.find(option.name); found != offers_.end())
      yes_or_no |= words.empty() && std::all_of(found->second.begin(), found->second.end(),
                                                [&](const auto& value) { return boolean.count(value) > 0; });
    if (option.initial && boolean.count(*option.initial) && words.empty())
      yes_or_no = true;
    const std::string initial = option.initial.value_or("");
    if (initial.starts_with("-") || initial.find('/') != std::string::npos ||
        initial.find(" -") != std::string::npos) {
      option.kind = Option::Kind::text; // flags or a place, tested only for being set
    } else if (yes_or_no || option.kind == Option::Kind::boolean) {
      option.kind = Option::Kind::boolean;
      // The words for on and off: those that conditionals compare with.
      const auto is_yes = [](const std::string& value) {
        return std::string("1yYtT").find(value[0]) != std::string::npos || value == "on" || value == "ON";
      };
      std::vector<std::string> yes = {"1"}, no;
      for (const std::string& value : option.values)
        if (boolean.count(value))
          (is_yes(value) ? yes : no).push_back(value);
      option.values = {yes.back()};
      if (!no.empty())
        option.values.push_back(no.front());
      option.initial = to_lower(initial) == "auto"           ? "auto"
                       : !initial.empty() && is_yes(initial) ? "ON"
                                                             : "OFF";
    } else if (words.size() > 1) {
      option.kind = Option::Kind::choice;
      option.values = words;
    } else {
      option.kind = Option::Kind::text;
    }
    return option;
  }

  const TreeFiles& tree_;
  Findings& findings_;
  MakeUses uses_;
  std::map<std::string, Option> options_;
  std::set<std::string> tested_, offered_;
  std::map<std::string, std::set<std::string>> offers_;
};

} // namespace

// Whether any makefile of the tree names DESTDIR. A build that does not installs into this machine.
static bool honors_destdir(const TreeFiles& tree) {
  return std::any_of(tree.paths().begin(), tree.paths().end(), [&](const std::string& path) {
    if (!is_makefile(path))
      return false;
    const std::optional<std::string> text = tree.text(path);
    return text && text->find("DESTDIR") != std::string::npos;
  });
}

void read_make(const TreeFiles& tree, Findings& findings) {
  MakeReader(tree, findings).read();
  const std::string directory = findings.directory.empty() ? std::string() : findings.directory + "/";
  for (const char* name : {"GNUmakefile", "makefile", "Makefile"})
    if (tree.has(directory + name)) {
      findings.products = read_make_products(tree, directory + name, target::host_arch(), findings.notes);
      findings.products->has_install &= honors_destdir(tree);
      break;
    }
}

} // namespace xaas::discover
