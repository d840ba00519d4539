#include "image_page.h"
#include "terminal.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

namespace xaas::cli {

namespace {

// End tags that HTML 5 makes optional (td, tr, th) are left out: a large image has ten thousands of cells.
constexpr const char* style = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #d8dce1; --soft: #f3f5f7 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #16191d; --faint: #3a4048; --soft: #21262c } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem }
p { max-width: 48rem } code, td.n, .mono { font-family: ui-monospace, monospace; font-size: .86em }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem }
th, td { text-align: left; padding: .14rem .55rem; border-bottom: 1px solid var(--faint); vertical-align: top }
th { background: var(--soft); font-weight: 600 } td.r, th.r { text-align: right; font-variant-numeric: tabular-nums }
.cells td + td { text-align: center; min-width: 2.2rem; border-left: 1px solid var(--paper); color: #10151a }
.cells td.z { color: var(--ink) } .cells td.l { text-align: left } .cells td.r { text-align: right }
.a { background: #a8cdf0 } .b { background: #f7c98b } .c { background: #a9dcae } .d { background: #efabb0 }
.e { background: #cdb8ec } .f { background: #e8e08a } .g { background: #9fdcdc } .h { background: #d9c0a5 }
.bar { display: inline-block; height: .75em; background: #4a8fd0; border-radius: 2px; min-width: 1px }
summary { cursor: pointer; margin: .6rem 0 } dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem }
dt { opacity: .75 } dd { margin: 0 }
)";

constexpr std::array colors = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};

// Names come from untrusted images.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text))
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string text_at(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.2f s", seconds));
  return text.data();
}

// A bar whose length is a share of the whole.
std::string bar(double share) {
  std::array<char, 80> text{};
  static_cast<void>(
      std::snprintf(text.data(), text.size(), "<span class=bar style=\"width:%.2frem\"></span>", 18 * share));
  return text.data();
}

std::string facts(const image::Bundle& bundle, const Json& description) {
  std::string html = "<h1>" + escaped(bundle.name) +
                     (bundle.version.empty() ? "" : " " + escaped(bundle.version)) + "</h1>\n<dl>";
  const auto fact = [&](const char* name, const std::string& value) {
    if (!value.empty())
      html += std::string("<dt>") + name + "<dd class=mono>" + escaped(value) + "\n";
  };
  fact("image", text_at(description, "digest"));
  fact("kind", text_at(description, "kind"));
  fact("architecture", bundle.arch);
  fact("LLVM", bundle.llvm);
  fact("license", bundle.license);
  fact("source", bundle.source);
  fact("revision", bundle.revision);
  return html + "</dl>\n";
}

// One requirement as `inspect --format json` has it: "x86-64-v3", "avx2 and fma".
std::string need_text(const Json& need) {
  if (need.is_string())
    return need.get<std::string>();
  if (!need.is_array())
    return need.dump();
  std::vector<std::string> parts;
  for (const Json& part : need)
    parts.push_back(need_text(part));
  return join(parts, " and ");
}

// What a value needs of a machine: "cpu x86-64-v3, threads 2".
std::string value_text(const Json& value) {
  std::vector<std::string> needs;
  if (value.contains("requires") && value["requires"].is_object())
    for (const auto& [what, need] : value["requires"].items())
      needs.push_back(what + " " + need_text(need));
  return "<code>" + escaped(text_at(value, "value")) + "</code>" +
         (needs.empty() ? "" : " needs " + escaped(join(needs, ", ")));
}

std::string points_section(const Json& description) {
  std::string html =
      "<h2>Specialization points</h2>\n<div class=wide><table><tr><th>Point<th>Category<th>Default"
      "<th>Values, and what they need of a machine\n";
  for (const Json& point : description["specializations"]) {
    std::vector<std::string> values;
    for (const Json& value : point["values"])
      values.push_back(value_text(value));
    html += "<tr><td class=n>" + escaped(text_at(point, "name")) + "<td>" +
            escaped(text_at(point, "category")) + "<td class=n>" + escaped(text_at(point, "default")) +
            "<td>" + join(values, "<br>") + "\n";
  }
  return html + "</table></div>\n";
}

// The columns of a table with one for each configuration: numbers, with their meaning in a list before.
std::string configuration_list(const Json& configurations) {
  std::string html =
      "<table><tr><th>No.<th>Configuration<th class=r>Units<th class=r>IR modules<th class=r>Deploying "
      "reads<th class=r>of it, shared with others\n";
  size_t number = 0;
  for (const Json& each : configurations) {
    const Json& transfer = each["transfer"];
    const auto count = [&](const char* key) {
      return each[key].is_null() ? std::string("-") : each[key].dump();
    };
    html += "<tr><td class=r>" + std::to_string(++number) + "<td class=n>" + escaped(text_at(each, "id")) +
            "<td class=r>" + count("units") + "<td class=r>" + count("modules") + "<td class=r>" +
            human_bytes(transfer["bytes"].get<uint64_t>()) + "<td class=r>" +
            human_bytes(transfer["shared_bytes"].get<uint64_t>()) + "\n";
  }
  return html + "</table>\n";
}

std::string numbers(size_t count) {
  std::string html;
  for (size_t i = 1; i <= count; ++i)
    html += "<th>" + std::to_string(i);
  return html;
}

std::string cells_of(const SourceRow& row) {
  const auto cell = [&](unsigned variant, size_t columns) {
    const std::string span = columns > 1 ? " colspan=" + std::to_string(columns) : "";
    if (variant == 0)
      return "<td class=z" + span + ">";
    return std::string("<td class=") + colors.at((variant - 1) % colors.size()) + span + ">" +
           (row.distinct > 1 ? std::to_string(variant) : "");
  };
  std::string html;
  for (size_t i = 0; i < row.variants.size();) {
    size_t end = i + 1;
    // Cells of a row without variants are joined.
    while (row.distinct == 1 && end < row.variants.size() && row.variants[end] == row.variants[i])
      ++end;
    html += cell(row.variants[i], end - i);
    i = end;
  }
  return html;
}

std::string sources_table(const std::vector<SourceRow>& rows, size_t begin, size_t end,
                          size_t configurations) {
  std::string html = "<div class=wide><table class=cells><tr><th>Source" + numbers(configurations) + "\n";
  for (size_t i = begin; i < end; ++i)
    html += "<tr><td class=n>" + escaped(rows[i].source) + cells_of(rows[i]) + "\n";
  return html + "</table></div>\n";
}

std::string sources_section(const image::Bundle& bundle, const std::vector<SourceRow>& rows,
                            const Json& description) {
  if (rows.empty())
    return {};
  const size_t configurations = bundle.configurations.size();
  const auto same =
      std::find_if(rows.begin(), rows.end(), [](const SourceRow& row) { return row.distinct < 2; });
  const auto differing = static_cast<size_t>(same - rows.begin());
  const Json& sharing = description["sharing"];
  std::string html = "<h2>Sources and configurations</h2>\n<p>" + sharing["modules"].dump() +
                     " IR modules serve " + sharing["units"].dump() + " compiled units of " +
                     std::to_string(rows.size()) +
                     " sources. Cells of one color and number in a row are the same "
                     "IR; an empty cell is a configuration that does not compile the source.</p>\n";
  if (differing > 0)
    html += "<p>" + std::to_string(differing) + " of them differ between configurations:</p>\n" +
            sources_table(rows, 0, differing, configurations);
  if (differing < rows.size())
    html += "<details><summary>" + std::to_string(rows.size() - differing) +
            " of them are the same IR wherever they are compiled</summary>\n" +
            sources_table(rows, differing, rows.size(), configurations) + "</details>\n";
  return html;
}

std::string layers_section(const Json& description) {
  const Json& configurations = description["configurations"];
  uint64_t largest = 1;
  for (const Json& layer : description["layers"])
    largest = std::max(largest, layer["size"].get<uint64_t>());
  std::string html = "<h2>Layers</h2>\n<p>A mark is a layer that deploying the configuration reads.</p>\n"
                     "<div class=wide><table class=cells><tr><th>Role" +
                     numbers(configurations.size()) + "<th class=r>Bytes<th>\n";
  for (const Json& layer : description["layers"]) {
    html += "<tr><td>" + escaped(text_at(layer, "role"));
    for (const Json& each : configurations) {
      const Json& read = each["transfer"]["layers"];
      const bool is_read = std::find(read.begin(), read.end(), layer["digest"]) != read.end();
      html += is_read ? "<td class=a>&#10003;" : "<td class=z>";
    }
    const auto size = layer["size"].get<uint64_t>();
    html += "<td class=\"r z\">" + human_bytes(size) + "<td class=\"l z\">" +
            bar(static_cast<double>(size) / static_cast<double>(largest)) + "\n";
  }
  return html + "</table></div>\n";
}

struct Span {
  std::string name;
  bool cached = false;
  double seconds = 0;
};

// The spans of one category, the longest first.
Result<std::vector<Span>> spans_of(const TraceFile& trace, const std::string& category) {
  const JsonReader reader(trace.content, trace.name);
  XAAS_TRY(const JsonReader events, reader.at("traceEvents"));
  XAAS_TRY(const std::vector<JsonReader> items, events.items());
  std::vector<Span> spans;
  for (const JsonReader& item : items) {
    XAAS_TRY(const std::string of, item.string_or("cat", ""));
    if (of != category)
      continue;
    Span span;
    XAAS_TRY(span.name, item.string_at("name"));
    XAAS_TRY(const JsonReader duration, item.at("dur"));
    XAAS_TRY(const uint64_t microseconds, duration.size());
    span.seconds = static_cast<double>(microseconds) / 1e6;
    const Json& args = item.json().value("args", Json::object());
    span.cached = text_at(args, "cache") == "hit";
    spans.push_back(std::move(span));
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
  });
  return spans;
}

std::string spans_table(const std::vector<Span>& spans, size_t most, const char* title) {
  std::string html = std::string("<table><tr><th>") + title + "<th class=r>Time<th>\n";
  double rest = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (i >= most) {
      rest += spans[i].seconds;
      continue;
    }
    const double longest = std::max(spans.front().seconds, 1e-6);
    html += "<tr><td class=n>" + escaped(spans[i].name) + (spans[i].cached ? " (cached)" : "") +
            "<td class=r>" + seconds_text(spans[i].seconds) + "<td>" + bar(spans[i].seconds / longest) + "\n";
  }
  if (spans.size() > most)
    html += "<tr><td>" + std::to_string(spans.size() - most) + " others<td class=r>" + seconds_text(rest) +
            "<td>\n";
  return html + "</table>\n";
}

constexpr size_t most_modules = 100;

Result<std::string> trace_section(const std::optional<TraceFile>& trace) {
  if (!trace)
    return std::string();
  XAAS_TRY(const std::vector<Span> phases, spans_of(*trace, "phase"));
  XAAS_TRY(const std::vector<Span> modules, spans_of(*trace, "module"));
  return "<h2>Deploying</h2>\n<p>Wall time of a deploy by step, and of its IR modules, which are lowered in "
         "parallel.</p>\n" +
         spans_table(phases, most_modules, "Step") + "<p></p>\n" +
         spans_table(modules, most_modules, "IR module of");
}

} // namespace

Result<std::vector<SourceRow>> source_rows(const image::Bundle& bundle) {
  std::map<std::string, std::vector<std::set<Digest>>> modules; // by source and configuration
  for (size_t i = 0; i < bundle.configurations.size(); ++i) {
    XAAS_TRY(const image::Usage usage, image::usage_of(bundle, bundle.configurations[i]));
    for (const std::set<Digest>* units : {&usage.units, &usage.device_units})
      for (const Digest& id : *units) {
        const ir::Unit& unit = bundle.units.at(id);
        auto& sets = modules[unit.source];
        sets.resize(bundle.configurations.size());
        sets[i].insert(unit.module);
      }
  }
  std::vector<SourceRow> rows;
  for (const auto& [source, sets] : modules) {
    SourceRow row{source, {}, 0};
    std::map<std::set<Digest>, unsigned> known;
    for (const std::set<Digest>& set : sets)
      row.variants.push_back(set.empty() ? 0 : known.emplace(set, known.size() + 1).first->second);
    row.distinct = static_cast<unsigned>(known.size());
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const SourceRow& a, const SourceRow& b) {
    return std::tie(b.distinct, a.source) < std::tie(a.distinct, b.source);
  });
  return rows;
}

Result<std::string> image_page(const image::Bundle& bundle, const Json& description,
                               const std::optional<TraceFile>& trace) {
  XAAS_TRY(const std::vector<SourceRow> rows, source_rows(bundle));
  XAAS_TRY(const std::string deploying, trace_section(trace));
  return "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n"
         "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n"
         "<title>" +
         escaped(bundle.name) + "</title>\n<style>" + style + "</style>\n" + facts(bundle, description) +
         points_section(description) + "<h2>Configurations</h2>\n<div class=wide>" +
         configuration_list(description["configurations"]) + "</div>\n" +
         sources_section(bundle, rows, description) + layers_section(description) + deploying;
}

} // namespace xaas::cli
