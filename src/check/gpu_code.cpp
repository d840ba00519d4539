#include "gpu_code.h"

#include <xaas/device/drivers.h>
#include <xaas/target/gpu.h>

#include <map>
#include <optional>

namespace xaas::check {

namespace {

struct Device {
  target::GpuArch arch;
  std::optional<device::DriverVersion> driver;
};

// Nothing, or the reason why the driver does not accept code that the GPU could run.
Result<void> check_driver(const image::GpuCode& code, const device::DriverVersion& driver) {
  if (!code.runtime.empty()) {
    XAAS_TRY(const device::CudaRelease release, device::parse_cuda_release(code.runtime));
    XAAS_CHECK(device::check_runtime(release, driver));
  }
  if (!code.assembler.empty()) {
    XAAS_TRY(const device::CudaRelease toolkit, device::parse_cuda_release(code.assembler));
    return device::check_driver(toolkit, driver);
  }
  XAAS_TRY(const device::PtxVersion newest, device::newest_ptx(driver));
  XAAS_TRY(const device::CudaRelease written, device::parse_cuda_release(code.ptx)); // the same form
  if (device::PtxVersion{written.major, written.minor} <= newest)
    return {};
  return make_error(ErrorKind::unsatisfied, "driver " + device::to_string(driver) + " takes PTX up to " +
                                                device::to_string(newest) + ", and the image has " +
                                                code.ptx);
}

// Of the code in programs and fat binaries one must serve the device; code that is alone in a file must.
std::vector<std::vector<image::GpuCode>> alternatives_of(const std::vector<image::GpuCode>& code) {
  std::vector<image::GpuCode> together;
  std::map<std::string, image::GpuCode> alone; // by file form; the same code may be for several GPUs
  for (const image::GpuCode& each : code)
    if (each.in_file)
      alone.emplace(each.arch + " " + each.ptx + " " + each.assembler, each);
    else
      together.push_back(each);
  std::vector<std::vector<image::GpuCode>> all;
  if (!together.empty())
    all.push_back(std::move(together));
  for (auto& [name, each] : alone)
    all.push_back({std::move(each)});
  return all;
}

// Nothing: one of the codes serves the device.
Result<std::optional<std::string>> obstacle(const std::vector<image::GpuCode>& codes, const Device& device) {
  std::string why;
  for (const image::GpuCode& code : codes) {
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(code.arch));
    const bool serves = code.assembler.empty() && code.code_object.empty()
                            ? target::device_code_serves(arch, device.arch)
                            : target::machine_code_runs(arch, device.arch);
    if (!serves)
      continue;
    const Result<void> driver = device.driver ? check_driver(code, *device.driver) : Result<void>();
    if (driver)
      return std::optional<std::string>();
    if (driver.error().kind != ErrorKind::unsatisfied)
      return driver.error();
    why = driver.error().message;
  }
  if (!why.empty())
    return std::optional(why);
  std::string had;
  for (const image::GpuCode& code : codes) // of the same vendor
    had += (had.empty() ? "" : "; ") + describe(code);
  return std::optional("nothing in the image runs on a GPU " + to_string(device.arch) + ": it has " + had);
}

} // namespace

Result<GpuFindings> check_gpu_code(const std::vector<image::GpuCode>& code,
                                   const std::vector<system::Gpu>& gpus) {
  GpuFindings findings;
  if (code.empty())
    return findings;
  std::map<std::string, std::vector<image::GpuCode>> by_vendor;
  for (const image::GpuCode& each : code)
    by_vendor[each.code_object.empty() ? "nvidia" : "amd"].push_back(each);
  bool any = false;
  for (const system::Gpu& gpu : gpus) {
    const auto own = by_vendor.find(gpu.vendor);
    if (own == by_vendor.end())
      continue;
    any = true;
    if (gpu.arch.empty()) {
      findings.unknown.push_back("whether the image has code for the GPU " +
                                 (gpu.model.empty() ? "of " + gpu.vendor : gpu.model) +
                                 ": the description has no `arch` of it");
      continue;
    }
    Device device;
    XAAS_TRY(device.arch, target::parse_gpu_arch(gpu.arch.substr(0, gpu.arch.find(':'))));
    if (gpu.vendor == "nvidia" && gpu.driver.empty()) {
      findings.unknown.push_back("whether the driver of the GPU " + gpu.arch +
                                 " takes the image's code: the description has no `driver`");
    } else if (gpu.vendor == "nvidia") {
      XAAS_TRY(device.driver,
               device::parse_driver_version(gpu.driver).in("driver of the system's " + gpu.arch));
    }
    for (const std::vector<image::GpuCode>& alternatives : alternatives_of(own->second)) {
      XAAS_TRY(const std::optional<std::string> why, obstacle(alternatives, device));
      if (why)
        findings.problems.push_back(*why);
    }
  }
  if (!any)
    findings.problems.push_back(std::string("it was deployed for ") +
                                (by_vendor.size() > 1           ? "NVIDIA and AMD"
                                 : by_vendor.contains("nvidia") ? "NVIDIA"
                                                                : "AMD") +
                                " GPUs, and this system has none");
  return findings;
}

} // namespace xaas::check
