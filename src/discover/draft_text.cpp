// A spec as text. Generic pretty-printers give every `{` a line of its own, so that a point with ten values
// fills the screen. Here whatever fits is one line, a value always is, and comments stand above what they are
// about.
#include <xaas/base/text.h>
#include <xaas/discover/draft.h>

#include <algorithm>
#include <map>

namespace xaas::discover {

namespace {

constexpr size_t width = 100;

bool is_scalar(const Json& json) {
  return !json.is_structured() || json.empty();
}

std::string text_of(const Json& json) {
  if (is_scalar(json))
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<std::string> parts;
  for (const auto& [key, value] : json.items())
    parts.push_back((json.is_object() ? text_of(Json(key)) + ": " : "") + text_of(value));
  const std::string inner = join(parts, ", ");
  return json.is_object() ? "{" + inner + "}" : "[" + inner + "]";
}

// The part of a place that addresses one element of a container: points and values by name.
std::string token_of(const std::string& key, const Json& element) {
  for (const char* name : {"name", "value"})
    if (element.is_object() && element.contains(name) && element[name].is_string())
      return element[name].get<std::string>();
  return key;
}

class Writer {
public:
  explicit Writer(std::map<std::string, std::vector<std::string>> comments)
      : comments_(std::move(comments)) {}

  // Writes the element `json` at `place`: comments, then `before` (its key), the element, and `after`.
  void write(const Json& json, const std::string& place, const std::string& before,
             const std::string& after) {
    comment(place);
    const std::string compact = text_of(json);
    const bool is_value = place.find("/values/") != std::string::npos;
    const bool fits = indent_ + before.size() + compact.size() + after.size() <= width;
    if (is_scalar(json) || is_value || (fits && !always_breaks(place) && !has_comments_below(place)))
      return line(before + compact + after);
    line(before + (json.is_object() ? "{" : "["));
    indent_ += 2;
    members(json, place);
    indent_ -= 2;
    line((json.is_object() ? "}" : "]") + after);
  }

  std::string text() && { return std::move(text_); }

private:
  // The whole spec, the list of points, and each point, always take several lines.
  static bool always_breaks(const std::string& place) {
    const std::string list = "/specializations";
    return place.empty() || place == list ||
           (place.starts_with(list + "/") && place.find('/', list.size() + 1) == std::string::npos);
  }

  void members(const Json& json, const std::string& place) {
    std::string row; // short members share a line, except at the top
    const auto flush = [&] {
      if (!row.empty())
        line(row);
      row.clear();
    };
    size_t left = json.size();
    for (const auto& [key, value] : json.items()) {
      const std::string own = place + "/" + (json.is_array() ? token_of(key, value) : key);
      const std::string before = json.is_object() ? text_of(Json(key)) + ": " : "";
      const std::string after = --left > 0 ? "," : "";
      const std::string compact = before + text_of(value) + after;
      if (place.empty() || !is_scalar(value) || comments_.contains(own)) {
        flush();
        write(value, own, before, after);
        continue;
      }
      if (!row.empty() && indent_ + row.size() + 1 + compact.size() > width)
        flush();
      row += (row.empty() ? "" : " ") + compact;
    }
    flush();
  }

  bool has_comments_below(const std::string& place) const {
    const auto found = comments_.lower_bound(place + "/");
    return found != comments_.end() && found->first.starts_with(place + "/");
  }

  void comment(const std::string& place) {
    const auto found = comments_.find(place);
    if (found == comments_.end())
      return;
    for (const std::string& text : found->second)
      for (const std::string& each : split(text, '\n'))
        wrapped(printable(each));
  }

  void wrapped(const std::string& text) {
    std::string row;
    for (const std::string& word : split(text, ' ')) {
      if (word.empty())
        continue;
      if (!row.empty() && indent_ + 3 + row.size() + 1 + word.size() > width) {
        line("// " + row);
        row.clear();
      }
      row += (row.empty() ? "" : " ") + word;
    }
    line(row.empty() ? "//" : "// " + row);
  }

  void line(const std::string& text) { text_ += std::string(indent_, ' ') + text + "\n"; }

  std::map<std::string, std::vector<std::string>> comments_;
  size_t indent_ = 0;
  std::string text_;
};

std::string comment_of(const LeftOut& left, bool in_point) {
  std::string text = "Left out: ";
  if (!in_point)
    text += left.name + (left.value.empty() ? "" : "=");
  text += left.value;
  if (left.place)
    text += " (" + left.place->file + ":" + std::to_string(left.place->line) + ")";
  return text + ": " + left.reason;
}

} // namespace

std::string to_text(const Draft& draft) {
  const Json json = spec::to_short_json(draft.application);
  std::map<std::string, std::vector<std::string>> comments;
  for (const Remark& remark : draft.remarks)
    comments[remark.place].push_back(remark.text);
  for (const LeftOut& left : draft.left_out) {
    const auto& points = draft.application.points;
    const bool in_point =
        std::any_of(points.begin(), points.end(), [&](const auto& point) { return point.name == left.name; });
    const std::string place = in_point         ? "/specializations/" + left.name
                              : points.empty() ? ""
                                               : "/specializations";
    comments[place].push_back(comment_of(left, in_point));
  }
  if (draft.application.image.entrypoint.empty())
    comments[""].emplace_back("Name the program that a container starts:\n"
                              "\"image\": {\"entrypoint\": [\"/usr/local/bin/PROGRAM\"]}");
  Writer writer(std::move(comments));
  writer.write(json, "", "", "");
  return std::move(writer).text();
}

} // namespace xaas::discover
