// CMakePresets.json: what the project's authors configure it with. An option that takes any text gets the
// values that presets give it.
//
// Source: cmake-presets(7), "Configure Preset", "Includes". CMakeUserPresets.json is of one user and not
// read.
#include "readers.h"

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
    const Json json = Json::parse(*text, nullptr, false);
    if (!json.is_object()) {
      findings_.notes.push_back(path + ": no JSON object; its presets are not read");
      return;
    }
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    if (const auto includes = json.find("include"); includes != json.end() && includes->is_array())
      for (const Json& name : *includes)
        if (name.is_string())
          read((fs::path(directory) / name.get<std::string>()).lexically_normal().string(), depth + 1);
    if (const auto presets = json.find("configurePresets"); presets != json.end() && presets->is_array())
      for (const Json& preset : *presets)
        add(preset, path, *text);
  }

  // Those that a user may name, with what they inherit.
  void finish() {
    constexpr size_t most = 1000;
    for (const std::string& name : order_)
      if (Preset preset = presets_.at(name); !hidden_.count(name) && findings_.presets.size() < most) {
        inherit(name, preset.variables, 0);
        findings_.presets.push_back(std::move(preset));
      }
    for (Option& option : findings_.options) {
      std::vector<std::string> values;
      for (const Preset& preset : findings_.presets)
        if (const auto found = preset.variables.find(option.name);
            found != preset.variables.end() && !found->second.empty() &&
            std::find(values.begin(), values.end(), found->second) == values.end())
          values.push_back(found->second);
      if (option.kind == Option::Kind::text && !option.takes_place && values.size() > 1) {
        option.kind = Option::Kind::choice;
        option.values = std::move(values);
      }
    }
  }

private:
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
    if (const auto variables = json.find("cacheVariables"); variables != json.end() && variables->is_object())
      for (const auto& [name, value] : variables->items())
        if (const std::optional<std::string> plain = value_of(value))
          preset.variables[name] = *plain;
    if (const auto inherits = json.find("inherits"); inherits != json.end())
      for (const Json& parent : inherits->is_array() ? *inherits : Json::array({*inherits}))
        if (parent.is_string())
          parents_[preset.name].push_back(parent);
    if (json.value("hidden", Json(false)) == Json(true))
      hidden_.insert(preset.name);
    if (presets_.emplace(preset.name, preset).second)
      order_.push_back(preset.name);
  }

  static std::optional<std::string> value_of(const Json& value) {
    if (value.is_object())
      return value.contains("value") ? value_of(value["value"]) : std::nullopt;
    if (value.is_boolean())
      return value.get<bool>() ? "ON" : "OFF";
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }

  void inherit(const std::string& name, std::map<std::string, std::string>& variables, int depth) const {
    constexpr int deepest = 16;
    const auto parents = parents_.find(name);
    if (parents == parents_.end() || depth > deepest)
      return;
    for (const std::string& parent : parents->second)
      if (const auto found = presets_.find(parent); found != presets_.end()) {
        variables.insert(found->second.variables.begin(), found->second.variables.end());
        inherit(parent, variables, depth + 1);
      }
  }

  const TreeFiles& tree_;
  Findings& findings_;
  std::set<std::string> files_, hidden_;
  std::map<std::string, Preset> presets_;
  std::map<std::string, std::vector<std::string>> parents_;
  std::vector<std::string> order_;
};

} // namespace

void read_cmake_presets(const TreeFiles& tree, Findings& findings) {
  Presets presets(tree, findings);
  presets.read((findings.directory.empty() ? "" : findings.directory + "/") + "CMakePresets.json");
  presets.finish();
}

} // namespace xaas::discover
