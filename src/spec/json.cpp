// The model as JSON, in the form that parse_application and parse_point read.
#include "check.h"
#include "schema.h"

#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <utility>

namespace xaas::spec {
namespace {

Json object_of(const std::map<std::string, std::string>& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values)
    json[key] = value;
  return json;
}

Json array_of(const std::vector<std::map<std::string, std::string>>& all) {
  Json json = Json::array();
  for (const auto& values : all)
    json.push_back(object_of(values));
  return json;
}

bool is_feature(const std::string& name) {
  return std::any_of(architectures().begin(), architectures().end(),
                     [&](const std::string& arch) { return target::is_feature(arch, name); });
}

Json to_json(const Build& build) {
  Json json = {{"system", to_string(build.system)},
               {"arguments", build.arguments},
               {"environment", object_of(build.environment)},
               {"targets", build.targets},
               {"copy", build.copy}};
  if (!build.directory.empty())
    json["directory"] = build.directory;
  if (build.system == BuildSystem::commands) {
    json["configure"] = build.configure_command;
    json["build"] = build.build_command;
  }
  if (!build.install.empty()) {
    json["install"] = build.install_target ? Json::array({"target"}) : Json::array();
    for (const InstallFile& file : build.install)
      json["install"].push_back({{"from", file.from}, {"to", file.to}});
  } else {
    json["install"] = build.install_command.empty() ? "target" : build.install_command;
  }
  return json;
}

Json to_json(const Toolchain& toolchain) {
  Json json = Json::object();
  for (const auto& [key, value] : {std::pair("base", &toolchain.base), std::pair("suite", &toolchain.suite),
                                   std::pair("path", &toolchain.path)})
    if (!value->empty())
      json[key] = *value;
  if (!toolchain.packages.empty())
    json["packages"] = toolchain.packages;
  for (const auto& [key, value] : {std::pair("c", &toolchain.c), std::pair("cxx", &toolchain.cxx),
                                   std::pair("fortran", &toolchain.fortran)})
    if (!value->empty())
      json["compilers"][key] = *value;
  return json;
}

} // namespace

Json to_json(const Requirement& required) {
  Json json = Json::object();
  if (required.cpu.size() == 1 && (is_level(required.cpu[0]) || !is_feature(required.cpu[0])))
    json["cpu"] = required.cpu[0];
  else if (!required.cpu.empty())
    json["cpu"] = required.cpu;
  if (required.gpu) {
    Json gpu = Json::object();
    for (const auto& [key, value] :
         {std::pair("vendor", &required.gpu->vendor), std::pair("arch", &required.gpu->arch),
          std::pair("driver", &required.gpu->driver)})
      if (!value->empty())
        gpu[key] = *value;
    if (required.gpu->or_cpu)
      gpu["or"] = "cpu";
    json["gpu"] = std::move(gpu);
  }
  if (!required.mpi.empty())
    json["mpi"] = required.mpi;
  for (const Requirement::Library& library : required.libraries) {
    Json entry = {{"name", library.name}};
    if (!library.version.empty())
      entry["version"] = library.version;
    if (library.from == Requirement::From::image)
      entry["from"] = "image";
    json["library"].push_back(std::move(entry));
  }
  if (!required.values.empty())
    json["values"] = object_of(required.values);
  return json;
}

Json to_json(const SpecializationPoint& point) {
  Json json = {{"name", point.name}, {"category", point.category}, {"default", nullptr}};
  if (!point.default_.empty())
    json["default"] = point.default_;
  if (point.follows_isa)
    json["follows"] = "isa";
  json["values"] = Json::array();
  for (const Value& value : point.values) {
    json["values"].push_back(
        {{"value", value.value}, {"arguments", value.arguments}, {"requires", to_json(value.requires_)}});
    if (value.from_source)
      json["values"].back()["from_source"] = true;
  }
  for (const Preference& preference : point.prefer)
    json["prefer"].push_back({{"cpu", preference.cpu}, {"values", preference.values}});
  return json;
}

Json to_json(const HostPreference& preference) {
  if (preference.sonames.empty())
    return preference.what;
  return {{"library", preference.what}, {"sonames", preference.sonames}};
}

Json to_json(const Application& application) {
  Json json = {
      {"name", application.name}, {"version", application.version}, {"license", application.license}};
  if (!application.source.empty())
    json["source"] = application.source;
  if (!application.revision.empty())
    json["revision"] = application.revision;
  json["build"] = to_json(application.build);
  json["specializations"] = Json::array();
  for (const SpecializationPoint& point : application.points)
    json["specializations"].push_back(to_json(point));
  if (application.isa)
    json["isa"] = *application.isa;
  if (!application.prepared)
    json["ir"] = "raw";
  if (!application.gpu.empty())
    json["gpu"] = application.gpu;
  json["exclude"] = array_of(application.exclude);
  json["configurations"] = array_of(application.configurations);
  json["runtime"] = application.runtime;
  const Image& image = application.image;
  json["image"] = {{"base", image.base},
                   {"prefix", image.prefix},
                   {"entrypoint", image.entrypoint},
                   {"env", object_of(image.env)}};
  if (application.toolchain != Toolchain())
    json["toolchain"] = to_json(application.toolchain);
  if (!application.include.empty())
    json["include"] = application.include;
  for (const Download& download : application.fetch) {
    Json& entry = json["fetch"].emplace_back(
        Json{{"url", download.url}, {"sha256", download.sha256}, {"to", download.to}});
    if (download.unpack)
      entry["unpack"] = true;
  }
  for (const HostPreference& preference : application.host)
    json["host"].push_back(to_json(preference));
  return json;
}

Json to_short_json(const Application& application) {
  return without_defaults(to_json(application), application_schema());
}

} // namespace xaas::spec
