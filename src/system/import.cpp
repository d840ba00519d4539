// Reads machine descriptions of the published work's prototype (keys "CPU Info", "Accelerators", "Parallel
// Libraries", ...). They list only some instruction sets, and the output of programs. Missing information
// stays empty, and the CPU is reduced to the ISA level of what is listed.
#include "names.h"

#include <xaas/base/text.h>
#include <xaas/system/system.h>

#include <algorithm>
#include <set>

namespace xaas::system {

namespace {

const Json& member(const Json& json, const char* key) {
  static const Json nothing;
  return json.is_object() && json.contains(key) ? json[key] : nothing;
}
std::string text_of(const Json& json, const char* key) {
  const Json& found = member(json, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::set<std::string> features_of(const Json& names) {
  std::set<std::string> features;
  if (names.is_array())
    for (const Json& name : names)
      if (name.is_string()) {
        std::string feature = name;
        if (feature == "asimd")
          feature = "neon";
        if (feature.starts_with("sse4_"))
          feature[4] = '.';
        features.insert(feature);
      }
  return features;
}

// The highest level whose vector extensions are all listed; the other features of a level are never listed.
std::string level_of(const std::string& arch, const std::set<std::string>& features) {
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return features.count(name) > 0; });
  };
  if (arch != "x86_64")
    return target::isa_levels(arch).empty() ? std::string() : target::isa_levels(arch).front();
  if (has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2"}))
    return "x86-64-v4";
  if (has({"avx", "avx2"}))
    return "x86-64-v3";
  return has({"ssse3", "sse4.1", "sse4.2"}) ? "x86-64-v2" : "x86-64";
}

void add_gpus(const Json& json, const Names& names, std::vector<Gpu>& gpus) {
  const Json& found = member(member(json, "Accelerators"), "Accelerators");
  for (const Json& item : member(found, "nvidia")) {
    Gpu gpu;
    gpu.vendor = "nvidia";
    gpu.model = text_of(item, "gpu");
    std::string capability = text_of(item, "compute_cap");
    capability.erase(std::remove(capability.begin(), capability.end(), '.'), capability.end());
    gpu.arch = capability.empty() ? "" : "sm_" + capability;
    gpu.driver = text_of(item, "driver");
    gpu.runtime = text_of(member(member(json, "GPU Backends"), "CUDA"), "version");
    if (gpu.runtime.find_first_not_of("0123456789.") != std::string::npos)
      gpu.runtime.clear();
    gpu.evidence = "nvidia-smi";
    gpus.push_back(std::move(gpu));
  }
  for (const Json& item : member(found, "amd"))
    gpus.push_back({"amd", text_of(item, "marketing_name"), text_of(item, "name"), 0, "",
                    text_of(member(member(json, "GPU Backends"), "ROCm"), "version"), "rocminfo"});
  for (const Json& item : member(found, "intel")) {
    std::string arch;
    for (const GpuDevice& device : names.intel)
      if (arch.empty() &&
          text_of(item, "name").find(device.model.substr(device.model.find(' ') + 1)) != std::string::npos)
        arch = device.arch;
    gpus.push_back({"intel", text_of(item, "name"), arch, 0, "", "", "sycl-ls"});
  }
  if (!gpus.empty())
    return;
  for (const Json& item : member(found, "lspci")) {
    const std::string line = item.is_string() ? item.get<std::string>() : "";
    if (line.find("NVIDIA") == std::string::npos ||
        (line.find("3D controller") == std::string::npos && line.find("VGA") == std::string::npos))
      continue;
    gpus.push_back({"nvidia", line.substr(line.find("NVIDIA")), "", 0, "", "", "lspci"});
  }
}

void add_mpi(const Json& json, const Names& names, std::vector<Mpi>& list) {
  const Json& libraries = member(json, "Parallel Libraries");
  if (!libraries.is_object())
    return;
  std::set<std::string> seen;
  for (const auto& [family, files] : libraries.items()) {
    if (!files.is_object())
      continue;
    for (const auto& [file, path] : files.items())
      for (const MpiName& name : names.mpi) {
        const bool matches = file == name.soname || file.starts_with(name.soname + ".");
        const std::string directory =
            path.is_string() ? fs::path(path.get<std::string>()).parent_path().string() : "";
        if (matches && seen.insert(name.abi + directory).second)
          list.push_back({name.implementation, "", name.abi, directory});
      }
  }
}

} // namespace

Result<SystemDescription> import_prototype(const fs::path& path) {
  XAAS_TRY(const Json json, read_json(path));
  const Json& cpu = member(json, "CPU Info");
  const std::string arch = text_of(cpu, "Architecture");
  if (target::isa_levels(arch).empty())
    return make_error(ErrorKind::usage,
                      path.string() + ": /CPU Info/Architecture: " +
                          (arch.empty() ? "there is none" : "\"" + arch + "\" is not known"),
                      "--import reads machine descriptions of the published prototype");
  const std::set<std::string> features = features_of(member(cpu, "Supported Vectorizations"));
  const std::string level = level_of(arch, features);
  SystemDescription description;
  XAAS_TRY(description, any_system(arch, level));
  for (const std::string& feature : features)
    if (target::is_feature(arch, feature))
      description.cpu.features.push_back(feature);
  description.cpu.features = target::with_implied(arch, description.cpu.features);
  description.cpu.level = target::isa_level(arch, description.cpu.features);
  description.cpu.model = text_of(cpu, "Model Name");
  const Names& names = Names::get();
  add_gpus(json, names, description.gpus);
  add_mpi(json, names, description.mpi);
  for (const char* key : {"FFT Libraries", "linear algebra Libraries"})
    if (const Json& libraries = member(json, key); libraries.is_object())
      for (const auto& [name, library] : libraries.items()) {
        std::string version = text_of(library, "version");
        if (version.find_first_not_of("0123456789.") != std::string::npos ||
            std::string_view(key).starts_with("linear"))
          version.clear(); // there it is the version of the compiler
        std::string where = text_of(library, "path");
        description.libraries.push_back(
            {name, version, where.empty() ? text_of(library, "installation_path") : where});
      }
  if (const Json& modules = member(json, "Loaded Modules"); modules.is_object())
    for (const auto& [name, version] : modules.items())
      description.modules.push_back(name + (version.is_string() ? "/" + version.get<std::string>() : ""));
  return description;
}

} // namespace xaas::system
