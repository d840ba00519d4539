#include <xaas/base/text.h>
#include <xaas/target/gpu.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/TargetParser/TargetParser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace xaas::target {
namespace {

using Features = GpuArch::Features;

// LLVM's target parser has no list of NVIDIA's architectures, and querying its back end would require linking
// it. A test compares this list with clang's.
struct NvidiaGpu {
  unsigned number;
  bool family, specific;
};
constexpr NvidiaGpu nvidia[] = {
    {50, false, false}, {52, false, false}, {53, false, false}, {60, false, false}, {61, false, false},
    {62, false, false}, {70, false, false}, {72, false, false}, {75, false, false}, {80, false, false},
    {86, false, false}, {87, false, false}, {88, false, false}, {89, false, false}, {90, false, true},
    {100, true, true},  {101, true, true},  {103, true, true},  {110, true, true},  {120, true, true},
    {121, true, true},
};

// A decimal number without sign, leading zero or trailing text.
std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.size() > 4 || text[0] == '0' || error != std::errc() ||
      end != text.data() + text.size())
    return std::nullopt;
  return value;
}

GpuArch nvidia_arch(unsigned number, Features features) {
  return {GpuArch::Vendor::nvidia, number / 10, number % 10, 0, features};
}

// "90a": the last digit is the minor version.
std::optional<GpuArch> parse_nvidia(std::string_view text) {
  Features features = Features::common;
  if (text.ends_with('a') || text.ends_with('f')) {
    features = text.back() == 'a' ? Features::specific : Features::family;
    text.remove_suffix(1);
  }
  const std::optional<unsigned> value = number(text);
  if (!value || *value < 10)
    return std::nullopt;
  return nvidia_arch(*value, features);
}

// "90a", "1030": the last two digits are minor version and stepping, in hexadecimal.
std::optional<GpuArch> parse_amd(std::string_view text) {
  const auto digit = [](char c) {
    return is_digit(c) ? std::optional<unsigned>(c - '0')
                       : (c >= 'a' && c <= 'f' ? std::optional<unsigned>(c - 'a' + 10) : std::nullopt);
  };
  if (text.size() < 3)
    return std::nullopt;
  const std::optional<unsigned> major = number(text.substr(0, text.size() - 2)),
                                minor = digit(text[text.size() - 2]), stepping = digit(text.back());
  if (!major || !minor || !stepping)
    return std::nullopt;
  return GpuArch{GpuArch::Vendor::amd, *major, *minor, *stepping, Features::common};
}

std::optional<GpuArch> parse(const std::string& name) {
  if (name.starts_with("sm_"))
    return parse_nvidia(std::string_view(name).substr(3));
  if (name.starts_with("gfx"))
    return parse_amd(std::string_view(name).substr(3));
  return std::nullopt;
}

unsigned number_of(const GpuArch& arch) {
  return arch.major * 10 + arch.minor;
}

// sm_101 is the former name of sm_110.
unsigned family_of(const GpuArch& arch) {
  return number_of(arch) == 101 ? 11 : arch.major;
}

// Part of a system on a chip.
bool is_tegra(const GpuArch& arch) {
  constexpr std::array numbers = {53u, 62u, 72u, 87u, 101u, 110u};
  return std::find(numbers.begin(), numbers.end(), number_of(arch)) != numbers.end();
}

bool same_gpu(const GpuArch& a, const GpuArch& b) {
  return a.major == b.major && a.minor == b.minor;
}

} // namespace

std::string to_string(const GpuArch& arch) {
  if (arch.vendor == GpuArch::Vendor::amd) {
    constexpr std::string_view digits = "0123456789abcdef";
    return "gfx" + std::to_string(arch.major) + digits[arch.minor % 16] + digits[arch.stepping % 16];
  }
  const char* const suffix = arch.features == Features::specific ? "a"
                             : arch.features == Features::family ? "f"
                                                                 : "";
  return "sm_" + std::to_string(arch.major * 10 + arch.minor) + suffix;
}

Result<GpuArch> parse_gpu_arch(const std::string& name) {
  const std::optional<GpuArch> arch = parse(name);
  if (!arch)
    return make_error(ErrorKind::usage, "\"" + printable(name) + "\" is not a GPU architecture",
                      "use a name of LLVM, such as sm_90, sm_90a, gfx90a");
  return *arch;
}

std::vector<GpuArch> gpu_archs() {
  std::vector<GpuArch> archs;
  for (const NvidiaGpu& gpu : nvidia) {
    archs.push_back(nvidia_arch(gpu.number, Features::common));
    if (gpu.family)
      archs.push_back(nvidia_arch(gpu.number, Features::family));
    if (gpu.specific)
      archs.push_back(nvidia_arch(gpu.number, Features::specific));
  }
  llvm::SmallVector<llvm::StringRef, 96> names;
  llvm::AMDGPU::fillValidArchListAMDGCN(names);
  for (const llvm::StringRef name : names)
    if (const std::optional<GpuArch> arch = parse(name.str()))
      archs.push_back(*arch);
  return archs;
}

Result<GpuArch> gpu_arch(const std::string& name) {
  XAAS_TRY(const GpuArch arch, parse_gpu_arch(name));
  const std::vector<GpuArch> known = gpu_archs();
  if (std::find(known.begin(), known.end(), arch) != known.end())
    return arch;
  std::vector<std::string> names;
  for (const GpuArch& each : known)
    if (each.vendor == arch.vendor)
      names.push_back(to_string(each));
  return make_error(ErrorKind::usage, "LLVM has no GPU architecture " + name,
                    "code can be made for " + join(names, ", "));
}

bool machine_code_runs(const GpuArch& code, const GpuArch& device) {
  if (code.vendor != device.vendor)
    return false;
  if (code.vendor == GpuArch::Vendor::amd)
    return code == device;
  if (code.features == Features::specific || is_tegra(code) || is_tegra(device))
    return same_gpu(code, device);
  return code.major == device.major &&
         code.minor <= device.minor; // a family then covers the whole major version
}

bool device_code_serves(const GpuArch& code, const GpuArch& device) {
  if (code.vendor != device.vendor)
    return false;
  if (code.vendor == GpuArch::Vendor::amd)
    return code == device;
  if (code.features == Features::specific)
    return same_gpu(code, device);
  if (code.features == Features::family && family_of(code) != family_of(device))
    return false;
  return number_of(code) <= number_of(device);
}

} // namespace xaas::target
