#include <xaas/device/drivers.h>

#include <xaas/base/text.h>
#include <xaas/base/version.h>

#include <algorithm>
#include <optional>

namespace xaas::device {

namespace {

using target::GpuArch;
using Features = GpuArch::Features;

// The first driver for a version of PTX is given as a branch ("driver r470"): all drivers of the branch
// accept it.
struct PtxDriver {
  unsigned branch;
  PtxVersion ptx;
};
constexpr PtxDriver ptx_drivers[] = {
    {445, {7, 0}}, {455, {7, 1}}, {460, {7, 2}}, {465, {7, 3}}, {470, {7, 4}}, {495, {7, 5}}, {510, {7, 6}},
    {515, {7, 7}}, {520, {7, 8}}, {525, {8, 0}}, {530, {8, 1}}, {535, {8, 2}}, {545, {8, 3}}, {550, {8, 4}},
    {555, {8, 5}}, {565, {8, 6}}, {570, {8, 7}}, {575, {8, 8}}, {580, {9, 0}}, {590, {9, 1}}, {595, {9, 2}},
};

// This driver runs the machine code of every release of a toolkit generation.
struct Generation {
  unsigned major;
  DriverVersion driver;
};
constexpr Generation generations[] = {
    {11, {{450, 80, 2}}},  // 11.0 came with an older one
    {12, {{525, 60, 13}}}, // that of 12.0
    {13, {{580, 65, 6}}},  // that of 13.0
};

struct FirstPtx {
  unsigned number; // of the architecture
  PtxVersion common, family, specific;
};
constexpr FirstPtx first_versions[] = {
    {50, {4, 0}, {}, {}},          {52, {4, 1}, {}, {}},          {53, {4, 2}, {}, {}},
    {60, {5, 0}, {}, {}},          {61, {5, 0}, {}, {}},          {62, {5, 0}, {}, {}},
    {70, {6, 0}, {}, {}},          {72, {6, 1}, {}, {}},          {75, {6, 3}, {}, {}},
    {80, {7, 0}, {}, {}},          {86, {7, 1}, {}, {}},          {87, {7, 4}, {}, {}},
    {88, {9, 0}, {}, {}},          {89, {7, 8}, {}, {}},          {90, {7, 8}, {}, {8, 0}},
    {100, {8, 6}, {8, 8}, {8, 6}}, {101, {8, 6}, {8, 8}, {8, 6}}, {103, {8, 8}, {8, 8}, {8, 8}},
    {110, {9, 0}, {9, 0}, {9, 0}}, {120, {8, 7}, {8, 8}, {8, 7}}, {121, {8, 8}, {8, 8}, {8, 8}},
};

unsigned number_of(const GpuArch& arch) {
  return arch.major * 10 + arch.minor;
}

std::string listed(const std::vector<GpuArch>& archs) {
  std::vector<std::string> names;
  std::transform(archs.begin(), archs.end(), std::back_inserter(names),
                 [](const GpuArch& arch) { return target::to_string(arch); });
  return names.empty() ? "none" : join(names, ", ");
}

// The first branch whose drivers accept a version of PTX.
std::string drivers_for(const PtxVersion& version) {
  const auto* const found = std::find_if(std::begin(ptx_drivers), std::end(ptx_drivers),
                                         [&](const PtxDriver& each) { return each.ptx >= version; });
  return std::to_string(found->branch);
}

Result<GpuArch> highest(const std::vector<GpuArch>& archs, Error none) {
  if (archs.empty())
    return none;
  return *std::max_element(archs.begin(), archs.end());
}

} // namespace

std::string to_string(const CudaRelease& release) {
  return std::to_string(release.major) + "." + std::to_string(release.minor);
}

std::string to_string(const PtxVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

// The last part has two digits.
std::string to_string(const DriverVersion& driver) {
  const auto two_digits = [](unsigned part) { return (part < 10 ? ".0" : ".") + std::to_string(part); };
  return std::to_string(driver.parts[0]) + two_digits(driver.parts[1]) +
         (driver.parts[2] ? two_digits(driver.parts[2]) : "");
}

std::string feature(const PtxVersion& version) {
  return "ptx" + std::to_string(version.major) + std::to_string(version.minor);
}

Result<CudaRelease> parse_cuda_release(const std::string& text) {
  const std::optional<std::vector<unsigned>> numbers = version_numbers(text, 2, 3);
  if (!numbers)
    return make_error(ErrorKind::usage, "\"" + printable(text) + "\" is not a CUDA release",
                      "it is written as 12.4 or 12.4.99");
  return CudaRelease{(*numbers)[0], (*numbers)[1]};
}

// The newest driver of a branch in the table, or version 0 of a branch that is not in it.
static DriverVersion driver_of_branch(unsigned branch) {
  DriverVersion driver{{branch, 0, 0}};
  for (const ReleaseFacts& facts : cuda_releases())
    if (facts.driver.parts[0] == branch)
      driver = std::max(driver, facts.driver);
  return driver;
}

Result<DriverVersion> parse_driver_version(const std::string& text) {
  const std::optional<std::vector<unsigned>> numbers = version_numbers(text, 1, 3);
  if (!numbers)
    return make_error(ErrorKind::usage, "\"" + printable(text) + "\" is not a version of an NVIDIA driver",
                      "it is written as 550.54.14");
  if (numbers->size() == 1)
    return driver_of_branch(numbers->front());
  DriverVersion driver;
  std::copy(numbers->begin(), numbers->end(), driver.parts.begin());
  return driver;
}

const std::vector<ReleaseFacts>& cuda_releases() {
  static const std::vector<ReleaseFacts> releases = {
      {{11, 0}, {{450, 51, 5}}, {7, 0}}, {{11, 1}, {{455, 23, 0}}, {7, 1}},
      {{11, 2}, {{460, 27, 3}}, {7, 2}}, {{11, 3}, {{465, 19, 1}}, {7, 3}},
      {{11, 4}, {{470, 42, 1}}, {7, 4}}, {{11, 5}, {{495, 29, 5}}, {7, 5}},
      {{11, 6}, {{510, 39, 1}}, {7, 6}}, {{11, 7}, {{515, 43, 4}}, {7, 7}},
      {{11, 8}, {{520, 61, 5}}, {7, 8}}, {{12, 0}, {{525, 60, 13}}, {8, 0}},
      {{12, 1}, {{530, 30, 2}}, {8, 1}}, {{12, 2}, {{535, 54, 3}}, {8, 2}},
      {{12, 3}, {{545, 23, 6}}, {8, 3}}, {{12, 4}, {{550, 54, 14}}, {8, 4}},
      {{12, 5}, {{555, 42, 2}}, {8, 5}}, {{12, 6}, {{560, 28, 3}}, {8, 5}},
      {{12, 8}, {{570, 26, 0}}, {8, 7}}, {{12, 9}, {{575, 51, 3}}, {8, 8}},
      {{13, 0}, {{580, 65, 6}}, {9, 0}}, {{13, 1}, {{590, 44, 1}}, {9, 1}},
      {{13, 2}, {{595, 45, 4}}, {9, 2}},
  };
  return releases;
}

Result<PtxVersion> newest_ptx(const DriverVersion& driver) {
  std::optional<PtxVersion> newest;
  for (const PtxDriver& each : ptx_drivers)
    if (driver.parts[0] >= each.branch)
      newest = each.ptx;
  if (!newest)
    return make_error(ErrorKind::unsatisfied,
                      "NVIDIA driver " + to_string(driver) + " is older than those of CUDA 11.0",
                      "install driver " + to_string(cuda_releases().front().driver) + " or later");
  return *newest;
}

Result<PtxVersion> first_ptx(const GpuArch& arch) {
  const auto* const found =
      std::find_if(std::begin(first_versions), std::end(first_versions),
                   [&](const FirstPtx& each) { return each.number == number_of(arch); });
  PtxVersion version;
  if (arch.vendor == GpuArch::Vendor::nvidia && found != std::end(first_versions))
    version = arch.features == Features::common   ? found->common
              : arch.features == Features::family ? found->family
                                                  : found->specific;
  if (version == PtxVersion())
    return make_error(ErrorKind::usage, "PTX has no architecture " + target::to_string(arch));
  return version;
}

Result<PtxVersion> ptx_version_for(const GpuArch& arch, const DriverVersion& driver) {
  XAAS_TRY(const PtxVersion first, first_ptx(arch));
  XAAS_TRY(const PtxVersion newest, newest_ptx(driver));
  if (newest < first)
    return make_error(ErrorKind::unsatisfied,
                      "PTX for " + target::to_string(arch) + " is of version " + to_string(first) +
                          " or later; NVIDIA driver " + to_string(driver) + " takes up to " +
                          to_string(newest),
                      "install driver " + drivers_for(first) + " or later");
  return newest;
}

PtxVersion newest_ptx(const CudaRelease& toolkit) {
  PtxVersion newest;
  for (const ReleaseFacts& facts : cuda_releases())
    if (facts.release <= toolkit)
      newest = std::max(newest, facts.ptx);
  return newest;
}

bool assembles(const CudaRelease& toolkit, const GpuArch& arch) {
  const bool dropped = toolkit.major >= 13 && std::pair(arch.major, arch.minor) < std::pair(7u, 5u);
  const Result<PtxVersion> first = first_ptx(arch);
  return !dropped && first && *first <= newest_ptx(toolkit);
}

// The first driver that accepts machine code and the run-time library of a release.
static Result<DriverVersion> needed_driver(const CudaRelease& release) {
  const auto* const generation =
      std::find_if(std::begin(generations), std::end(generations),
                   [&](const Generation& each) { return each.major == release.major; });
  if (generation == std::end(generations))
    return make_error(ErrorKind::usage, "which drivers CUDA " + to_string(release) + " needs is not known",
                      "known are CUDA 11, 12 and 13");
  const std::vector<ReleaseFacts>& releases = cuda_releases();
  const auto own = std::find_if(releases.begin(), releases.end(),
                                [&](const ReleaseFacts& each) { return each.release == release; });
  return own == releases.end() ? generation->driver : std::min(own->driver, generation->driver);
}

// The releases of older generations that the driver accepts.
static std::string older_releases(const CudaRelease& release, const DriverVersion& driver,
                                  const std::string& words) {
  std::string hint;
  for (const Generation& older : generations)
    if (older.major < release.major && driver >= older.driver)
      hint += "; or " + words + " CUDA " + std::to_string(older.major);
  return hint;
}

Result<void> check_driver(const CudaRelease& toolkit, const DriverVersion& driver) {
  XAAS_TRY(const DriverVersion needed, needed_driver(toolkit));
  if (driver >= needed)
    return {};
  std::string hint = "install driver " + to_string(needed) + " or later" +
                     older_releases(toolkit, driver, "assemble with a ptxas of");
  if (const Result<PtxVersion> ptx = newest_ptx(driver))
    hint += "; or let PTX of version " + to_string(*ptx) + " or older serve, which the driver assembles";
  return make_error(ErrorKind::unsatisfied,
                    "machine code of CUDA " + to_string(toolkit) + " needs NVIDIA driver " +
                        to_string(needed) + " or later; this is " + to_string(driver),
                    hint);
}

Result<void> check_runtime(const CudaRelease& release, const DriverVersion& driver) {
  XAAS_TRY(const DriverVersion needed, needed_driver(release));
  if (driver >= needed)
    return {};
  return make_error(ErrorKind::unsatisfied,
                    "the run-time library of CUDA " + to_string(release) + " needs NVIDIA driver " +
                        to_string(needed) + " or later; this is " + to_string(driver),
                    "install driver " + to_string(needed) + " or later" +
                        older_releases(release, driver, "build the image with"));
}

Result<GpuArch> best_device_code(const std::vector<GpuArch>& code, const GpuArch& device) {
  std::vector<GpuArch> serving;
  std::copy_if(code.begin(), code.end(), std::back_inserter(serving),
               [&](const GpuArch& each) { return device_code_serves(each, device); });
  return highest(serving, make_error(ErrorKind::unsatisfied, "no device code serves a GPU " +
                                                                 target::to_string(device) +
                                                                 "; there is code for " + listed(code)));
}

Result<GpuArch> best_target(const GpuArch& ir, const GpuArch& device, const std::vector<GpuArch>& targets) {
  std::vector<GpuArch> possible;
  std::copy_if(targets.begin(), targets.end(), std::back_inserter(possible), [&](const GpuArch& each) {
    return each.features == ir.features && device_code_serves(ir, each) && machine_code_runs(each, device);
  });
  return highest(possible, make_error(ErrorKind::unsatisfied,
                                      "machine code for a GPU " + target::to_string(device) +
                                          " cannot be made of device code for " + target::to_string(ir) +
                                          "; the tools know " + listed(targets)));
}

} // namespace xaas::device
