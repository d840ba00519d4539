// Problem: an image has device code for several architectures, none of which is a CPU's, and host code that
// registers an image of device code with CUDA's run-time library at start.
//
// Approach: of each source, the IR of the lowest architecture becomes an object with its kernels for the CPU
// (cpukernel/cpukernel.h). The lowest uses the fewest features of a GPU. In place of the device image, the
// host code gets a text that names the object's kernels. Every link that reads such host code, also through
// archives, reads the objects of all their kernels; and in place of CUDA's run-time library ours. Libraries
// of CUDA's that need a GPU are replaced by stand-ins (cpukernel/gpu_libraries.cpp), if that is wanted.
//
// Relocatable device code is linked first: the IR of all sources of a link becomes one object with kernels.
// The link also reads the object that registers the host's offload entries, as for a GPU (linking.cpp); in
// place of an image it has the text that names the kernels.
#include "cpu.h"
#include "amd.h"
#include "find_links.h"
#include "planning.h"

#include <xaas/cpukernel/gpu_libraries.h>
#include <xaas/device/code_object.h>
#include <xaas/device/fat_binary.h>
#include <xaas/device/kernel_forms.h>
#include <xaas/image/warning.h>
#include <xaas/ir/options.h>
#include <xaas/lower/device_link.h>
#include <xaas/target/gpu.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace xaas::device {

namespace {

// For messages.
std::string form_text(link::DeviceFile::Form form) {
  switch (form) {
  case link::DeviceFile::Form::ptx:
    return "PTX";
  case link::DeviceFile::Form::cubin:
    return "a cubin";
  case link::DeviceFile::Form::fatbin:
    return "a fat binary";
  default:
    return to_string(form);
  }
}

// The installed files that only CUDA's driver runs.
std::map<std::string, link::DeviceFile::Form>
files_of_driver(const image::BundleConfiguration& configuration) {
  using Form = link::DeviceFile::Form;
  std::map<std::string, Form> files;
  for (const link::InstalledFile& file : configuration.installed)
    if (file.device && (file.device->form == Form::ptx || file.device->form == Form::cubin ||
                        file.device->form == Form::fatbin))
      files[file.path] = file.device->form;
  return files;
}

// "libcuda.so (the CUDA driver), which needs a GPU; it may load /share/a.ptx (PTX)"
std::string need_of(const link::FileRef& file, const cpukernel::GpuLibrary& library,
                    const std::map<std::string, link::DeviceFile::Form>& files) {
  const std::string text = file.name + " (" + std::string(library.name) + "), which needs a GPU";
  if (!file.name.starts_with("libcuda.") || files.empty())
    return text;
  std::vector<std::string> names;
  for (const auto& [path, form] : files)
    names.push_back("/" + path + " (" + form_text(form) + ")");
  return text + "; with it, programs load kernels from files, such as " + image::few(std::move(names), 3);
}

// Notes the libraries that a link has and that need a GPU.
Result<void> plan_libraries(const Digest& digest, const link::LinkRecord& record, bool stand_ins,
                            DevicePlan& plan) {
  for (const link::LinkItem& item : record.items) {
    if (item.kind != link::LinkItem::Kind::input || item.file.kind != link::FileRef::Kind::kit)
      continue;
    const cpukernel::GpuLibrary* const library = cpukernel::find_gpu_library(item.file.name);
    if (!library)
      continue;
    const std::string need =
        record.name + " is linked with " + need_of(item.file, *library, plan.useless_files);
    if (record.kind == link::OutputKind::relocatable)
      return make_error(ErrorKind::unsatisfied, need + ", and is a relocatable object, which keeps its code",
                        "--gpu none deploys without code for GPUs");
    if (!stand_ins)
      return make_error(ErrorKind::unsatisfied, need,
                        "--force deploys all the same: its functions then say so when they are called, and "
                        "fail. --gpu none deploys without code for GPUs");
    plan.libraries[digest].insert(item.file);
  }
  return {};
}

// The code that a host unit has for NVIDIA's lowest architecture.
Result<std::pair<target::GpuArch, Digest>> lowest(const ir::Unit& host) {
  XAAS_TRY(const std::vector<target::GpuArch> archs, code_for(host.device, target::GpuArch::Vendor::nvidia));
  const target::GpuArch arch = *std::min_element(archs.begin(), archs.end());
  return std::pair(arch, host.device.at(to_string(arch)));
}

class KernelMaker {
public:
  KernelMaker(const DeviceInputs& inputs, DeviceCode& made)
      : inputs_(inputs), made_(made),
        form_(inputs.plan.checks_kernels ? lower::Form::checked_kernels : lower::Form::kernels) {}

  Result<void> run() {
    for (const auto& [record, hosts] : inputs_.plan.kernel_links)
      for (const Digest& host : hosts)
        add(record, {kernels_of(host), options_of(inputs_.plan.kernels.at(host))});
    for (const auto& [record, parts] : inputs_.plan.links)
      for (const DeviceLink& part : parts)
        if (KernelObject object = linked_kernels(inputs_.bundle, inputs_.plan, part); !object.linked.empty())
          add(record, std::move(object));
    XAAS_CHECK(fill_images());
    XAAS_CHECK(lower());
    report();
    return hand_over();
  }

private:
  // The device code of a host unit. Sources with equal device code have variables of their own, so the host
  // unit is part of it.
  ir::Unit kernels_of(const Digest& host) const {
    ir::Unit unit = inputs_.bundle.units.at(inputs_.plan.kernels.at(host));
    unit.device = {{ir::host_device, host}};
    return unit;
  }

  const ir::UnitOptions& options_of(const Digest& unit) const {
    return inputs_.bundle.options.at(inputs_.bundle.units.at(unit).options);
  }

  void add(const Digest& record, KernelObject object) {
    const Digest id = object.unit.id();
    wanted_[record].insert(id);
    objects_.emplace(id, std::move(object));
  }

  // What host units have in place of device images.
  Result<void> fill_images() {
    for (const Digest& host : inputs_.host_units) {
      if (inputs_.plan.kernels.contains(host)) {
        made_.images[host] = cpukernel::image_text(kernels_of(host).id().hex());
      } else {
        XAAS_TRY(made_.images[host],
                 is_for_amd(inputs_.bundle.units.at(host)) ? code_object_bundle({}) : fat_binary({}));
      }
    }
    return {};
  }

  Result<void> lower() {
    std::vector<const KernelObject*> missing;
    for (const auto& [id, object] : objects_) {
      std::optional<lower::Object> known;
      if (inputs_.cache)
        known = inputs_.cache->find(object.unit, object.options, inputs_.cpu, form_);
      if (!known) {
        missing.push_back(&object);
        continue;
      }
      lowered_[id] = *std::move(known);
      ++made_.cached;
    }
    inputs_.progress.start("lowering kernels for the CPU", missing.size());
    const auto job = [&](size_t i) {
      return kernel_job(*missing[i], inputs_.bundle, inputs_.contents, inputs_.cpu, form_);
    };
    const auto done = [&](size_t i, lower::Object object) -> Result<void> {
      const auto& [unit, options, linked] = *missing[i];
      if (inputs_.cache)
        inputs_.cache->keep(unit, options, inputs_.cpu, form_, object);
      ++made_.lowered;
      made_.links += !linked.empty();
      lowered_[unit.id()] = std::move(object);
      return {};
    };
    XAAS_CHECK(lower::lower_all(missing.size(), job, done, {.workers = inputs_.threads}, inputs_.progress));
    inputs_.progress.finish();
    return {};
  }

  // A source whose device code several programs link has the same kernels in all of them, or not, because
  // other sources differ.
  void report() {
    std::set<std::tuple<std::string, std::string, cpukernel::Form, std::string>> seen;
    for (const auto& [id, object] : lowered_)
      for (const cpukernel::Kernel& kernel : object.kernels) {
        const bool linked = !objects_.at(id).linked.empty();
        const std::string& source = linked ? kernel.source : objects_.at(id).unit.source;
        if (!linked || seen.emplace(source, kernel.name, kernel.form, kernel.reason).second)
          made_.kernels.push_back({source, kernel});
      }
  }

  Result<void> hand_over() {
    for (const auto& [record, ids] : wanted_)
      for (const Digest& id : ids) {
        std::vector<std::string>& objects = made_.objects[record];
        objects.push_back(lowered_.at(id).bytes);
        if (objects_.at(id).linked.empty())
          continue;
        XAAS_TRY(objects.emplace_back(),
                 lower::cuda_registration(cpukernel::image_text(id.hex()), inputs_.bundle.arch));
      }
    return {};
  }

  const DeviceInputs& inputs_;
  DeviceCode& made_;
  lower::Form form_;
  std::map<Digest, KernelObject> objects_;    // by the id of their unit
  std::map<Digest, std::set<Digest>> wanted_; // by record
  std::map<Digest, lower::Object> lowered_;
};

} // namespace

bool is_replaced(const DevicePlan& plan, const Digest& record, const link::FileRef& file) {
  if (!plan.on_cpu || file.kind != link::FileRef::Kind::kit)
    return false;
  const auto libraries = plan.libraries.find(record);
  return (plan.kernel_links.contains(record) && link::is_cuda_runtime(file.name)) ||
         (libraries != plan.libraries.end() && libraries->second.contains(file));
}

Result<void> plan_for_cpu(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const std::set<Digest>& host_units, const image::Usage& usage, bool stand_ins,
                          DevicePlan& plan) {
  if (!cpukernel::runs_on(bundle.arch))
    return make_error(ErrorKind::unsatisfied, "kernels have no form for CPUs of " + bundle.arch,
                      "--gpu none deploys without code for GPUs");
  plan.on_cpu = true;
  plan.gpus = {"cpu"};
  plan.useless_files = files_of_driver(configuration);
  for (const Digest& host : host_units) {
    const ir::Unit& unit = bundle.units.at(host);
    if (unit.offload == "openmp") // the host has code for its regions
      continue;
    XAAS_TRY(const auto code, lowest(unit));
    plan.kernels[host] = code.second;
    plan.architecture = std::max(plan.architecture, code.first.major * 100 + code.first.minor * 10);
    const auto& options = bundle.options.at(bundle.units.at(code.second).options).gpu;
    if (const auto version = options.find(ir::cuda_version); version != options.end())
      plan.cuda_release = std::max(plan.cuda_release, static_cast<unsigned>(version->second));
  }
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    XAAS_CHECK(plan_libraries(digest, record, stand_ins, plan));
    const bool has_runtime =
        std::any_of(record.items.begin(), record.items.end(), [](const link::LinkItem& item) {
          return item.kind == link::LinkItem::Kind::input && item.file.kind == link::FileRef::Kind::kit &&
                 link::is_cuda_runtime(item.file.name);
        });
    if (record.kind == link::OutputKind::relocatable)
      continue;
    std::vector<Digest> kernels;
    bool has_linked = false;
    for (const Digest& unit : units_of_link(bundle, record)) {
      if (!plan.kernels.contains(unit))
        continue;
      if (bundle.units.at(unit).offload == "cuda")
        has_linked = true;
      else
        kernels.push_back(unit);
    }
    if (has_runtime || has_linked || !kernels.empty())
      plan.kernel_links[digest] = std::move(kernels);
  }
  return {};
}

Result<void> make_kernels(const DeviceInputs& inputs, DeviceCode& made) {
  return KernelMaker(inputs, made).run();
}

namespace {

Result<std::string> object_of(std::string bitcode, const std::string& name, const target::Cpu& cpu) {
  lower::Job job;
  job.bitcode = std::move(bitcode);
  job.unit.source = name;
  job.unit.module = digest_of(job.bitcode);
  job.options.text["triple"] = target::triple(cpu.arch);
  job.options.codegen["OptimizationLevel"] = 2;
  job.options.codegen["UseInitArray"] = 1; // of destructors, too
  job.target = cpu;
  XAAS_TRY(lower::Object object, lower::lower(job));
  return std::move(object.bytes);
}

} // namespace

Result<std::string> cuda_runtime(const DevicePlan& plan, const target::Cpu& cpu,
                                 const std::set<std::string>& functions) {
  XAAS_TRY(std::string bitcode, cpukernel::runtime_library(cpu.arch, plan.cuda_release, plan.architecture,
                                                           functions, plan.checks_kernels));
  return object_of(std::move(bitcode), "xaas-cuda-runtime", cpu);
}

Result<std::string> stand_ins(const std::string& library, const target::Cpu& cpu,
                              const std::set<std::string>& functions, const std::set<std::string>& defined) {
  const cpukernel::GpuLibrary* const known = cpukernel::find_gpu_library(library);
  if (!known)
    return make_error(ErrorKind::failed, library + " is not a library that needs a GPU");
  XAAS_TRY(std::string bitcode, cpukernel::stand_ins(cpu.arch, *known, functions, defined));
  return object_of(std::move(bitcode), "xaas-" + library, cpu);
}

} // namespace xaas::device
