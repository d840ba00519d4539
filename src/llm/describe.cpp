// The context window of a model is limited, on small machines to very little, so the text has a limit. It
// starts with what the model should judge: the options, with the lines that declare them. Whole files come
// last, because they mostly repeat it.
#include "describe.h"

#include "guide.h"

#include <algorithm>
#include <tuple>

namespace xaas::llm {

namespace {

constexpr size_t longest_text = 300; // bytes of a help text, condition or line
constexpr size_t shown_values = 40, most_conditions = 6;

std::string at(const discover::Place& place) {
  return place.file + ":" + std::to_string(place.line);
}

Json list(const std::vector<std::string>& texts, size_t most) {
  Json json = Json::array();
  for (size_t i = 0; i < std::min(texts.size(), most); ++i)
    json.push_back(shorten(texts[i], longest_text));
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json describe(const discover::Option& option) {
  static constexpr const char* kinds[] = {"switch", "choice", "text"};
  Json json = {
      {"name", option.name}, {"kind", kinds[static_cast<size_t>(option.kind)]}, {"at", at(option.place)}};
  if (!option.help.empty())
    json["help"] = shorten(option.help, longest_text);
  if (option.initial)
    json["default"] = shorten(*option.initial, longest_text);
  if (!option.values.empty())
    json["values"] = list(option.values, shown_values);
  if (!option.conditions.empty())
    json["conditions"] = list(option.conditions, most_conditions);
  return json;
}

Json describe(const discover::Package& package) {
  Json json = {{"name", package.name}, {"at", at(package.place)}};
  if (!package.version.empty())
    json["version"] = package.version;
  if (!package.conditions.empty())
    json["conditions"] = list(package.conditions, most_conditions);
  return json;
}

Json describe(const discover::DiscoveredPoint& found) {
  Json json = {{"name", found.point.name},
               {"category", found.point.category},
               {"option", found.option},
               {"values", Json::array()}};
  for (const spec::Value& value : found.point.values)
    json["values"].push_back(value.value);
  return json;
}

// Fills a document up to a limit.
class Writer {
public:
  explicit Writer(uint64_t limit) : left_(limit) {}

  // Adds items up to `share` percent of the remaining space.
  template <typename Items, typename Make>
  void add(const char* key, const Items& items, unsigned share, const Make& make) {
    const uint64_t allowed = left_ * share / 100;
    uint64_t used = 0;
    size_t taken = 0;
    Json list = Json::array();
    for (const auto& item : items) {
      Json json = make(item);
      const uint64_t size = text_of(json).size() + 1;
      if (used + size > allowed)
        break;
      used += size;
      ++taken;
      list.push_back(std::move(json));
    }
    left_ -= used;
    json_[key] = std::move(list);
    if (taken < items.size())
      left_out_.push_back(std::to_string(items.size() - taken) + " of " + std::to_string(items.size()) + " " +
                          key);
  }
  void set(const char* key, Json value) { json_[key] = std::move(value); }

  void add_files(TreeLines& tree, const std::vector<std::string>& files);

  Description finish() && {
    json_["left_out"] = left_out_;
    return {text_of(json_), std::move(left_out_)};
  }

private:
  uint64_t left_;
  Json json_ = Json::object();
  std::vector<std::string> left_out_;
};

void Writer::add_files(TreeLines& tree, const std::vector<std::string>& files) {
  Json list = Json::array();
  size_t cut = 0;
  for (const std::string& file : files) {
    Json lines = Json::array();
    uint64_t used = file.size() + 32;
    bool whole = true;
    unsigned number = 0;
    for (const std::string& line : tree.lines(file)) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos)
        continue;
      Json text = std::to_string(number) + ": " + shorten(line, longest_text);
      const uint64_t size = text_of(text).size() + 1;
      if (used + size > left_) {
        whole = false;
        break;
      }
      used += size;
      lines.push_back(std::move(text));
    }
    cut += !whole;
    if (lines.empty())
      continue;
    left_ -= used;
    list.push_back(Json{{"file", file}, {"lines", std::move(lines)}});
  }
  json_["files"] = std::move(list);
  if (cut > 0)
    left_out_.push_back("the text, or a part of it, of " + std::to_string(cut) + " of " +
                        std::to_string(files.size()) + " files");
}

// The files of the findings: most findings first, then by name.
std::vector<std::string> files_of(const discover::Findings& findings) {
  std::vector<std::pair<std::string, size_t>> counts;
  const auto count = [&](const discover::Place& place) {
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& entry) { return entry.first == place.file; });
    if (found == counts.end())
      counts.emplace_back(place.file, 1);
    else
      ++found->second;
  };
  for (const discover::Option& option : findings.options)
    count(option.place);
  for (const discover::Package& package : findings.packages)
    count(package.place);
  for (const auto& [flag, place] : findings.flags)
    count(place);
  std::sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::vector<std::string> files;
  for (const auto& [file, times] : counts)
    files.push_back(file);
  return files;
}

} // namespace

Description describe(TreeLines& tree, const discover::Findings& findings,
                     const discover::Discovery& discovery, uint64_t limit) {
  Writer writer(limit);
  const spec::BuildSystem system = findings.system.value_or(spec::BuildSystem::make);
  writer.set("project", shorten(findings.name, longest_text));
  writer.set("build_system", spec::to_string(system));
  writer.set("argument_form", Guide::get().argument_form(system));
  writer.set("languages", list(findings.languages, shown_values));
  const auto plain = [](const auto& item) { return describe(item); };
  writer.add("known_points", discovery.points, 20, plain);
  writer.add("options", findings.options, 60, plain);
  writer.add("packages", findings.packages, 30, plain);
  writer.add("flags", findings.flags, 20, [](const auto& flag) {
    return Json{{"flag", shorten(flag.first, longest_text)}, {"at", at(flag.second)}};
  });
  writer.add("sources", findings.signs, 20, [](const discover::Sign& sign) {
    return Json{{"uses", sign.name}, {"files", sign.files}, {"at", at(sign.place)}};
  });
  writer.add_files(tree, files_of(findings));
  return std::move(writer).finish();
}

} // namespace xaas::llm
