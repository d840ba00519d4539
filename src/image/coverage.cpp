#include <xaas/image/application_image.h>
#include <xaas/image/coverage.h>
#include <xaas/image/warning.h>

#include <algorithm>
#include <tuple>

namespace xaas::image {

namespace {

using FileKind = link::InstalledFile::Kind;
using Modules = std::set<Digest>;

std::string installed_reason(const link::InstalledFile& file) {
  if (!file.device)
    return "installed machine code that no captured compile or link made";
  return file.device->reason.empty()
             ? "installed device code (" + to_string(file.device->form) + ") that no captured compile made"
             : file.device->reason;
}

bool asks_for_native(const ir::MachineFlags& machine) {
  return machine.cpu == "native" || machine.tune == "native";
}

void count(const ir::MachineFlags& machine, MachineFlagCounts& counts) {
  counts.open += machine.cpu.empty();
  counts.native += asks_for_native(machine);
  counts.fixed += !machine.cpu.empty() && machine.cpu != "native";
  counts.features += !machine.features.empty();
}

// A configuration without its values that choose an instruction set.
spec::Configuration without_cpu_points(const Bundle& bundle, const spec::Configuration& configuration) {
  std::map<std::string, std::string> values = configuration.values();
  for (const spec::SpecializationPoint& point : bundle.points)
    if (point.category == "cpu")
      values.erase(point.name);
  return spec::Configuration(std::move(values));
}

class Survey {
public:
  explicit Survey(const Bundle& bundle) : bundle_(bundle) {}

  Result<Coverage> run() {
    for (const BundleConfiguration& configuration : bundle_.configurations)
      XAAS_CHECK(add(configuration));
    std::set<Digest> modules;
    for (const auto& [id, unit] : bundle_.units)
      modules.insert(unit.module);
    coverage_.modules = modules.size();
    coverage_.prepared = bundle_.prepared.size();
    for (const auto& [digest, bytes] : bundle_.modules)
      coverage_.module_bytes += bytes;
    for (const auto& [digest, file] : bundle_.kit)
      add_kit(file, coverage_.kit);
    for (const auto& [id, unit] : bundle_.units)
      sources_.insert(unit.source);
    coverage_.sources = sources_.size();
    list_machine_sources();
    list_natives();
    find_sensitive();
    return std::move(coverage_);
  }

private:
  static void add_kit(const KitFile& file, KitSize& size) {
    size.files += 1;
    size.bytes += file.size;
  }

  Result<void> add(const BundleConfiguration& configuration) {
    XAAS_TRY(const Usage usage, usage_of(bundle_, configuration));
    ConfigurationCoverage each;
    each.id = configuration.configuration.id();
    each.units = usage.units.size();
    each.native_objects = usage.native_objects;
    each.programs = usage.programs;
    coverage_.unoptimized.merge(unoptimized_sources(bundle_, configuration, usage));
    std::map<std::string, Modules> by_source;
    std::set<Digest> modules;
    for (const Digest& id : usage.units) {
      const ir::Unit& unit = bundle_.units.at(id);
      count(unit.machine, each.machine);
      count(unit.machine, coverage_.machine);
      coverage_.unit_bytes += bundle_.modules.at(stored_module(bundle_, id));
      by_source[unit.source].insert(unit.module);
    }
    for (const std::set<Digest>* units : {&usage.units, &usage.device_units})
      for (const Digest& id : *units)
        modules.insert(bundle_.units.at(id).module);
    each.modules = modules.size();
    for (const Digest& id : usage.units)
      for (const auto& [arch, device] : bundle_.units.at(id).device)
        add_device_unit(arch, device, each);
    for (const link::InstalledFile& file : configuration.installed)
      if (file.device)
        for (const auto& [arch, device] : file.device->units)
          add_device_unit(arch, device, each);
    each.units += each.device_units;
    coverage_.units += each.units;
    coverage_.device_units += each.device_units;
    for (const Digest& digest : usage.kit) {
      const KitFile& file = bundle_.kit.at(digest);
      add_kit(file, each.kit);
      if (file.native)
        native_inputs_[digest].insert(each.id);
    }
    for (const link::InstalledFile& file : configuration.installed) {
      if (file.kind == FileKind::file && file.native)
        native_installed_[{"/" + file.path, installed_reason(file)}].insert(each.id);
      if (file.device)
        coverage_.device_files[described(file)].insert(each.id);
    }
    variants_[without_cpu_points(bundle_, configuration.configuration)].push_back(std::move(by_source));
    coverage_.configurations.push_back(std::move(each));
    return {};
  }

  static InstalledDeviceFile described(const link::InstalledFile& file) {
    InstalledDeviceFile result{"/" + file.path, file.device->form, {}};
    for (const auto& [arch, unit] : file.device->units)
      result.archs.insert(arch);
    return result;
  }

  // A source is compiled once for each architecture.
  void add_device_unit(const std::string& arch, const Digest& unit, ConfigurationCoverage& each) {
    ++each.device_units;
    if (arch != ir::host_device)
      coverage_.gpus.insert(arch);
    coverage_.unit_bytes += bundle_.modules.at(stored_module(bundle_, unit));
  }

  void list_machine_sources() {
    auto key = [](const MachineFlagSource& each) {
      return std::tie(each.source, each.machine.cpu, each.machine.tune, each.machine.features);
    };
    std::vector<MachineFlagSource>& list = coverage_.machine_sources;
    for (const auto& [id, unit] : bundle_.units)
      if (unit.machine != ir::MachineFlags{})
        list.push_back({unit.source, unit.machine});
    std::sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    list.erase(
        std::unique(list.begin(), list.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
        list.end());
  }

  void list_natives() {
    for (const auto& [digest, users] : native_inputs_) {
      const KitFile& file = bundle_.kit.at(digest);
      coverage_.native_objects.push_back({file.name, file.reason, file.size, users});
    }
    for (const auto& [file, users] : native_installed_)
      coverage_.native_objects.push_back({file.first, file.second, std::nullopt, users});
    std::sort(coverage_.native_objects.begin(), coverage_.native_objects.end(),
              [](const NativeObject& a, const NativeObject& b) {
                return std::tie(a.name, a.reason, a.configurations) <
                       std::tie(b.name, b.reason, b.configurations);
              });
  }

  // A source that only one of two configurations compiles is a choice of the build, not different IR.
  void find_sensitive() {
    for (const auto& [rest, variants] : variants_) {
      if (variants.size() < 2)
        continue;
      if (!coverage_.sensitive)
        coverage_.sensitive.emplace();
      std::map<std::string, const Modules*> first;
      for (const auto& by_source : variants)
        for (const auto& [source, modules] : by_source)
          if (*first.emplace(source, &modules).first->second != modules)
            coverage_.sensitive->insert(source);
    }
  }

  const Bundle& bundle_;
  Coverage coverage_;
  std::set<std::string> sources_;
  std::map<Digest, std::set<std::string>> native_inputs_; // with the configurations that read them
  std::map<std::pair<std::string, std::string>, std::set<std::string>> native_installed_; // by path, reason
  std::map<spec::Configuration, std::vector<std::map<std::string, Modules>>> variants_;
};

} // namespace

Result<Coverage> coverage_of(const Bundle& bundle) {
  return Survey(bundle).run();
}

Transfer transfer_of(const oci::Image& image, const std::string& configuration) {
  Transfer transfer;
  const std::vector<oci::Descriptor>& layers = image.manifest().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::vector<std::string> users = layer_configurations(layers[i]);
    const bool base = layer_role(layers[i]) == "base";
    if (!base && std::find(users.begin(), users.end(), configuration) == users.end())
      continue;
    transfer.layers.push_back(i);
    transfer.bytes += layers[i].size;
    if (base || users.size() > 1)
      transfer.shared_bytes += layers[i].size;
  }
  return transfer;
}

} // namespace xaas::image
