#include <xaas/image/bundle.h>

#include <algorithm>

namespace xaas::image {

std::string tool_version() {
  return XAAS_VERSION;
}
std::string llvm_version() {
  return XAAS_LLVM_VERSION;
}

const Digest& stored_module(const Bundle& bundle, const Digest& unit) {
  const auto prepared = bundle.prepared.find(unit);
  return prepared == bundle.prepared.end() ? bundle.units.at(unit).module : prepared->second;
}

int format_of(const Bundle& bundle) {
  return !bundle.modules.empty() ? 6 : bundle.base ? 3 : 1;
}

std::vector<spec::Configuration> all_configurations(const Bundle& bundle) {
  std::vector<spec::Configuration> all;
  for (const BundleConfiguration& configuration : bundle.configurations)
    all.push_back(configuration.configuration);
  if (bundle.source_build)
    for (const spec::Configuration& configuration : bundle.source_build->configurations)
      if (!find_ir(bundle, configuration))
        all.push_back(configuration);
  return all;
}

const BundleConfiguration* find_ir(const Bundle& bundle, const spec::Configuration& configuration) {
  for (const BundleConfiguration& each : bundle.configurations)
    if (each.configuration == configuration)
      return &each;
  return nullptr;
}

} // namespace xaas::image
