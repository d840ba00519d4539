#include "bitcode.h"

#include <xaas/base/file.h>

namespace xaas::cli {

namespace {

struct Module {
  std::string arch;
  bool prepared = false;
  std::set<std::string> sources, configurations;
};

Result<std::map<Digest, Module>> modules_of(const image::Bundle& bundle) {
  std::map<Digest, Module> modules;
  for (const image::BundleConfiguration& configuration : bundle.configurations) {
    XAAS_TRY(const image::Usage usage, image::usage_of(bundle, configuration));
    const auto add = [&](const Digest& id, const std::string& arch) {
      Module& module = modules[image::stored_module(bundle, id)];
      module.arch = arch;
      module.prepared = bundle.prepared.contains(id);
      module.sources.insert(bundle.units.at(id).source);
      module.configurations.insert(configuration.configuration.id());
    };
    for (const Digest& id : usage.units) {
      add(id, bundle.arch);
      for (const auto& [gpu, device] : bundle.units.at(id).device)
        add(device, gpu == ir::host_device ? bundle.arch : gpu);
    }
  }
  return modules;
}

} // namespace

Result<void> write_bitcode(const image::ApplicationImage& ir, const fs::path& directory, Json& list) {
  XAAS_TRY(const auto modules, modules_of(ir.bundle()));
  XAAS_CHECK(make_directories(directory));
  std::set<Digest> wanted, layers;
  for (const auto& [digest, module] : modules) {
    wanted.insert(digest);
    list.push_back(Json{{"file", digest.hex() + ".bc"},
                        {"arch", module.arch},
                        {"form", module.prepared ? "prepared" : "raw"},
                        {"sources", module.sources},
                        {"configurations", module.configurations}});
  }
  XAAS_CHECK(ir.fetch_all(wanted, layers, [&](const Digest& digest, const std::string& content) {
    return write_output(directory / (digest.hex() + ".bc"), content);
  }));
  if (!wanted.empty())
    return make_error(ErrorKind::integrity, ir.image().reference().text + ": module " +
                                                wanted.begin()->to_string() +
                                                " is named in the bundle but in no layer");
  return {};
}

} // namespace xaas::cli
