// A model invents plausible options, and a file in the tree may have told it to. So everything must be found
// in the tree: evidence must be a line that mentions the option; an option must be in the findings or on that
// line; so must a flag, or a value from a list. No argument can set a path or a program, or contain anything
// that a shell or make expands.
#include "check.h"

#include "argument.h"
#include "guide.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::llm {

namespace {

constexpr size_t most_proposed_points = 64, most_values = 32, most_arguments = 8, most_evidence = 16;
constexpr size_t longest_name = 64, longest_argument = 256, longest_reason = 1000;

// Control characters, and characters that reorder or break lines (UTF-8 of U+0080 to U+009F, U+2028 to
// U+202E, U+2066 to U+2069).
bool has_control(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](size_t offset) {
      return i + offset < text.size() ? static_cast<unsigned char>(text[i + offset]) : 0u;
    };
    if (byte(0) < ' ' || byte(0) == 127 || (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0))
      return true;
    if (byte(0) == 0xe2 && byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae)
      return true;
    if (byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9)
      return true;
  }
  return false;
}

bool consists_of(const std::string& text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
  });
}

// The names that an application spec accepts.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= longest_name && std::isalnum(static_cast<unsigned char>(text[0])) &&
         consists_of(text, "._+-");
}
bool is_value_name(const std::string& text) {
  return !text.empty() && text.size() <= longest_name && consists_of(text, "_.+:-");
}

std::string display(const std::string& text) {
  return has_control(text) ? "(unprintable)" : shorten(text, longest_name);
}

const discover::Option* find_option(const discover::Findings& findings, const std::string& name) {
  for (const discover::Option& option : findings.options)
    if (option.name == name)
      return &option;
  return nullptr;
}

class PointCheck {
public:
  PointCheck(const Json& json, const discover::Findings& findings, TreeLines& tree,
             std::vector<Rejection>& rejected)
      : json_(json), findings_(findings), tree_(tree), rejected_(rejected),
        name_(json["name"].get<std::string>()), project_(to_lower(findings.name)) {}

  std::optional<CheckedPoint> run() {
    if (const std::string trouble = frame(); !trouble.empty())
      return reject("", trouble);
    parse_values();
    if (parsed_.empty())
      return reject("", "no value is left");
    read_evidence();
    if (checked_.evidence.empty())
      return reject("", "no evidence is left");
    for (Parsed& value : parsed_)
      take(value);
    if (checked_.options.empty())
      return reject("", "no value is left that gives the build an argument");
    checked_.point.name = name_;
    checked_.point.category = json_["category"].get<std::string>();
    checked_.point.default_ = json_["default"].get<std::string>();
    return std::move(checked_);
  }

private:
  struct Parsed {
    spec::Value value;
    std::vector<Argument> arguments;
  };

  std::nullopt_t reject(const std::string& value, const std::string& reason) {
    rejected_.push_back({display(name_), display(value), reason});
    return std::nullopt;
  }

  std::string frame() {
    if (!is_name(name_) || name_ == "isa")
      return "its name is not valid for a point";
    checked_.reason = json_["reason"].get<std::string>();
    if (checked_.reason.size() > longest_reason || has_control(checked_.reason))
      return "its reason is too long or has control characters";
    if (json_["values"].size() > most_values || json_["evidence"].size() > most_evidence)
      return "it has too many values or too much evidence";
    return {};
  }

  void parse_values() {
    for (const Json& json : json_["values"]) {
      Parsed parsed;
      parsed.value.value = json["value"].get<std::string>();
      parsed.value.arguments = json["arguments"].get<std::vector<std::string>>();
      if (const std::string trouble = parse(parsed); !trouble.empty())
        (void)reject(parsed.value.value, trouble);
      else
        parsed_.push_back(std::move(parsed));
    }
  }

  std::string parse(Parsed& parsed) const {
    if (!is_value_name(parsed.value.value))
      return "its name is not valid for a value";
    for (const Parsed& other : parsed_)
      if (other.value.value == parsed.value.value)
        return "it is listed twice";
    if (parsed.value.arguments.size() > most_arguments)
      return "it has too many arguments";
    for (const std::string& text : parsed.value.arguments) {
      const auto argument =
          text.size() > longest_argument ? std::nullopt : parse_argument(*findings_.system, text);
      if (!argument)
        return spec::to_string(*findings_.system) + " accepts no argument of this form: " + display(text);
      if (!consists_of(argument->value,
                       findings_.system == spec::BuildSystem::cmake ? "_.+:,=- ;" : "_.+:,=- "))
        return "an argument has characters that are not allowed: " + display(text);
      if (Guide::get().is_reserved(argument->option))
        return argument->option + " cannot be set by a specialization point";
      parsed.arguments.push_back(*argument);
    }
    return {};
  }

  void read_evidence() {
    for (const Json& json : json_["evidence"]) {
      const std::string file = json["file"].get<std::string>();
      const bool sane = json["line"].is_number_unsigned() && json["line"].get<uint64_t>() <= UINT32_MAX;
      const int64_t number = sane ? json["line"].get<int64_t>() : -1;
      const std::string where = display(file) + ":" + json["line"].dump();
      const auto line =
          has_control(file)
              ? Result<std::string>(make_error(ErrorKind::integrity, "is not a file of the tree"))
              : tree_.line(file, number);
      if (!line)
        (void)reject("", "evidence " + where + ": " + line.error().message);
      else if (!mentions_an_option(*line))
        (void)reject("", "evidence " + where + ": the line does not name the option");
      else {
        checked_.evidence.push_back({file, static_cast<unsigned>(number)});
        lines_.push_back(*line);
      }
    }
  }

  bool mentions_an_option(const std::string& line) const {
    for (const Parsed& value : parsed_)
      for (const Argument& argument : value.arguments)
        if (mentions_option(line, argument.option, project_))
          return true;
    return false;
  }

  void take(Parsed& parsed) {
    for (const Argument& argument : parsed.arguments)
      if (const std::string trouble = judge(argument); !trouble.empty()) {
        (void)reject(parsed.value.value, trouble);
        return;
      }
    if (const std::string trouble = find_needs(parsed); !trouble.empty()) {
      (void)reject(parsed.value.value, trouble);
      return;
    }
    for (const Argument& argument : parsed.arguments)
      checked_.options.insert(argument.option);
    checked_.point.values.push_back(std::move(parsed.value));
  }

  template <typename Holds> bool in_evidence(const Holds& holds) const {
    return std::any_of(lines_.begin(), lines_.end(), holds);
  }

  std::string judge(const Argument& argument) const {
    const discover::Option* const option = find_option(findings_, argument.option);
    const bool closed = option && option->kind != discover::Option::Kind::text;
    if (!closed && Guide::get().has_reserved_prefix(argument.option))
      return argument.option + " cannot be set by a specialization point";
    if (!option && !in_evidence([&](const std::string& line) { return names_option(line, argument.option); }))
      return argument.option + " is neither in the findings nor on a line of the evidence";
    if (option && option->takes_place)
      return argument.option + " sets the location of something, not whether it is used";
    if (option && is_declared(argument.value, *option))
      return {};
    const bool is_switch =
        Guide::get().is_on(argument.value) || Guide::get().is_off(argument.value) || argument.value.empty();
    if (is_switch && (!option || option->kind != discover::Option::Kind::choice))
      return {};
    std::string word;
    for (const char c : argument.value + " ") {
      if (c != ' ' && c != ';' && c != ',') {
        word.push_back(c);
        continue;
      }
      if (!word.empty() && !is_found(word, option))
        return word + " is neither in the evidence nor in the findings for " + argument.option;
      word.clear();
    }
    return {};
  }

  static bool is_declared(const std::string& value, const discover::Option& option) {
    return std::any_of(option.values.begin(), option.values.end(), [&](const std::string& known) {
      return known == value || known.substr(0, known.find('[')) == value;
    });
  }

  // A number need not appear, unless the option is a choice: an option that takes one number takes others.
  bool is_found(const std::string& word, const discover::Option* option) const {
    const bool is_number =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
    if (is_number && (!option || option->kind != discover::Option::Kind::choice))
      return true;
    const auto has = [&](const std::string& text) {
      return word.starts_with("-") ? text.find(word) != std::string::npos : has_word(text, word);
    };
    return in_evidence(has) || (option && has(option->help));
  }

  // Finds the needs by the name of the value, or by that of the point for a switch.
  std::string find_needs(Parsed& parsed) const {
    const bool on = !parsed.arguments.empty() &&
                    std::all_of(parsed.arguments.begin(), parsed.arguments.end(),
                                [](const Argument& argument) { return Guide::get().is_on(argument.value); });
    const auto needs = discover::needs_of(on ? name_ : parsed.value.value);
    if (!needs)
      return "it is for an unsupported architecture";
    parsed.value.requires_ = *needs;
    return {};
  }

  const Json& json_;
  const discover::Findings& findings_;
  TreeLines& tree_;
  std::vector<Rejection>& rejected_;
  std::string name_;
  std::string project_; // in lower case
  std::vector<Parsed> parsed_;
  std::vector<std::string> lines_; // of the evidence
  CheckedPoint checked_;
};

} // namespace

std::vector<CheckedPoint> check(const Json& document, const discover::Findings& findings, TreeLines& tree,
                                std::vector<Rejection>& rejected) {
  std::vector<CheckedPoint> points;
  const Json& list = document["points"];
  for (size_t i = 0; i < std::min(list.size(), most_proposed_points); ++i)
    if (auto point = PointCheck(list[i], findings, tree, rejected).run())
      points.push_back(*std::move(point));
  if (list.size() > most_proposed_points)
    rejected.push_back({"", "",
                        std::to_string(list.size() - most_proposed_points) + " points above the limit of " +
                            std::to_string(most_proposed_points)});
  return points;
}

} // namespace xaas::llm
