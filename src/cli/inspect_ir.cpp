#include "inspect_ir.h"
#include "kernels.h"
#include "terminal.h"
#include "warnings.h"

#include <xaas/base/text.h>
#include <xaas/image/coverage.h>
#include <xaas/image/deployed.h>

#include <algorithm>

namespace xaas::cli {

namespace {

using Rows = std::vector<std::vector<std::string>>;

Json machine_json(const image::MachineFlagCounts& counts) {
  return Json{{"open", counts.open},
              {"native", counts.native},
              {"fixed", counts.fixed},
              {"features", counts.features}};
}

Json kit_json(const image::KitSize& kit) {
  return Json{{"files", kit.files}, {"bytes", kit.bytes}};
}

Json transfer_json(const oci::Image& image, const std::string& configuration) {
  const image::Transfer transfer = image::transfer_of(image, configuration);
  Json layers = Json::array();
  for (const size_t layer : transfer.layers)
    layers.push_back(image.manifest().layers[layer].digest.to_string());
  return Json{{"layers", layers}, {"bytes", transfer.bytes}, {"shared_bytes", transfer.shared_bytes}};
}

Json configurations_json(const image::ApplicationImage& ir, const image::Coverage& coverage) {
  Json json = Json::array();
  for (size_t i = 0; i < coverage.configurations.size(); ++i) {
    const image::ConfigurationCoverage& each = coverage.configurations[i];
    json.push_back(Json{{"id", each.id},
                        {"values", ir.bundle().configurations[i].configuration.values()},
                        {"form", "ir"},
                        {"units", each.units},
                        {"modules", each.modules},
                        {"native_objects", each.native_objects},
                        {"programs", each.programs},
                        {"machine", machine_json(each.machine)},
                        {"kit", kit_json(each.kit)},
                        {"transfer", transfer_json(ir.image(), each.id)}});
  }
  for (const spec::Configuration& each : image::all_configurations(ir.bundle()))
    if (!image::find_ir(ir.bundle(), each))
      json.push_back(Json{{"id", each.id()},
                          {"values", each.values()},
                          {"form", "source"},
                          {"units", Json()},
                          {"modules", Json()},
                          {"native_objects", Json()},
                          {"programs", Json()},
                          {"machine", Json()},
                          {"kit", Json()},
                          {"transfer", transfer_json(ir.image(), each.id())}});
  return json;
}

// The image below the application; null: `scratch`.
Json base_json(const image::Bundle& bundle) {
  if (!bundle.base)
    return {};
  Json libraries = Json::array();
  for (const auto& [name, versions] : bundle.base->libraries)
    libraries.push_back(name);
  return Json{{"digest", bundle.base->digest.to_string()},
              {"reference", bundle.base->reference.empty() ? Json() : Json(bundle.base->reference)},
              {"libraries", libraries}};
}

// The toolchain that builds on the target; null: nothing is built there.
Json toolchain_json(const image::ApplicationImage& ir) {
  if (!ir.bundle().source_build)
    return {};
  const spec::Toolchain& toolchain = ir.bundle().source_build->application.toolchain;
  uint64_t base = 0, source = 0;
  for (const oci::Descriptor& layer : ir.image().manifest().layers) {
    base += image::layer_role(layer) == "base" ? layer.size : 0;
    source += image::layer_role(layer) == "source" ? layer.size : 0;
  }
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return Json{
      {"base", text(toolchain.base)},
      {"packages", toolchain.packages},
      {"suite", text(toolchain.suite)},
      {"compilers",
       {{"c", text(toolchain.c)}, {"cxx", text(toolchain.cxx)}, {"fortran", text(toolchain.fortran)}}},
      {"stored_bytes", base},
      {"source_bytes", source}};
}

Json sharing_json(const image::ApplicationImage& ir, const image::Coverage& coverage) {
  uint64_t stored_bytes = 0;
  for (const oci::Descriptor& layer : ir.image().manifest().layers)
    if (image::layer_role(layer) == "ir")
      stored_bytes += layer.size;
  return Json{{"units", coverage.units},
              {"modules", coverage.modules},
              {"device_units", coverage.device_units},
              {"prepared", coverage.prepared},
              {"unit_bytes", coverage.unit_bytes},
              {"module_bytes", coverage.module_bytes},
              {"stored_bytes", stored_bytes},
              {"sources", coverage.sources},
              {"sensitive", coverage.sensitive ? Json(coverage.sensitive->size()) : Json()},
              {"sensitive_sources", coverage.sensitive ? Json(*coverage.sensitive) : Json()}};
}

Json machine_sources_json(const image::Coverage& coverage) {
  Json json = Json::array();
  for (const image::MachineFlagSource& each : coverage.machine_sources)
    json.push_back(Json{{"source", each.source},
                        {"cpu", each.machine.cpu},
                        {"tune", each.machine.tune},
                        {"features", each.machine.features}});
  return json;
}

Json natives_json(const image::Coverage& coverage) {
  Json json = Json::array();
  for (const image::NativeObject& each : coverage.native_objects)
    json.push_back(Json{{"name", each.name},
                        {"reason", each.reason},
                        {"bytes", each.bytes ? Json(*each.bytes) : Json()},
                        {"configurations", each.configurations}});
  return json;
}

Json device_files_json(const image::Coverage& coverage) {
  Json json = Json::array();
  for (const auto& [file, configurations] : coverage.device_files)
    json.push_back(Json{{"path", file.path},
                        {"form", to_string(file.form)},
                        {"architectures", file.archs},
                        {"configurations", configurations}});
  return json;
}

std::string device_files_text(const Json& files) {
  const auto made = std::count_if(files.begin(), files.end(),
                                  [](const Json& file) { return !file["architectures"].empty(); });
  return std::to_string(files.size()) + ", " + std::to_string(made) + " of them made again by deploying";
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole ? std::to_string(part * 100 / whole) + " %" : "-";
}

// The layers by number in the table of layers: "1-3 5".
std::string layer_numbers(const Json& digests, const Json& layers) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < layers.size(); ++i)
    if (std::find(digests.begin(), digests.end(), layers[i]["digest"]) != digests.end())
      numbers.push_back(i + 1);
  std::vector<std::string> ranges;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    ranges.push_back(std::to_string(numbers[i]) + (last == i ? "" : "-" + std::to_string(numbers[last])));
    i = last + 1;
  }
  return join(ranges, " ");
}

std::string configurations_table(const Json& json) {
  Rows rows = {
      {"CONFIGURATION", "FORM", "UNITS", "MODULES", "NATIVE", "PROGRAMS", "READS", "SHARED", "LAYERS"}};
  for (const Json& each : json["configurations"]) {
    const Json& transfer = each["transfer"];
    const auto bytes = transfer["bytes"].get<uint64_t>();
    const auto number = [&](const char* key) { return each[key].is_null() ? "-" : each[key].dump(); };
    rows.push_back({each["id"].get<std::string>(), each["form"].get<std::string>(), number("units"),
                    number("modules"), number("native_objects"), number("programs"), human_bytes(bytes),
                    percent(transfer["shared_bytes"].get<uint64_t>(), bytes),
                    layer_numbers(transfer["layers"], json["layers"])});
  }
  return table(rows) +
         "(UNITS: compiled sources; MODULES: the IR modules that serve them; NATIVE: inputs and "
         "files without IR;\n PROGRAMS: installed programs and shared libraries; READS: what "
         "deploying reads, in these LAYERS;\n SHARED: the part of it that other configurations "
         "read, too)\n";
}

// Device code has no machine flags: it is always made for the target's GPU.
std::string machine_text(const Json& machine, bool device_code) {
  const Json& units = machine["units"];
  std::string text =
      units["open"].dump() + (device_code ? " units for the host" : " units") + " leave the CPU open";
  for (const auto& [key, what] : {std::pair<const char*, const char*>{"native", "say native"},
                                  {"fixed", "fix a CPU"},
                                  {"features", "have -m flags of single features"}})
    if (units[key].get<uint64_t>() > 0)
      text += ", " + units[key].dump() + " " + what;
  return text;
}

std::string sensitive_text(const Json& sharing) {
  if (sharing["sensitive"].is_null())
    return "unknown: no two configurations differ only in the instruction set";
  return sharing["sensitive"].dump() + " of " + sharing["sources"].dump() +
         " sources (their IR differs between instruction sets)";
}

std::string bytes_of(const Json& object, const char* key) {
  return human_bytes(object[key].get<uint64_t>());
}

std::string toolchain_text(const Json& toolchain) {
  const std::string what = toolchain["base"].is_null() ? "" : toolchain["base"].get<std::string>();
  std::vector<std::string> packages;
  for (const Json& package : toolchain["packages"])
    packages.push_back(package.get<std::string>());
  return (what.empty() ? join(packages, " ") : what) + " (" + bytes_of(toolchain, "stored_bytes") +
         "), sources " + bytes_of(toolchain, "source_bytes");
}

std::string base_text(const Json& base) {
  const std::string libraries = std::to_string(base["libraries"].size());
  return (base["reference"].is_null() ? "" : base["reference"].get<std::string>() + " ") +
         base["digest"].get<std::string>() + ", " + libraries + " libraries from it";
}

std::string natives_text(const Json& json) {
  const size_t count = json["native_objects"].size();
  return std::to_string(count) + (count && json["configurations"].size() > 1 ? " in all configurations" : "");
}

Rows facts(const Json& json) {
  if (!json.contains("sharing"))
    return {};
  const Json& sharing = json["sharing"];
  Rows rows = {
      {"IR modules", sharing["modules"].dump() + " (" + bytes_of(sharing, "module_bytes") + ", stored in " +
                         bytes_of(sharing, "stored_bytes") + ") serve " + sharing["units"].dump() +
                         " units (" + bytes_of(sharing, "unit_bytes") + ")"},
      {"prepared",
       sharing["prepared"] == 0 ? "none" : "modules of " + sharing["prepared"].dump() + " distinct units"},
      {"feature-sensitive", sensitive_text(sharing)},
      {"machine flags", machine_text(json["machine_flags"], sharing["device_units"].get<uint64_t>() > 0)},
      {"link kit", json["kit"]["files"].dump() + " files, " + bytes_of(json["kit"], "bytes") +
                       (json["native_objects"].empty() ? "" : ", with native objects")},
      {"native objects", natives_text(json)}};
  if (sharing["device_units"].get<uint64_t>() > 0)
    rows.push_back({"device code", sharing["device_units"].dump() + " units" +
                                       (json["kernels"].is_null() ? "; --kernels shows CUDA kernels" : "")});
  for (const Json& plugin : json["plugins"])
    rows.push_back({"pass plugin", plugin["name"].get<std::string>() + " " +
                                       plugin["version"].get<std::string>() + ", for " +
                                       image::units_and_links(plugin["units"], plugin["links"]) + " (" +
                                       plugin["digest"].get<std::string>() + ")"});
  for (const Json& profile : json["profiles"])
    rows.push_back({"own profile", "for " + image::units_and_links(profile["units"], 0) + " (" +
                                       profile["digest"].get<std::string>() + ")"});
  if (!json["device_files"].empty())
    rows.push_back({"device files", device_files_text(json["device_files"])});
  return rows;
}

std::string flags_text(const Json& source) {
  std::vector<std::string> flags;
  for (const auto& [key, flag] : {std::pair<const char*, const char*>{"cpu", "-march="}, {"tune", "-mtune="}})
    if (!source[key].get<std::string>().empty())
      flags.push_back(flag + source[key].get<std::string>());
  for (const Json& feature : source["features"])
    flags.push_back(feature.get<std::string>());
  return join(flags, " ");
}

std::string details(const Json& json) {
  std::string text;
  for (const Json& source : json["sharing"]["sensitive_sources"])
    text += "feature-sensitive " + source.get<std::string>() + "\n";
  for (const Json& source : json["machine_flags"]["sources"])
    text += "machine flags " + source["source"].get<std::string>() + ": " + flags_text(source) + "\n";
  for (const Json& source : json["unoptimized_sources"])
    text += "without -O " + source.get<std::string>() + "\n";
  return text;
}

// The pass plugins that units and links ask for, and how many do.
Json plugins_json(const image::Bundle& bundle) {
  struct Asked {
    std::string name, version;
    uint64_t units = 0, links = 0;
    std::set<std::string> options;
  };
  std::map<Digest, Asked> plugins;
  const auto add = [&](const std::vector<ir::AskedPlugin>& asked, uint64_t Asked::* count) {
    for (const ir::AskedPlugin& plugin : asked) {
      Asked& each = plugins[plugin.digest];
      each.name = plugin.name;
      each.version = plugin.version;
      ++(each.*count);
      each.options.insert(plugin.options.begin(), plugin.options.end());
    }
  };
  for (const auto& [id, unit] : bundle.units)
    add(unit.plugins, &Asked::units);
  for (const auto& [id, record] : bundle.links)
    add(record.plugins, &Asked::links);
  Json json = Json::array();
  for (const auto& [digest, each] : plugins)
    json.push_back({{"name", each.name},
                    {"version", each.version},
                    {"digest", digest.to_string()},
                    {"units", each.units},
                    {"links", each.links},
                    {"options", each.options}});
  return json;
}

// The profiles that the project brings for Clang's back end, and of how many units.
Json profiles_json(const image::Bundle& bundle) {
  std::map<Digest, uint64_t> units;
  for (const auto& [id, unit] : bundle.units)
    if (unit.profile)
      ++units[*unit.profile];
  Json json = Json::array();
  for (const auto& [digest, count] : units)
    json.push_back({{"digest", digest.to_string()}, {"units", count}});
  return json;
}

// The keys about kernels on the CPU.
void add_kernels(const std::optional<deploy::ImageKernels>& kernels, Json& json) {
  json["kernel_forms"] = json["kernels"] = json["kernel_obstacles"] = Json();
  if (!kernels)
    return;
  std::vector<image::CpuKernel> list;
  for (const deploy::ImageKernel& each : kernels->kernels)
    list.push_back(each.kernel);
  json["kernel_forms"] = image::cpu_kernels(list).forms;
  json["kernels"] = kernels_json(list);
  for (size_t i = 0; i < list.size(); ++i)
    json["kernels"][i]["configurations"] = kernels->kernels[i].configurations;
  json["kernel_obstacles"] = Json::array();
  for (const deploy::KernelObstacle& each : kernels->obstacles)
    json["kernel_obstacles"].push_back({{"reason", each.reason}, {"configurations", each.configurations}});
}

} // namespace

Json layers_json(const oci::Image& image) {
  Json layers = Json::array();
  for (const oci::Descriptor& layer : image.manifest().layers)
    layers.push_back(Json{{"digest", layer.digest.to_string()},
                          {"size", layer.size},
                          {"role", image::layer_role(layer)},
                          {"configurations", image::layer_configurations(layer)}});
  return layers;
}

Json points_json(const std::vector<spec::SpecializationPoint>& points) {
  Json json = Json::array();
  for (const spec::SpecializationPoint& point : points)
    json.push_back(spec::to_json(point));
  return json;
}

// The built-in point of device code. It is not part of a configuration: each GPU of the target gets the value
// that suits it best.
void add_gpu_point(const std::set<std::string>& archs, std::vector<spec::SpecializationPoint>& points) {
  const bool taken =
      std::any_of(points.begin(), points.end(), [](const auto& point) { return point.name == "gpu"; });
  if (archs.empty() || taken)
    return;
  std::vector<std::string> sorted(archs.begin(), archs.end());
  std::sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b); // sm_90 before sm_100
  });
  spec::SpecializationPoint point;
  point.name = "gpu";
  point.category = "gpu";
  point.default_ = sorted.front();
  for (const std::string& arch : sorted) {
    spec::Value value;
    value.value = arch;
    value.requires_.gpu = spec::Requirement::Gpu{"", arch, ""};
    point.values.push_back(std::move(value));
  }
  points.push_back(std::move(point));
}

Result<Json> describe_ir(const image::ApplicationImage& ir,
                         const std::optional<deploy::ImageKernels>& kernels) {
  const image::Bundle& bundle = ir.bundle();
  XAAS_TRY(const image::Coverage coverage, image::coverage_of(bundle));
  std::vector<spec::SpecializationPoint> points = bundle.points;
  add_gpu_point(coverage.gpus, points);
  Json json{{"version", 1},
            {"kind", image::kind_of(ir.image())},
            {"name", bundle.name},
            {"arch", bundle.arch},
            {"llvm", bundle.llvm.empty() ? Json() : Json(bundle.llvm)},
            {"digest", ir.image().digest().to_string()},
            {"specializations", points_json(points)},
            {"configurations", configurations_json(ir, coverage)},
            {"base", base_json(bundle)},
            {"toolchain", toolchain_json(ir)}};
  if (!bundle.configurations.empty()) {
    json["sharing"] = sharing_json(ir, coverage);
    json["machine_flags"] = {{"units", machine_json(coverage.machine)},
                             {"sources", machine_sources_json(coverage)}};
    json["native_objects"] = natives_json(coverage);
    json["device_files"] = device_files_json(coverage);
    add_kernels(kernels, json);
    json["plugins"] = plugins_json(bundle);
    json["profiles"] = profiles_json(bundle);
    json["kit"] = kit_json(coverage.kit);
    json["unoptimized_sources"] = coverage.unoptimized;
  }
  const std::optional<image::Warning> slow = image::unoptimized_warning(coverage.unoptimized);
  json["warnings"] = warnings_json(slow ? std::vector<image::Warning>{*slow} : std::vector<image::Warning>());
  json["layers"] = layers_json(ir.image());
  return json;
}

std::string coverage_text(const Json& json, bool all) {
  std::vector<NativeLine> natives;
  Rows rows = facts(json);
  if (!json["base"].is_null())
    rows.push_back({"base image", base_text(json["base"])});
  if (!json["toolchain"].is_null())
    rows.push_back({"toolchain", toolchain_text(json["toolchain"])});
  if (!json.contains("sharing"))
    return configurations_table(json) + "\n" + table(rows);
  for (const Json& each : json["native_objects"])
    natives.push_back({each["name"].get<std::string>(), each["reason"].get<std::string>()});
  return configurations_table(json) + "\n" + table(rows) + native_lines(natives, all) +
         (all ? details(json) : "");
}

} // namespace xaas::cli
