// What a requirement lacks on a system.
#include <xaas/base/text.h>
#include <xaas/select/select.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>

namespace xaas::select {
namespace {

using system::SystemDescription;

// The number at the start of a version's component, without leading zeros; "" for zero and for no number.
std::string leading_number(const std::string& component) {
  size_t begin = 0;
  while (begin < component.size() && component[begin] == '0')
    ++begin;
  size_t end = begin;
  while (end < component.size() && std::isdigit(static_cast<unsigned char>(component[end])))
    ++end;
  return component.substr(begin, end - begin);
}

// Compares numerically per dotted component ("3.10" is later than "3.9", "1" equals "1.0").
bool older(const std::string& version, const std::string& wanted) {
  const std::vector<std::string> a = split(version, '.'), b = split(wanted, '.');
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? leading_number(a[i]) : "";
    const std::string right = i < b.size() ? leading_number(b[i]) : "";
    if (left.size() != right.size())
      return left.size() < right.size();
    if (left != right)
      return left < right;
  }
  return false;
}

std::string this_cpu(const SystemDescription& system) {
  return "this CPU (" + (system.cpu.name.empty() ? system.arch : system.cpu.name) + ")";
}

std::string unmet_cpu(const std::vector<std::string>& required, const SystemDescription& system) {
  if (required.empty())
    return {};
  std::vector<std::string> features = required;
  std::string level;
  if (required.size() == 1 && !target::is_feature(system.arch, required[0])) {
    const auto known = target::features_of(system.arch, required[0]);
    if (!known)
      return this_cpu(system) + " is " + system.arch + " and lacks " + required[0];
    features = *known;
    level = " of " + required[0];
  }
  const std::vector<std::string> missing = target::missing_features(features, system.cpu.features);
  return missing.empty() ? "" : this_cpu(system) + " lacks " + join(missing, ", ") + level;
}

// "nvidia GPU of architecture sm_90", as far as it is asked for.
std::string words_for(const spec::Requirement::Gpu& gpu) {
  return (gpu.vendor.empty() ? "" : gpu.vendor + " ") + "GPU" +
         (gpu.arch.empty() ? "" : " of architecture " + gpu.arch);
}

std::string unmet_gpu(const spec::Requirement::Gpu& required, const SystemDescription& system) {
  if (system.gpus.empty())
    return "this system has no GPU; " + words_for(required) + " is needed";
  std::vector<std::string> found, drivers;
  for (const system::Gpu& gpu : system.gpus) {
    found.push_back(gpu.vendor + (gpu.arch.empty() ? "" : " " + gpu.arch));
    if ((!required.vendor.empty() && gpu.vendor != required.vendor) ||
        (!required.arch.empty() && gpu.arch != required.arch))
      continue;
    if (required.driver.empty() || (!gpu.driver.empty() && !older(gpu.driver, required.driver)))
      return {};
    drivers.push_back(gpu.driver);
  }
  if (drivers.empty()) {
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return "this system has no " + words_for(required) + " (it has " + join(found, ", ") + ")";
  }
  if (drivers[0].empty())
    return "the driver version of the " + words_for(required) + " is not known; " + required.driver +
           " or later is needed";
  return "the driver of the " + words_for(required) + " is " + drivers[0] + "; " + required.driver +
         " or later is needed";
}

std::string unmet_mpi(const std::string& abi, const SystemDescription& system) {
  std::vector<std::string> found;
  for (const system::Mpi& mpi : system.mpi) {
    if (mpi.abi == abi)
      return {};
    found.push_back(mpi.abi);
  }
  if (found.empty())
    return "this system has no MPI; one with the ABI " + abi + " is needed";
  return "no MPI of this system has the ABI " + abi + " (it has " + join(found, ", ") + ")";
}

std::string unmet_library(const spec::Requirement::Library& required, const SystemDescription& system) {
  std::vector<std::string> versions;
  bool there = false;
  for (const system::Named& library : system.libraries) {
    if (library.name != required.name)
      continue;
    there = true;
    if (required.version.empty() || (!library.version.empty() && !older(library.version, required.version)))
      return {};
    if (!library.version.empty())
      versions.push_back(library.version);
  }
  if (!there)
    return "this system has no library " + required.name;
  if (versions.empty())
    return "the version of the library " + required.name + " is not known; " + required.version +
           " or later is needed";
  return "the library " + required.name + " has version " + join(versions, ", ") + "; " + required.version +
         " or later is needed";
}

} // namespace

std::vector<std::string> unmet(const spec::Requirement& required, const SystemDescription& system) {
  std::vector<std::string> reasons = {unmet_cpu(required.cpu, system)};
  if (required.gpu)
    reasons.push_back(unmet_gpu(*required.gpu, system));
  if (!required.mpi.empty())
    reasons.push_back(unmet_mpi(required.mpi, system));
  for (const spec::Requirement::Library& library : required.libraries)
    reasons.push_back(unmet_library(library, system));
  std::erase(reasons, "");
  return reasons;
}

} // namespace xaas::select
