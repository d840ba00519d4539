#include <xaas/image/targets.h>

#include <xaas/base/text.h>
#include <xaas/image/warning.h>
#include <xaas/target/cpuid.h>

#include <algorithm>
#include <optional>

namespace xaas::image {

namespace {

// The features that programs check for at the start.
std::vector<std::string> guarded(const std::string& arch, const std::vector<std::string>& features) {
  if (arch != "x86_64")
    return features;
  std::vector<std::string> required;
  for (const target::CpuidBit& bit : target::cpuid_bits())
    if (std::find(features.begin(), features.end(), bit.name) != features.end())
      required.emplace_back(bit.name);
  return required;
}

std::vector<std::string> features_of(const Annotations& annotations, const std::string& arch) {
  const auto features = annotations.find(annotation::features);
  return features == annotations.end() ? std::vector<std::string>()
                                       : target::with_implied(arch, split(features->second, ','));
}

} // namespace

std::vector<std::string> lacking(const Annotations& annotations, const target::Cpu& host) {
  return target::missing_features(guarded(host.arch, features_of(annotations, host.arch)), host.features);
}

oci::Chooser best_for(const target::Cpu& host, IfNoneFits if_none_fits) {
  return [host, if_none_fits](const std::vector<Annotations>& images) -> Result<size_t> {
    std::optional<size_t> best;
    size_t most = 0;
    std::vector<std::string> unfit;
    constexpr size_t shown = 4;
    for (size_t i = 0; i < images.size(); ++i) {
      if (const std::vector<std::string> missing = lacking(images[i], host); !missing.empty()) {
        const auto name = images[i].find(annotation::cpu);
        const bool named = name != images[i].end() && target::cpu_by_name(host.arch, name->second);
        unfit.push_back((named ? "that for " + name->second : "one") + " needs " + few(missing, 3));
        continue;
      }
      const size_t count = guarded(host.arch, features_of(images[i], host.arch)).size();
      if (!best || count > most) {
        best = i;
        most = count;
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
