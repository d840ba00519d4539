#include <xaas/image/targets.h>

#include <xaas/base/text.h>
#include <xaas/image/deployed.h>
#include <xaas/image/warning.h>
#include <xaas/target/feature_bits.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace xaas::image {

namespace {

std::vector<std::string> features_of(const Annotations& annotations, const std::string& arch) {
  const auto features = annotations.find(annotation::features);
  return features == annotations.end() ? std::vector<std::string>()
                                       : target::with_implied(arch, split(features->second, ','));
}

// Empty: the image says nothing.
std::string device_code_of(const Annotations& annotations) {
  const auto found = annotations.find(annotation::gpu);
  return found == annotations.end() ? std::string() : found->second;
}

// How well device code suits a node, worst first. An image without any has a program that was configured
// without GPUs, or whose kernels are missing; either runs where code for other GPUs does not.
enum class Suits { not_at_all, without, on_cpu, perhaps, for_older_gpu, for_gpu };

Suits suits(const GpuCode& code, const target::GpuArch& arch, const target::Gpu& gpu) {
  if (gpu.vendor != arch.vendor)
    return Suits::not_at_all;
  if (!gpu.arch)
    return Suits::perhaps;
  if (code.ptx.empty() ? !target::machine_code_runs(arch, *gpu.arch)
                       : !target::device_code_serves(arch, *gpu.arch))
    return Suits::not_at_all;
  return code.gpu == to_string(*gpu.arch) ? Suits::for_gpu : Suits::for_older_gpu;
}

Result<Suits> suits(const Annotations& annotations, const std::vector<target::Gpu>& gpus) {
  const std::string device_code = device_code_of(annotations);
  if (device_code.empty() || device_code == "none")
    return Suits::without;
  if (device_code == "cpu")
    return Suits::on_cpu;
  XAAS_TRY(const std::vector<GpuCode> codes, gpu_code_of(annotations));
  Suits best = Suits::not_at_all;
  for (const GpuCode& code : codes) {
    const Result<target::GpuArch> arch = target::parse_gpu_arch(code.arch);
    if (!arch)
      return make_error(ErrorKind::integrity,
                        std::string("annotation ") + annotation::gpu_code + ": " + arch.error().message);
    for (const target::Gpu& gpu : gpus)
      best = std::max(best, suits(code, *arch, gpu));
  }
  return best;
}

} // namespace

std::vector<std::string> lacking(const Annotations& annotations, const target::Cpu& host) {
  const std::vector<std::string> features = features_of(annotations, host.arch);
  return target::missing_features(target::guarded_features(host.arch, features),
                                  target::guarded_features(host.arch, host.features));
}

oci::Chooser best_for(const target::Cpu& host, const FindGpus& gpus, IfNoneFits if_none_fits) {
  return [host, gpus, if_none_fits](const std::vector<Annotations>& images) -> Result<size_t> {
    std::vector<size_t> fit;
    std::vector<std::string> unfit;
    constexpr size_t shown = 4;
    for (size_t i = 0; i < images.size(); ++i) {
      if (const std::vector<std::string> missing = lacking(images[i], host); !missing.empty()) {
        const auto name = images[i].find(annotation::cpu);
        const bool named = name != images[i].end() && target::cpu_by_name(host.arch, name->second);
        unfit.push_back((named ? "that for " + name->second : "one") + " needs " + few(missing, 3));
      } else {
        fit.push_back(i);
      }
    }
    std::set<std::string> device_codes;
    for (const size_t i : fit)
      device_codes.insert(device_code_of(images[i]));
    const std::vector<target::Gpu> found = device_codes.size() > 1 ? gpus() : std::vector<target::Gpu>();
    std::optional<size_t> best;
    std::pair<Suits, size_t> most;
    for (const size_t i : fit) {
      XAAS_TRY(const Suits by_gpu, device_codes.size() > 1 ? suits(images[i], found) : Suits::without);
      const std::pair worth(by_gpu,
                            target::guarded_features(host.arch, features_of(images[i], host.arch)).size());
      if (!best || worth > most) {
        best = i;
        most = worth;
      }
    }
    if (best || if_none_fits == IfNoneFits::first)
      return best.value_or(0);
    return make_error(ErrorKind::unsatisfied,
                      "none of its images is for this CPU (" + host.name +
                          "): " + few(std::move(unfit), shown),
                      "`xaas deploy` makes an image for this machine");
  };
}

} // namespace xaas::image
