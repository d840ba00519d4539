#include "build_report.h"
#include "terminal.h"
#include "warnings.h"

#include <xaas/base/text.h>

#include <cstdio>

namespace xaas::cli {

namespace {

Json seconds_json(const Seconds& seconds) {
  return Json{{"wall", seconds.wall}, {"cpu", seconds.cpu}};
}

Json steps_json(const build::Steps& steps) {
  return Json{{"configure", seconds_json(steps.configure)},
              {"build", seconds_json(steps.build)},
              {"install", seconds_json(steps.install)},
              {"harvest", seconds_json(steps.harvest)}};
}

build::Steps all_steps(const build::Report& report) {
  build::Steps sum;
  for (const build::ConfigurationReport& each : report.configurations) {
    sum.configure += each.steps.configure;
    sum.build += each.steps.build;
    sum.install += each.steps.install;
    sum.harvest += each.steps.harvest;
  }
  return sum;
}

std::string wall_and_cpu(const Seconds& seconds) {
  char text[80];
  std::snprintf(text, sizeof(text), "%.1f (%.1f)", seconds.wall, seconds.cpu);
  return text;
}

// Where the time went: a row per configuration and one for the image.
std::string times_table(const build::Report& report) {
  std::vector<std::vector<std::string>> rows = {
      {"SECONDS (CPU)", "CONFIGURE", "BUILD", "INSTALL", "HARVEST", "WRITE", "TOTAL"}};
  auto add = [&](const std::string& name, const build::Steps& steps, const std::string& write,
                 const Seconds& total) {
    rows.push_back({name, wall_and_cpu(steps.configure), wall_and_cpu(steps.build),
                    wall_and_cpu(steps.install), wall_and_cpu(steps.harvest), write, wall_and_cpu(total)});
  };
  for (const build::ConfigurationReport& each : report.configurations)
    add(each.id, each.steps, "", each.seconds);
  add("image", all_steps(report), wall_and_cpu(report.write), report.seconds);
  return table(rows);
}

Json base_json(const build::Report& report) {
  if (!report.base)
    return {};
  return Json{{"name", report.base->name},
              {"libraries", report.base->libraries},
              {"replaced", report.base->replaced}};
}

std::string base_text(const build::BaseReport& base, bool all) {
  constexpr size_t most = 8; // the parts of the C library alone are more
  const auto names = [&](const std::vector<std::string>& libraries) {
    return all || libraries.size() <= most ? join(libraries, " ")
                                           : std::to_string(libraries.size()) + " (-v names them)";
  };
  std::string text = "base image " + base.name + "\n";
  text += "  libraries from it: " + (base.libraries.empty() ? "none" : names(base.libraries)) + "\n";
  if (!base.replaced.empty())
    text += "  replaced by those of the build machine: " + names(base.replaced) + "\n";
  return text;
}

} // namespace

static Json source_json(const build::Report& report) {
  if (!report.source)
    return {};
  return Json{{"configurations", report.source->configurations},
              {"files", report.source->files},
              {"bytes", report.source->bytes},
              {"ignored", report.source->ignored}};
}

static std::string source_text(const build::Report& report) {
  if (!report.source)
    return {};
  const auto count = std::to_string(report.source->configurations.size());
  return count + " configurations are built on the target: " + join(report.source->configurations, " ") +
         "\n" + std::to_string(report.source->files) + " files of sources (" +
         human_bytes(report.source->bytes) + ")\n";
}

static Json prepared_json(const build::Report& report) {
  if (!report.prepared)
    return {};
  Json without = Json::array();
  for (const auto& [reason, units] : report.prepared->without)
    without.push_back(Json{{"reason", reason}, {"units", units}});
  return Json{{"units", report.prepared->units},
              {"modules", report.prepared->modules},
              {"without", without},
              {"seconds", seconds_json(report.prepared->seconds)}};
}

static std::string prepared_text(const build::PreparedReport& prepared) {
  std::string text = std::to_string(prepared.modules) + " prepared modules serve " +
                     std::to_string(prepared.units) + " distinct units, " + wall_and_cpu(prepared.seconds) +
                     " s (CPU)\n";
  for (const auto& [reason, units] : prepared.without)
    text += "not prepared: " + std::to_string(units) + (units == 1 ? " unit" : " units") + " with " + reason +
            "\n";
  return text;
}

Json report_json(const build::Report& report, const std::string& image) {
  Json configurations = Json::array();
  for (const build::ConfigurationReport& each : report.configurations)
    configurations.push_back(Json{{"id", each.id},
                                  {"units", each.units},
                                  {"modules", each.modules},
                                  {"native_objects", each.native_objects},
                                  {"programs", each.programs},
                                  {"compiled", each.compiled},
                                  {"reused", each.reused},
                                  {"differences", each.differences},
                                  {"same_as", each.same_as.empty() ? Json() : Json(each.same_as)},
                                  {"seconds", each.seconds.wall},
                                  {"steps", steps_json(each.steps)}});
  Json natives = Json::array();
  for (const build::NativeReport& each : report.native_objects)
    natives.push_back(Json{{"name", each.name}, {"reason", each.reason}});
  Json steps = steps_json(all_steps(report));
  steps["write"] = seconds_json(report.write);
  steps["total"] = seconds_json(report.seconds);
  return Json{{"version", 1},
              {"image", image},
              {"digest", report.digest.to_string()},
              {"revision", report.revision.empty() ? Json() : Json(report.revision)},
              {"configurations", configurations},
              {"sharing",
               {{"units", report.units},
                {"modules", report.modules},
                {"preprocessed_texts", report.preprocessed_texts},
                {"unit_bytes", report.unit_bytes},
                {"module_bytes", report.module_bytes}}},
              {"prepared", prepared_json(report)},
              {"base", base_json(report)},
              {"native_objects", natives},
              {"source", source_json(report)},
              {"loads_by_name", report.loaders},
              {"warnings", warnings_json(report.warnings)},
              {"seconds", report.seconds.wall},
              {"steps", steps}};
}

std::string report_text(const build::Report& report, const std::string& image, bool all) {
  const std::string of_sources = source_text(report);
  const std::string end = image + " " + report.digest.to_string() + "\n";
  if (report.configurations.empty())
    return of_sources + "time " + wall_and_cpu(report.seconds) + " s (CPU)\n" + end;
  std::vector<std::vector<std::string>> rows = {
      {"CONFIGURATION", "UNITS", "MODULES", "NATIVE", "PROGRAMS", "COMPILED", "REUSED"}};
  for (const build::ConfigurationReport& each : report.configurations) {
    rows.push_back({each.id, std::to_string(each.units), std::to_string(each.modules),
                    std::to_string(each.native_objects), std::to_string(each.programs)});
    if (each.same_as.empty())
      rows.back().insert(rows.back().end(), {std::to_string(each.compiled), std::to_string(each.reused)});
    else
      rows.back().push_back("as " + each.same_as);
  }
  std::string text =
      table(rows) +
      "(UNITS: compiled sources; MODULES: the IR modules that serve them; NATIVE: inputs and "
      "files without IR;\n PROGRAMS: installed programs and shared libraries; COMPILED, REUSED: "
      "compiles, also those of configure checks;\n as ID: not built, because it would be the same)\n\n" +
      times_table(report) + "\n" + std::to_string(report.modules) + " IR modules (" +
      human_bytes(report.module_bytes) + ") serve " + std::to_string(report.units) + " units (" +
      human_bytes(report.unit_bytes) + ")\n";
  if (report.prepared)
    text += prepared_text(*report.prepared);
  if (report.base)
    text += base_text(*report.base, all);
  std::vector<NativeLine> natives;
  for (const build::NativeReport& each : report.native_objects)
    natives.push_back({each.name, each.reason});
  text += native_lines(natives, all);
  for (const std::string& each : report.loaders)
    text +=
        "run-time library " + each + " loads parts by name (dlopen); list them under `runtime` in the spec\n";
  return text + of_sources + end;
}

Json report_json(const build::IndexReport& report, const std::string& image) {
  Json images = Json::array();
  for (const build::ArchitectureReport& each : report.images) {
    Json json = report_json(each.report, image);
    json.erase("version");
    json.erase("image");
    json["arch"] = each.arch;
    images.push_back(std::move(json));
  }
  return Json{{"version", 1},
              {"image", image},
              {"digest", report.digest.to_string()},
              {"images", images},
              {"seconds", report.seconds.wall}};
}

std::string report_text(const build::IndexReport& report, const std::string& image, bool all) {
  std::string text;
  for (const build::ArchitectureReport& each : report.images)
    text += report_text(each.report, each.arch, all) + "\n";
  return text + image + " " + report.digest.to_string() + "\n";
}

} // namespace xaas::cli
