// The needs of a requirement, matched with a system.
#include <xaas/base/text.h>
#include <xaas/base/version.h>
#include <xaas/select/select.h>
#include <xaas/target/cpu.h>
#include <xaas/target/gpu.h>
#include <xaas/target/lack.h>

#include <algorithm>

namespace xaas::select {
namespace {

using system::SystemDescription;

std::string this_cpu(const SystemDescription& system) {
  return "this CPU (" + (system.cpu.name.empty() ? system.arch : system.cpu.name) + ")";
}

// The parts that are known, then the evidence: "NVIDIA H200, sm_90, driver 550.54.15 (/proc/driver/...)".
std::string described(std::vector<std::string> parts, const std::string& evidence) {
  std::erase(parts, "");
  return join(parts, ", ") + (evidence.empty() ? "" : " (" + evidence + ")");
}

void meet(Need& need, std::string found) {
  need.met = true;
  need.found = std::move(found);
  need.lacks.clear();
}

// What a CPU must have: features, or a level or CPU with all of its features.
struct Wanted {
  std::vector<std::string> features;
  std::string name; // of the level or CPU; empty: features by name
  bool known = true;
};
Wanted wanted_of(const std::vector<std::string>& required, const std::string& arch) {
  if (required.size() != 1 || target::is_feature(arch, required[0]))
    return {required, "", true};
  const auto known = target::features_of(arch, required[0]);
  return known ? Wanted{*known, required[0], true} : Wanted{{}, required[0], false};
}

Need cpu_need(const std::vector<std::string>& required, const SystemDescription& system) {
  Need need{Need::Kind::cpu, Need::From::host, join(required, ", "), false, {}, {}};
  const Wanted wanted = wanted_of(required, system.arch);
  if (!wanted.known) {
    need.lacks = this_cpu(system) + " is " + system.arch + " and lacks " + wanted.name;
    return need;
  }
  const std::vector<std::string> missing = target::missing_features(wanted.features, system.cpu.features);
  if (missing.empty())
    meet(need, this_cpu(system));
  else
    need.lacks = target::lack_text({system.arch, system.cpu.name, system.cpu.features}, this_cpu(system),
                                   wanted.name, missing);
  return need;
}

// "nvidia GPU of architecture sm_90", with the parts that are required.
std::string words_for(const spec::Requirement::Gpu& gpu) {
  return (gpu.vendor.empty() ? "" : gpu.vendor + " ") + "GPU" +
         (gpu.arch.empty() ? "" : " of architecture " + gpu.arch);
}

std::string described(const system::Gpu& gpu) {
  return described({gpu.model.empty() ? gpu.vendor + " GPU" : gpu.model, gpu.arch,
                    gpu.driver.empty() ? "" : "driver " + gpu.driver},
                   gpu.evidence);
}

// A system description names a GPU by number alone (sm_100). It serves "sm_100a", and "sm_100f" of its
// family.
bool has_arch(const std::string& gpu, const std::string& wanted) {
  const Result<target::GpuArch> has = target::parse_gpu_arch(gpu), asked = target::parse_gpu_arch(wanted);
  if (!has || !asked || asked->features == target::GpuArch::Features::common)
    return gpu == wanted;
  return target::device_code_serves(*asked, *has);
}

// If no GPU meets the need, the closest one decides the message: one with another driver, then one of unknown
// architecture.
Need gpu_need(const spec::Requirement::Gpu& required, const SystemDescription& system) {
  const std::string words = words_for(required);
  Need need{Need::Kind::gpu, Need::From::host, words, false, {}, {}};
  if (!required.driver.empty())
    need.what += ", driver " + required.driver + " or later";
  if (system.gpus.empty() && required.or_cpu) {
    meet(need, "kernels on the CPU, because this system has no GPU");
    need.by_cpu = true;
    return need;
  }
  if (system.gpus.empty()) {
    need.lacks = "this system has no GPU; " + words + " is needed";
    return need;
  }
  const system::Gpu *other_driver = nullptr, *unknown = nullptr;
  std::vector<std::string> found;
  for (const system::Gpu& gpu : system.gpus) {
    if (system::is_cpu(gpu) && (required.vendor.empty() || required.vendor == "nvidia")) {
      meet(need, gpu.model + " (" + gpu.evidence + ")");
      return need;
    }
    found.push_back(gpu.vendor + (gpu.arch.empty() ? "" : " " + gpu.arch));
    if (!required.vendor.empty() && gpu.vendor != required.vendor)
      continue;
    if (!required.arch.empty() && !has_arch(gpu.arch, required.arch)) {
      if (gpu.arch.empty() && !unknown)
        unknown = &gpu;
      continue;
    }
    if (required.driver.empty() || (!gpu.driver.empty() && !version_less(gpu.driver, required.driver))) {
      meet(need, described(gpu));
      return need;
    }
    if (!other_driver)
      other_driver = &gpu;
  }
  if (other_driver) {
    need.found = described(*other_driver);
    need.lacks = other_driver->driver.empty()
                     ? "the driver version of the " + words + " is not known; "
                     : "the driver of the " + words + " is " + other_driver->driver + "; ";
    need.lacks += required.driver + " or later is needed";
  } else if (unknown) {
    need.found = described(*unknown);
    need.lacks =
        "the architecture of the " + unknown->vendor + " GPU is not known; " + required.arch + " is needed";
  } else {
    found.erase(std::unique(found.begin(), found.end()), found.end());
    need.lacks = "this system has no " + words + " (it has " + join(found, ", ") + ")";
  }
  return need;
}

Need mpi_need(const std::string& abi, const SystemDescription& system) {
  Need need{Need::Kind::mpi, Need::From::host, "an MPI with the ABI " + abi, false, {}, {}};
  std::vector<std::string> found;
  for (const system::Mpi& mpi : system.mpi) {
    if (mpi.abi == abi) {
      meet(need,
           described({mpi.implementation + (mpi.version.empty() ? "" : " " + mpi.version)}, mpi.libdir));
      return need;
    }
    found.push_back(mpi.abi);
  }
  need.lacks = found.empty()
                   ? "this system has no MPI; one with the ABI " + abi + " is needed"
                   : "no MPI of this system has the ABI " + abi + " (it has " + join(found, ", ") + ")";
  return need;
}

Need host_library(const spec::Requirement::Library& required, const SystemDescription& system) {
  Need need{Need::Kind::library, Need::From::host, "the library " + required.name, false, {}, {}};
  if (!required.version.empty())
    need.what += ", " + required.version + " or later";
  std::vector<std::string> versions;
  need.lacks = "this system has no library " + required.name;
  for (const system::Named& library : system.libraries) {
    if (library.name != required.name)
      continue;
    const std::string found =
        described({library.name + (library.version.empty() ? "" : " " + library.version)}, library.path);
    if (required.version.empty() ||
        (!library.version.empty() && !version_less(library.version, required.version))) {
      meet(need, found);
      return need;
    }
    if (need.found.empty())
      need.found = found;
    if (!library.version.empty())
      versions.push_back(library.version);
  }
  if (!need.found.empty())
    need.lacks =
        (versions.empty() ? "the version of the library " + required.name + " is not known; "
                          : "the library " + required.name + " has version " + join(versions, ", ") + "; ") +
        required.version + " or later is needed";
  return need;
}

Need image_library(const std::string& name, const std::map<std::string, std::string>& brought) {
  const auto file = brought.find(name);
  return {Need::Kind::library,
          Need::From::image,
          "the library " + name,
          true,
          file == brought.end() ? "" : file->second,
          ""};
}

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

} // namespace

const char* name_of(Need::Kind kind) {
  switch (kind) {
  case Need::Kind::cpu:
    return "cpu";
  case Need::Kind::gpu:
    return "gpu";
  case Need::Kind::mpi:
    return "mpi";
  case Need::Kind::library:
    break;
  }
  return "library";
}

const char* name_of(Need::From from) {
  return from == Need::From::host ? "host" : "image";
}

std::vector<Need> needs_of(const spec::Requirement& required, const SystemDescription& system,
                           const std::map<std::string, std::string>& brought) {
  std::vector<Need> needs;
  if (!required.cpu.empty())
    needs.push_back(cpu_need(required.cpu, system));
  if (required.gpu)
    needs.push_back(gpu_need(*required.gpu, system));
  if (!required.mpi.empty())
    needs.push_back(mpi_need(required.mpi, system));
  for (const spec::Requirement::Library& library : required.libraries)
    needs.push_back(library.from == Need::From::host ? host_library(library, system)
                                                     : image_library(library.name, brought));
  return needs;
}

std::vector<std::string> unmet(const spec::Requirement& required, const SystemDescription& system) {
  std::vector<std::string> reasons;
  for (const Need& need : needs_of(required, system))
    if (!need.met)
      reasons.push_back(need.lacks);
  return reasons;
}

std::vector<std::string> missing_features(const std::vector<spec::SpecializationPoint>& points,
                                          const SystemDescription& system) {
  std::vector<std::string> lines;
  for (const spec::SpecializationPoint& point : points)
    for (const spec::Value& value : point.values) {
      if (value.requires_.cpu.empty())
        continue;
      const Wanted wanted = wanted_of(value.requires_.cpu, system.arch);
      const std::vector<std::string> missing = target::missing_features(wanted.features, system.cpu.features);
      if (!missing.empty())
        lines.push_back(point.name + "=" + value.value + " needs " + join(missing, ", ") + ", which " +
                        this_cpu(system) + " lacks");
    }
  return lines;
}

Json to_json(const Need& need) {
  return Json{
      {"kind", name_of(need.kind)},   {"from", name_of(need.from)},  {"what", need.what}, {"met", need.met},
      {"found", or_null(need.found)}, {"lacks", or_null(need.lacks)}};
}

std::string text_of(const Need& need) {
  std::string text = need.what;
  if (!need.lacks.empty())
    text += ": " + need.lacks;
  if (!need.found.empty())
    text += (need.met ? ": " : "; found: ") + need.found;
  return text;
}

} // namespace xaas::select
