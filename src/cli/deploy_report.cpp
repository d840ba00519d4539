#include "deploy_report.h"

#include "images.h"
#include "kernels.h"
#include "signer_options.h"
#include "warnings.h"

#include <xaas/base/text.h>

namespace xaas::cli {

namespace {

Json host_json(const std::vector<deploy::HostChoice>& host) {
  Json json = Json::array();
  for (const deploy::HostChoice& choice : host)
    json.push_back(run::to_json(choice));
  return json;
}

Json replaced_json(const std::vector<device::DeviceCode::Replaced>& libraries) {
  Json json = Json::array();
  for (const auto& [library, programs, functions] : libraries)
    json.push_back(Json{{"library", library}, {"programs", programs}, {"functions", functions}});
  return json;
}

Json values_json(const select::Selection& selection) {
  Json values = Json::array();
  for (const select::Outcome& value : selection.values) {
    Json needs = Json::array();
    for (const select::Need& need : value.needs)
      needs.push_back(select::to_json(need));
    values.push_back(Json{{"point", value.point},
                          {"value", value.value},
                          {"chosen", value.chosen},
                          {"possible", value.possible},
                          {"built", value.built},
                          {"reason", value.reason},
                          {"needs", needs}});
  }
  return values;
}

using Rows = std::vector<std::vector<std::string>>;

Rows reused_rows(const deploy::Report& report) {
  return {{"configuration", report.selection.configuration.id()},
          {"CPU", report.target.name},
          {"reused", *report.reused},
          {"time", human_seconds(report.seconds.total)}};
}

Rows built_rows(const deploy::Report& report) {
  return {{"configuration", report.selection.configuration.id()},
          {"CPU", report.target.name},
          {"built in", report.runtime},
          {"compiler", report.compiler},
          {"flags", join(report.flags, " ")},
          {"time",
           human_seconds(report.seconds.total) + " (building " + human_seconds(report.seconds.build) + ")"}};
}

std::string unneeded(const deploy::Report& report) {
  return report.unneeded ? std::to_string(report.unneeded) + " not needed, " : "";
}

Rows lowered_rows(const deploy::Report& report) {
  Rows rows = {{"configuration", report.selection.configuration.id()}, {"CPU", report.target.name}};
  for (const image::GpuCode& code : report.gpu_code)
    rows.push_back({"GPU", describe(code)});
  if (!report.kernels.forms.empty())
    rows.push_back({"kernels", "on the CPU: " + forms_text(report.kernels.forms)});
  else if (report.has_device_code && report.gpu_code.empty())
    rows.push_back({"GPU", "none"});
  rows.insert(rows.end(),
              {{"objects", std::to_string(report.lowered) + " lowered, " + std::to_string(report.cached) +
                               " known, " + unneeded(report) + std::to_string(report.links) + " links"},
               {"native objects", std::to_string(report.native_objects)}});
  if (report.lto) {
    std::string units = std::to_string(report.lto->units) + " units";
    for (const auto& [reason, count] : report.lto->without)
      units += ", " + std::to_string(count) + " not (" + reason + ")";
    rows.push_back({"LTO", units});
  }
  if (report.counts)
    rows.push_back(
        {"counters", report.atomic_counts ? "atomic, because threads may share them" : "not atomic"});
  if (report.profile)
    rows.push_back({"profile", report.profile->digest.to_string() + ": counts of " +
                                   std::to_string(report.profile->matched) + " of " +
                                   std::to_string(report.profile->functions) + " functions"});
  for (const image::UsedPlugin& plugin : report.plugins)
    rows.push_back({"pass plugin", plugin.name + (plugin.version.empty() ? "" : " " + plugin.version) + ": " +
                                       image::units_and_links(plugin.units, plugin.links) +
                                       (plugin.for_all ? ", none of which asks for it" : "")});
  rows.push_back({"time", human_seconds(report.seconds.total) + " (lowering " +
                              human_seconds(report.seconds.lower) + ", linking " +
                              human_seconds(report.seconds.link) + ")"});
  return rows;
}

// What --explain can only tell after the modules were read.
std::string kernels_of(const deploy::Report& report, const Details& details) {
  return details.explained && !report.kernels.forms.empty()
             ? kernels_text(report.kernels.forms, kernels_json(report.kernels.kernels), details.all)
             : std::string();
}

// Without the name of the image.
std::string report_body(const deploy::Report& report, const Details& details) {
  Rows rows = report.reused        ? reused_rows(report)
              : report.from_source ? built_rows(report)
                                   : lowered_rows(report);
  if (report.signature)
    rows.insert(rows.begin(), {"signed", report.signature->image.to_string()});
  return kernels_of(report, details) + table(rows) +
         (report.attached ? "SBOM " + report.attached->to_string() + "\n" : "");
}

std::string dry_text(const deploy::Report& report, const Details& details) {
  std::string text = details.explained ? std::string() : report.selection.configuration.id() + "\n";
  text += kernels_of(report, details);
  if (report.from_source)
    text += "would be built from source\n";
  if (report.reused)
    text += "would be reused: " + *report.reused + "\n";
  else if (report.looked_at)
    text += "would be deployed: nothing to reuse at " + *report.looked_at + "\n";
  return text;
}

} // namespace

Json report_json(const deploy::Report& report) {
  Json selection = Json::array();
  for (const select::Choice& choice : report.selection.choices)
    selection.push_back(Json{{"point", choice.point}, {"value", choice.value}, {"reason", choice.reason}});
  Json rejected = Json::array();
  for (const select::Rejection& rejection : report.selection.rejected)
    rejected.push_back(Json{{"configuration", rejection.configuration}, {"reason", rejection.reason}});
  return Json{
      {"version", 1},
      {"image", report.image.empty() ? Json() : Json(report.image)},
      {"digest", report.digest ? Json(report.digest->to_string()) : Json()},
      {"signature", to_json(report.signature)},
      {"sbom", report.attached ? Json(report.attached->to_string()) : Json()},
      {"configuration", report.selection.configuration.values()},
      {"target", {{"cpu", report.target.name}, {"features", report.target.features}, {"gpu", report.gpus}}},
      {"gpu_code", Json::parse(image::to_annotation(report.gpu_code))},
      {"kernels", kernels_json(report.kernels.kernels)},
      {"checked_kernels", report.checked_kernels},
      {"replaced_libraries", replaced_json(report.replaced)},
      {"reused", report.reused ? Json(*report.reused) : Json()},
      {"form", report.from_source ? "source" : "ir"},
      {"build",
       report.compiler.empty()
           ? Json()
           : Json{{"runtime", report.runtime}, {"compiler", report.compiler}, {"flags", report.flags}}},
      {"modules", {{"lowered", report.lowered}, {"cached", report.cached}, {"unneeded", report.unneeded}}},
      {"critical_path",
       {{"sum", report.path.sum}, {"longest", report.path.longest}, {"source", report.path.source}}},
      {"native_objects", report.native_objects},
      {"links", report.links},
      {"counts", report.counts},
      {"profile", report.profile ? Json{{"digest", report.profile->digest.to_string()},
                                        {"functions", report.profile->functions},
                                        {"matched", report.profile->matched}}
                                 : Json()},
      {"plugins", image::to_json(report.plugins)},
      {"lto", report.lto ? Json{{"units", report.lto->units}, {"without", report.lto->without}} : Json()},
      {"seconds",
       {{"fetch", report.seconds.fetch},
        {"build", report.seconds.build},
        {"lower", report.seconds.lower},
        {"link", report.seconds.link},
        {"package", report.seconds.package},
        {"total", report.seconds.total}}},
      {"selection", selection},
      {"rejected", rejected},
      {"values", values_json(report.selection)},
      {"host", host_json(report.host)},
      {"warnings", warnings_json(report.warnings)}};
}

Json report_json(const deploy::IndexReport& report) {
  Json images = Json::array();
  for (const deploy::Report& each : report.images) {
    Json json = report_json(each);
    json.erase("version");
    json.erase("image");
    images.push_back(std::move(json));
  }
  return Json{{"version", 1},
              {"image", report.image.empty() ? Json() : Json(report.image)},
              {"digest", report.digest ? Json(report.digest->to_string()) : Json()},
              {"images", images},
              {"seconds", report.seconds}};
}

std::string report_text(const deploy::Report& report, const Details& details) {
  if (!report.digest)
    return dry_text(report, details);
  return report_body(report, details) + report.image + " " + report.digest->to_string() + "\n";
}

std::string report_text(const deploy::IndexReport& report, const Details& details) {
  std::string text;
  for (const deploy::Report& each : report.images)
    if (each.digest)
      text += report_body(each, details) + each.digest->to_string() + "\n\n";
    else if (const std::string dry = dry_text(each, details); !dry.empty())
      text += each.target.name + ": " + dry;
  return report.digest ? text + report.image + " " + report.digest->to_string() + "\n" : text;
}

} // namespace xaas::cli
