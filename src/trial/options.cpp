#include "options.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

namespace xaas::trial {

namespace {

using System = spec::BuildSystem;

// Lower-case words of a name: BUILD_Testing has "build" and "testing".
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty())
    words.pop_back();
  return words;
}

// What an option that can be switched off is called after, by the things that it needs.
std::string purpose_of(const std::string& name) {
  struct Purpose {
    const char* purpose;
    std::vector<std::string> words;
  };
  static const std::vector<Purpose> purposes = {
      {"test",
       {"test", "tests", "testing", "unittest", "unittests", "gtest", "googletest", "gmock", "catch",
        "catch2", "doctest", "cppunit", "cmocka", "check", "dejagnu"}},
      {"doc",
       {"doc", "docs", "documentation", "manual", "man", "doxygen", "sphinx", "asciidoc", "asciidoctor",
        "help2man", "pandoc", "texinfo", "makeinfo", "xsltproc"}},
      {"example", {"example", "examples", "demo", "demos", "sample", "samples"}},
      {"benchmark", {"benchmark", "benchmarks", "bench"}},
      {"python", {"python", "python3", "pybind11", "cython", "numpy", "swig"}},
      {"gui", {"gui", "qt", "qt4", "qt5", "qt6", "gtk", "gtk2", "gtk3", "gtk4", "x11"}}};
  const std::string word = to_lower(name);
  for (const Purpose& each : purposes)
    if (std::find(each.words.begin(), each.words.end(), word) != each.words.end())
      return each.purpose;
  return word;
}

bool needs(const std::string& option, const std::string& missing) {
  const std::string wanted = purpose_of(missing);
  const std::vector<std::string> words = words_of(option);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return purpose_of(word) == wanted || (word.size() > 3 && starts_with(wanted, word));
  });
}

// The argument that switches an option off; empty: it cannot be.
std::string off_argument(System system, const discover::Option& option) {
  const bool is_feature =
      std::find(option.values.begin(), option.values.end(), "disabled") != option.values.end();
  if (system == System::autotools && starts_with(option.name, "enable-"))
    return "--disable-" + option.name.substr(7);
  if (system == System::autotools && starts_with(option.name, "with-"))
    return "--without-" + option.name.substr(5);
  if (system == System::meson && (is_feature || option.kind == discover::Option::Kind::boolean))
    return "-D" + option.name + (is_feature ? "=disabled" : "=false");
  if (system == System::cmake && option.kind == discover::Option::Kind::boolean)
    return "-D" + option.name + "=OFF";
  return {};
}

bool is_off(const discover::Option& option) {
  static constexpr std::array words = {"OFF", "off", "no", "NO", "false", "FALSE", "0", "disabled"};
  return option.initial && std::find(words.begin(), words.end(), *option.initial) != words.end();
}

// The directory of the first error, where its parts are optional: "tests/a.cpp:1: error: ...".
std::vector<std::string> purposes_of_place(const std::string& error) {
  static const std::regex place(R"(^([\w./+-]+/)[\w.+-]+:\d+)");
  static const std::set<std::string> optional = {"test", "doc", "example", "benchmark", "python", "gui"};
  std::smatch match;
  std::vector<std::string> purposes;
  if (std::regex_search(error, match, place))
    for (const std::string& word : words_of(match[1]))
      if (optional.contains(purpose_of(word)))
        purposes.push_back(word);
  return purposes;
}

class OptionLesson {
public:
  OptionLesson(const Classroom& room, discover::Draft& draft)
      : room_(room), draft_(draft), system_(draft.application.build.system) {
    missing_ = missing_names(room.failure.output);
    for (std::string& purpose : purposes_of_place(room.failure.error))
      missing_.push_back(std::move(purpose));
  }

  std::string learn() {
    if (room_.failure.step.empty() || room_.failure.step == "install")
      return {};
    if (std::string learned = give_required(); !learned.empty())
      return learned;
    if (std::string learned = leave_out_value(); !learned.empty())
      return learned;
    return switch_off();
  }

private:
  // A variable without which configuring fails: its next value.
  std::string give_required() {
    for (const discover::Option& option : room_.findings.options) {
      if (!option.required || option.values.empty() || room_.failure.step != "configure" ||
          is_of_point(option) || room_.failure.output.find(option.name) == std::string::npos)
        continue;
      const std::string argument =
          (system_ == System::cmake || system_ == System::meson ? "-D" : "") + option.name + "=";
      std::vector<std::string>& arguments = draft_.application.build.arguments;
      const auto known = std::find_if(arguments.begin(), arguments.end(),
                                      [&](const std::string& each) { return starts_with(each, argument); });
      auto next = option.values.begin();
      if (known != arguments.end())
        next = std::find(option.values.begin(), option.values.end(), known->substr(argument.size()));
      if (known != arguments.end() && (next == option.values.end() || ++next == option.values.end()))
        continue;
      if (known != arguments.end())
        arguments.erase(known);
      arguments.push_back(argument + *next);
      draft_.remarks.push_back(
          {"/build/arguments", option.name + " is required. Its values: " + join(option.values, ", ")});
      return "build.arguments: " + argument + *next + ", because " + option.name + " is required";
    }
    return {};
  }

  bool is_of_point(const discover::Option& option) const {
    const auto& points = draft_.application.points;
    return std::any_of(points.begin(), points.end(), [&](const spec::SpecializationPoint& point) {
      return std::any_of(point.values.begin(), point.values.end(), [&](const spec::Value& value) {
        return std::any_of(value.arguments.begin(), value.arguments.end(), [&](const std::string& argument) {
          return argument.find(option.name + "=") != std::string::npos ||
                 ends_with(argument, "-" + option.name);
        });
      });
    });
  }

  // The value of the configuration that the messages name.
  std::string leave_out_value() {
    for (const spec::SpecializationPoint& point : draft_.application.points) {
      const auto chosen = room_.failure.values.find(point.name);
      if (chosen == room_.failure.values.end() || point.values.size() < 2 || !point.find(chosen->second) ||
          !is_blamed(point, chosen->second))
        continue;
      const std::string name = point.name, value = chosen->second;
      discover::leave_out(draft_, {name, value, room_.failure.error, {}});
      return "without " + name + "=" + value + ", which does not build";
    }
    return {};
  }

  bool is_blamed(const spec::SpecializationPoint& point, const std::string& value) const {
    static const std::set<std::string> off = {"off", "none", "no", "false", "default"};
    if (off.contains(to_lower(value)))
      return false;
    const std::string thing = value == "on" || value == "auto" ? point.name : value;
    return std::any_of(missing_.begin(), missing_.end(),
                       [&](const std::string& name) { return needs(thing, name) || needs(name, thing); });
  }

  std::string switch_off() {
    for (const std::string& name : missing_)
      for (const discover::Option& option : room_.findings.options) {
        const std::string argument = off_argument(system_, option);
        std::vector<std::string>& arguments = draft_.application.build.arguments;
        if (argument.empty() || is_off(option) || option.internal || !needs(option.name, name) ||
            is_of_point(option) || std::find(arguments.begin(), arguments.end(), argument) != arguments.end())
          continue;
        arguments.push_back(argument);
        draft_.remarks.push_back({"/build/arguments", argument + ": " + room_.failure.error});
        return "build.arguments: " + argument + ", because " + name + " is missing or fails";
      }
    return {};
  }

  const Classroom& room_;
  discover::Draft& draft_;
  System system_;
  std::vector<std::string> missing_;
};

} // namespace

std::vector<std::string> missing_names(const std::string& output) {
  // Messages of CMake, pkg-config, Meson, Autoconf, compilers, linkers and shells.
  static const std::vector<std::regex> messages = {
      std::regex(R"re(Could NOT find (\w+))re"),
      std::regex(R"re(By not providing "Find(\w+)\.cmake")re"),
      std::regex(R"re(package configuration file provided by\s+"(\w+)")re"),
      std::regex(R"re([Pp]ackage '([^']+)', required by)re"),
      std::regex(R"re([Pp]ackage '?([\w.+-]+)'? (?:was )?not found)re"),
      std::regex(R"re(required packages were not found:\s+-\s+([\w.+-]+))re"),
      std::regex(R"re(No package '([^']+)' found)re"),
      std::regex(R"re(Dependency "([^"]+)" not found)re"),
      std::regex(R"re(library '([^']+)' not found)re"),
      std::regex(R"re(Program '([^']+)' not found)re"),
      std::regex(R"re(fatal error: '(?:[^']*/)?([\w+-]+)\.h(?:pp|h)?' file not found)re"),
      std::regex(R"re(unable to find library -l([\w.+-]+))re"),
      std::regex(R"re(([\w.+-]+): (?:command )?not found)re"),
      std::regex(
          R"re(configure: error: .*?([A-Za-z][\w.+-]*) (?:is |was )?(?:required|missing|not found|not available))re")};
  std::vector<std::string> names;
  for (const std::regex& message : messages)
    for (std::sregex_iterator it(output.begin(), output.end(), message), end; it != end; ++it)
      if (std::find(names.begin(), names.end(), (*it)[1]) == names.end())
        names.push_back((*it)[1]);
  return names;
}

std::string learn_options(const Classroom& room, discover::Draft& draft) {
  return OptionLesson(room, draft).learn();
}

} // namespace xaas::trial
