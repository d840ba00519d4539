// CMakePresets.json: configurations by the project's authors. An option that takes any text gets the values
// of presets.
//
// Source: cmake-presets(7), "Configure Preset", "Includes". CMakeUserPresets.json belongs to a single user
// and is not read.
// read.
#include "readers/readers.h"

#include <algorithm>
#include <map>
#include <set>

namespace xaas::discover {

namespace {

class Presets {
public:
  Presets(const TreeFiles& tree, Findings& findings) : tree_(tree), findings_(findings) {}

  void read(const std::string& path, int depth = 0) {
    constexpr int deepest = 8;
    const std::optional<std::string> text = tree_.text(path);
    if (!text || depth > deepest || !files_.insert(path).second)
      return;
    const Result<Json> parsed = parse_json(*text, path);
    if (!parsed || !parsed->is_object()) {
      findings_.notes.push_back((parsed ? path + ": no JSON object" : parsed.error().message) +
                                "; its presets are not read");
      return;
    }
    const Json& json = *parsed;
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    if (const auto includes = json.find("include"); includes != json.end() && includes->is_array())
      for (const Json& name : *includes)
        if (name.is_string())
          include(path, (fs::path(directory) / name.get<std::string>()).lexically_normal().string(),
                  depth + 1);
    if (const auto presets = json.find("configurePresets"); presets != json.end() && presets->is_array())
      for (const Json& preset : *presets)
        add(preset, path, *text);
  }

  // The presets that a user may name, with the values that they inherit.
  void finish() {
    for (const std::string& name : order_)
      if (!hidden_.count(name)) {
        Preset preset = presets_.at(name).preset;
        for (const auto& [variable, value] : resolved(name))
          if (value)
            preset.variables[variable] = *value;
        findings_.presets.push_back(std::move(preset));
      }
    if (left_ == 0)
      findings_.notes.push_back("presets: too many variables; some are left out");
    for (Option& option : findings_.options)
      add_values(option);
  }

private:
  using Variables =
      std::map<std::string, std::optional<std::string>>; // nothing: unset, also if it is inherited
  struct Known {
    Preset preset;
    Variables variables; // its own; once it is resolved, also inherited ones
    std::vector<std::string> parents;
    bool visited = false;
  };

  void include(const std::string& from, const std::string& path, int depth) {
    if (tree_.has(path))
      read(path, depth);
    else
      findings_.notes.push_back(from + ": includes " + path +
                                ", which is not in the tree; its presets are not read");
  }

  // An option that takes any text gets the values of presets after its own.
  void add_values(Option& option) const {
    if (option.kind != Option::Kind::text || option.takes_place)
      return;
    std::vector<std::string> values;
    if (option.initial && !option.initial->empty())
      values.push_back(*option.initial);
    constexpr size_t most = 64;
    for (const Preset& preset : findings_.presets)
      if (const auto found = preset.variables.find(option.name);
          found != preset.variables.end() && !found->second.empty() &&
          found->second.find('$') == std::string::npos && values.size() < most &&
          std::find(values.begin(), values.end(), found->second) == values.end())
        values.push_back(found->second);
    if (values.size() > 1) {
      option.kind = Option::Kind::choice;
      option.values = std::move(values);
    }
  }

  void add(const Json& json, const std::string& path, const std::string& text) {
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string())
      return;
    Preset preset;
    preset.name = json["name"];
    if (const auto description = json.find("description");
        description != json.end() && description->is_string())
      preset.description = *description;
    const size_t at = text.find("\"" + preset.name + "\"");
    preset.place = {
        path,
        1 + static_cast<unsigned>(std::count(
                text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), '\n'))};
    if (json.contains("condition") && json["condition"] == Json(false))
      return; // hidden presets are not for users
    Known known;
    if (const auto variables = json.find("cacheVariables"); variables != json.end() && variables->is_object())
      for (const auto& [name, value] : variables->items())
        if (value.is_null() || value_of(value))
          known.variables[name] = value_of(value);
    if (const auto inherits = json.find("inherits"); inherits != json.end())
      for (const Json& parent : inherits->is_array() ? *inherits : Json::array({*inherits}))
        if (parent.is_string())
          known.parents.push_back(parent);
    if (json.value("hidden", Json(false)) == Json(true))
      hidden_.insert(preset.name);
    const std::string name = preset.name;
    known.preset = std::move(preset);
    constexpr size_t most = 1000;
    if (presets_.size() < most && presets_.emplace(name, std::move(known)).second)
      order_.push_back(name);
  }

  static std::optional<std::string> value_of(const Json& value) {
    if (value.is_object())
      return value.contains("value") ? value_of(value["value"]) : std::nullopt;
    if (value.is_boolean())
      return value.get<bool>() ? "ON" : "OFF";
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }

  // Each preset is resolved once; one that inherits itself gets what is known by then.
  const Variables& resolved(const std::string& name) {
    Known& known = presets_.at(name);
    if (known.visited)
      return known.variables;
    known.visited = true;
    for (const std::string& parent : known.parents)
      if (presets_.count(parent)) {
        const Variables& inherited = resolved(parent);
        size_t cost = 0;
        for (const auto& [variable, value] : inherited)
          cost += variable.size() + (value ? value->size() : 0) + 64;
        if (cost > left_) {
          left_ = 0;
          break;
        }
        left_ -= cost;
        known.variables.insert(inherited.begin(), inherited.end());
      }
    return known.variables;
  }

  const TreeFiles& tree_;
  Findings& findings_;
  std::set<std::string> files_, hidden_;
  std::map<std::string, Known> presets_;
  size_t left_ = 16u << 20; // bytes that may still be inherited
  std::vector<std::string> order_;
};

} // namespace

void read_cmake_presets(const TreeFiles& tree, Findings& findings) {
  Presets presets(tree, findings);
  presets.read((findings.directory.empty() ? "" : findings.directory + "/") + "CMakePresets.json");
  presets.finish();
}

} // namespace xaas::discover
