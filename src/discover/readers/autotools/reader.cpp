// Reads the options of a configure script: the macros of configure.ac and of the project's own M4 files, with
// their quoting (Autoconf manual, "External Software", "Package Options"). Without configure.ac, it reads the
// help text of the script.
#include "readers/autotools/guards.h"
#include "readers/autotools/help_text.h"
#include "readers/autotools/macros.h"
#include "readers/autotools/searches.h"
#include "readers/readers.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <regex>

namespace xaas::discover {

namespace {

// The options that Autoconf, Automake and Libtool offer.
bool is_of_the_tools(const std::string& name) {
  static const std::set<std::string> names = {"enable-shared",
                                              "enable-static",
                                              "enable-fast-install",
                                              "enable-libtool-lock",
                                              "enable-dependency-tracking",
                                              "enable-silent-rules",
                                              "enable-maintainer-mode",
                                              "enable-option-checking",
                                              "enable-largefile",
                                              "enable-nls",
                                              "enable-rpath",
                                              "enable-debug",
                                              "with-pic",
                                              "with-gnu-ld",
                                              "with-sysroot",
                                              "with-aix-soname",
                                              "enable-cxx-stdlib",
                                              "enable-FEATURE",
                                              "with-PACKAGE",
                                              "enable-year2038"};
  return names.count(name) > 0;
}

// "with-blas" says which BLAS; without it, configure looks for one.
bool is_interface(const std::string& name) {
  return name == "with-blas" || name == "with-lapack" || name == "with-blas-lapack";
}

// Whether a build file chooses flags for optimization itself, also where it only looks at what the user gave.
bool chooses_optimization(const std::string& text) {
  static const std::regex sign(R"((?:^|[^\w-])-O(?:[0-9sz]|fast)?\b|\bac_test_(?:C|CXX|F|FC)FLAGS\b)");
  for (const std::string& line : split(text, '\n'))
    if (const std::string written = trim(line);
        !written.starts_with("dnl") && !written.starts_with("#") && std::regex_search(written, sign))
      return true;
  return false;
}

class ConfigureReader {
public:
  ConfigureReader(const TreeFiles& tree, Findings& findings) : tree_(tree), findings_(findings) {}

  void read() {
    bool macros = false;
    for (const std::string& path : tree_.paths()) {
      const std::string name = path.substr(path.rfind('/') + 1);
      const bool top = name == "configure.ac" || name == "configure.in";
      if (!top && !path.ends_with(".m4"))
        continue;
      if (name == "aclocal.m4" || name == "libtool.m4" || name.starts_with("lt") ||
          path.find("autom4te") != std::string::npos)
        continue;
      const std::string own = findings_.directory.empty() ? name : findings_.directory + "/" + name;
      if ((top && path != own && path != own.substr(0, own.rfind('/') + 1) + "config/" + name) ||
          belongs_to_another(path))
        continue;
      if (const std::optional<std::string> text = tree_.text(path)) {
        read_macros(*text, path, top && !macros);
        macros |= top;
        for (OptionMacro& macro : option_macros(*text))
          macros_.push_back(std::move(macro));
        texts_.emplace_back(path, *text);
      }
    }
    read_calls_of_macros();
    findings_.tool_optimizes = macros && !names_optimization();
    // The names of options that macros compose appear only here.
    const std::string script = (findings_.directory.empty() ? "" : findings_.directory + "/") + "configure";
    if (const std::optional<std::string> text = tree_.text(script)) {
      if (const std::string first = text->substr(0, text->find('\n'));
          first.find("python") != std::string::npos)
        findings_.notes.push_back(script + ": not a shell script; its options are not read");
      else
        read_help(*text, script);
    }
  }

private:
  // A package inside the tree has its own script.
  bool belongs_to_another(const std::string& path) const {
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string directory = path.substr(0, slash);
      if (directory != findings_.directory && directory.size() > findings_.directory.size() &&
          (tree_.has(directory + "/configure.ac") || tree_.has(directory + "/configure")))
        return true;
    }
    return false;
  }

  bool names_optimization() const {
    return std::any_of(texts_.begin(), texts_.end(),
                       [](const auto& each) { return chooses_optimization(each.second); }) ||
           std::any_of(tree_.paths().begin(), tree_.paths().end(), [&](const std::string& path) {
             return path.ends_with("Makefile.am") && !belongs_to_another(path) &&
                    chooses_optimization(tree_.text(path).value_or(""));
           });
  }

  void add(Option option) {
    if (is_of_the_tools(option.name) || option.name.find_first_of("$ \"") != std::string::npos)
      return;
    std::string variable = option.name; // "sse4-1" and "sse4_1" are one option for configure
    std::replace(variable.begin(), variable.end(), '-', '_');
    if (names_.insert(std::move(variable)).second)
      findings_.options.push_back(std::move(option));
  }

  void read_macros(const std::string& text, const std::string& path, bool first) {
    if (first) {
      const std::string directory = path.substr(0, path.rfind('/') + 1);
      const MacroWords words(tree_, directory, text);
      // Before Autoconf 2.50 the only argument of AC_INIT was a file, and Automake had the name.
      for (const char* macro : {"AM_INIT_AUTOMAKE", "AC_INIT"})
        for (const MacroCall& call : calls_of(text, macro))
          if (call.arguments.size() > 1) {
            findings_.name = words.evaluate(call.arguments[0]);
            findings_.version = words.evaluate(call.arguments[1]);
          }
      for (const MacroCall& call : calls_of(text, "AC_PREREQ"))
        if (!call.arguments.empty())
          findings_.minimum_version = call.arguments[0];
    }
    for (const auto& [macro, language] :
         {std::pair{"AC_PROG_CC", "C"}, std::pair{"AC_PROG_CXX", "CXX"}, std::pair{"AC_PROG_FC", "Fortran"},
          std::pair{"AC_PROG_F77", "Fortran"}})
      if (text.find(macro) != std::string::npos &&
          std::find(findings_.languages.begin(), findings_.languages.end(), language) ==
              findings_.languages.end())
        findings_.languages.emplace_back(language);
    for (const bool enable : {true, false})
      for (const MacroCall& call : calls_of(text, enable ? "AC_ARG_ENABLE" : "AC_ARG_WITH"))
        add_argument(call, enable ? "enable-" : "with-", path, text);
    for (const MacroCall& call : calls_of(text, "PKG_CHECK_MODULES"))
      if (call.arguments.size() > 1)
        add_modules(call, path);
    // The macros of the Autoconf archive try every library that there is; the project chooses none of them.
    const std::string file = path.substr(path.rfind('/') + 1);
    if (!first && (file.starts_with("ax_") || file.starts_with("acx_")))
      return;
    const Guards guards(text);
    for (const char* macro : {"AC_CHECK_LIB", "AC_SEARCH_LIBS"})
      for (const MacroCall& call : calls_of(text, macro)) {
        // Several libraries are alternatives for configure, so the user has no choice.
        const size_t index = macro == std::string_view("AC_CHECK_LIB") ? 0 : 1;
        if (call.arguments.size() > index && split(one_line(call.arguments[index]), ' ').size() == 1)
          for (const std::string& name : split(one_line(call.arguments[index]), ' '))
            add_package({name, "", false, guards.around(call.line), {path, call.line}});
      }
    add_compilers(text, path, guards);
    if (path.ends_with(".ac") || path.ends_with(".in"))
      for (auto& [name, line] : libraries_of_macros(text))
        add_package({name, "", false, guards.around(line), {path, line}});
    // Autoconf manual: AC_OPENMP offers --disable-openmp.
    for (const auto& [name, line] : libraries_of_macros(text))
      if (name == "openmp" && text.find("AC_OPENMP") != std::string::npos) {
        Option option;
        option.name = "enable-openmp";
        option.initial = "ON";
        option.help = "use OpenMP";
        option.place = {path, line};
        add(std::move(option));
      }
  }

  // A search for MPI's compilers.
  void add_compilers(const std::string& text, const std::string& path, const Guards& guards) {
    for (const char* macro : {"AC_PROG_CC", "AC_PROG_CXX", "AC_PROG_FC", "AC_CHECK_PROG", "AC_CHECK_PROGS",
                              "AC_PATH_PROG", "AC_PATH_PROGS"})
      for (const MacroCall& call : calls_of(text, macro))
        for (const std::string& argument : call.arguments) {
          const std::vector<std::string> words = split(one_line(argument), ' ');
          if (std::any_of(words.begin(), words.end(), is_mpi_compiler))
            add_package({"mpi", "", false, guards.around(call.line), {path, call.line}});
        }
  }

  // The options of the project's own macros, by their calls.
  void read_calls_of_macros() {
    constexpr size_t most = 200;
    macros_.resize(std::min(macros_.size(), most));
    for (const OptionMacro& macro : macros_)
      for (const auto& [path, text] : texts_)
        for (const MacroCall& call : calls_of(text, macro.name)) {
          const std::string body = expanded(macro, call.arguments);
          for (const bool enable : {true, false})
            for (MacroCall& argument : calls_of(body, enable ? "AC_ARG_ENABLE" : "AC_ARG_WITH")) {
              argument.line = call.line;
              add_argument(argument, enable ? "enable-" : "with-", path, body);
            }
        }
  }

  void add_package(Package package) {
    if (package.name.empty() || package.name.find_first_of("$\"`") != std::string::npos)
      return;
    package.linked = true; // configure adds what it finds to the link
    for (Package& other : findings_.packages)
      if (other.name == package.name) {
        if (package.conditions.size() < other.conditions.size())
          other.conditions = std::move(package.conditions);
        return;
      }
    findings_.packages.push_back(std::move(package));
  }
  void add_modules(const MacroCall& call, const std::string& path) {
    const std::vector<std::string> words = split(one_line(without_quotes(call.arguments[1])), ' ');
    for (size_t i = 0; i < words.size(); ++i)
      if (!words[i].empty() && std::isalpha(static_cast<unsigned char>(words[i][0]))) {
        const bool has_version = i + 2 < words.size() && words[i + 1].find_first_of("<>=") == 0;
        add_package(
            {words[i], has_version ? words[i + 2] : "", call.arguments.size() < 4, {}, {path, call.line}});
        i += has_version ? 2 : 0;
      }
  }

  // Whether a test before the option sets the variable that the option switches on.
  static bool is_detected(const MacroCall& call, const std::string& text) {
    const std::string action = call.arguments.size() > 2 ? call.arguments[2] : "";
    for (const std::string& line : split(action, '\n'))
      if (const size_t equals = line.find("=yes"); equals != std::string::npos && equals > 0)
        if (const std::string variable = trim(line.substr(0, equals));
            variable.find_first_of(" \t([") == std::string::npos &&
            !assigned_before(text, variable, call.line).empty() &&
            text.find("\n" + variable + "=yes") < text.find(action))
          return true;
    return false;
  }

  // What the script does with the option's value tells more than its help.
  static void read_action(const MacroCall& call, const std::string& text, Option& option) {
    const std::string& action = call.arguments[2];
    std::vector<std::string> values = values_of_case(action);
    std::string initial;
    if (const std::string variable = variable_of_value(action); values.size() < 2 && !variable.empty()) {
      values = values_of_variable(text, variable);
      initial = assigned_before(text, variable, call.line);
    }
    if (values.size() > 1) {
      option.initial.reset();
      if (std::find(values.begin(), values.end(), initial) != values.end())
        option.initial = initial;
      option.kind = Option::Kind::choice;
      option.values = std::move(values);
    }
  }

  void add_argument(const MacroCall& call, const std::string& prefix, const std::string& path,
                    const std::string& text) {
    if (call.arguments.empty())
      return;
    std::string help = call.arguments.size() > 1 ? call.arguments[1] : "";
    std::string left, right;
    std::vector<std::string> listed;
    std::vector<MacroCall> strings = calls_of(help, "AS_HELP_STRING");
    if (strings.empty())
      strings = calls_of(help, "AC_HELP_STRING");
    if (!strings.empty() && !strings[0].arguments.empty()) {
      left = strings[0].arguments[0];
      right = strings[0].arguments.size() > 1 ? strings[0].arguments[1] : "";
    } else {
      listed = values_listed(help);
      help = one_line(help);
      const size_t end = help.find(' ');
      left = help.substr(0, end);
      right = end == std::string::npos ? "" : help.substr(end + 1);
    }
    Option option = option_of(prefix + call.arguments[0], one_line(left), one_line(without_quotes(right)),
                              {path, call.line});
    if (!default_in_help(option.help) && call.arguments.size() > 3) {
      const std::string otherwise = one_line(call.arguments[3]);
      const auto sets = [&](const char* yes) {
        return otherwise.find(std::string("=") + yes) != std::string::npos ||
               otherwise.find(std::string("=\"") + yes) != std::string::npos;
      };
      if (sets("yes") || sets("true"))
        option.initial = "ON";
      else if (sets("no") || sets("false"))
        option.initial = "OFF";
    }
    const std::string otherwise = call.arguments.size() > 3 ? call.arguments[3] : "";
    if (option.kind == Option::Kind::boolean && !option.takes_place && call.arguments.size() > 2)
      read_action(call, text, option);
    const std::string help_text = to_lower(option.help);
    if (option.kind != Option::Kind::choice && listed.size() > 1) {
      option.kind = Option::Kind::choice;
      option.takes_place = false;
      const size_t set = otherwise.find('=');
      const std::string value = set == std::string::npos ? "" : trim(otherwise.substr(set + 1));
      if (std::find(listed.begin(), listed.end(), value) != listed.end())
        option.initial = value;
      option.values = std::move(listed);
    }
    const bool is_asked =
        help_text.find("guess") != std::string::npos || help_text.find("autodetect") != std::string::npos ||
        help_text.find("auto-detect") != std::string::npos || otherwise.find("check") != std::string::npos ||
        otherwise.find("auto") != std::string::npos || is_detected(call, text);
    if (!option.initial && option.kind == Option::Kind::boolean && !is_asked && !is_interface(option.name))
      option.initial = "OFF";
    add(std::move(option));
  }

  // "  --enable-threads[=TYPE]   text", with more text on the following lines.
  void read_help(const std::string& text, const std::string& path) {
    findings_.name = findings_.name.empty() ? tree_.root().filename().string() : findings_.name;
    unsigned number = 0;
    std::optional<Option> open;
    std::string left, help;
    Place place;
    const auto close = [&] {
      if (left.empty())
        return;
      // `--enable-x`, `--disable-x` and short forms on the same line are one option.
      const size_t at = std::min(left.find("--"), left.size());
      std::string name = left.substr(at, left.find_first_of(" =[,", at) - at);
      if (name.starts_with("--")) {
        name.erase(0, 2);
        if (name.starts_with("disable-"))
          name = "enable-" + name.substr(8);
        if (name.starts_with("without-"))
          name = "with-" + name.substr(8);
        if (name.starts_with("enable-") || name.starts_with("with-"))
          add(option_of(name, left, one_line(help), place));
      }
      left.clear();
      help.clear();
    };
    for (const std::string& line : split_lines(text)) {
      ++number;
      // The argument of `echo` is its text.
      std::string shown = trim(line);
      if (shown.starts_with("echo ")) {
        shown = trim(shown.substr(5));
        if (!shown.empty() && (shown[0] == '"' || shown[0] == '\''))
          shown = trim(shown.substr(1, shown.size() - 1 - (shown.size() > 1 && shown.back() == shown[0])));
        if (!shown.empty() && (shown.back() == '"' || shown.back() == '\''))
          shown.pop_back();
      }
      shown = trim(shown);
      const bool starts =
          shown.starts_with("--") ||
          (shown.starts_with("-") && shown.find(", --") != std::string::npos && shown.find(", --") < 16);
      if (starts && shown.find(")") != std::string::npos && shown.find(")") < shown.find(' '))
        continue; // a branch of `case`
      if (starts) {
        close();
        place = {path, number};
        const size_t gap = shown.find("  ");
        left = shown.substr(0, gap);
        help = gap == std::string::npos ? "" : shown.substr(gap);
      } else if (!left.empty() && !shown.empty() && help.size() < 2000) {
        help += " " + shown;
      } else {
        close();
      }
    }
    close();
  }

  static std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    size_t at = 0;
    while (at <= text.size()) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

  const TreeFiles& tree_;
  Findings& findings_;
  std::set<std::string> names_;
  std::vector<OptionMacro> macros_;                        // those that declare options
  std::vector<std::pair<std::string, std::string>> texts_; // of the files, with their paths
};

} // namespace

void read_autotools(const TreeFiles& tree, Findings& findings) {
  ConfigureReader(tree, findings).read();
}

} // namespace xaas::discover
