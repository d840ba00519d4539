#include "bitcode.h"

#include <xaas/base/file.h>

namespace xaas::cli {

namespace {

std::string name_of(const Digest& module) {
  return module.hex() + ".bc";
}

} // namespace

Result<void> write_bitcode(const image::ApplicationImage& ir, const fs::path& directory,
                           BitcodeFiles& files) {
  const image::Bundle& bundle = ir.bundle();
  std::set<Digest> wanted, layers;
  for (const image::BundleConfiguration& configuration : bundle.configurations) {
    XAAS_TRY(const image::Usage usage, image::usage_of(bundle, configuration));
    const auto add = [&](const Digest& id, const std::string& architecture) {
      const Digest& module = image::stored_module(bundle, id);
      wanted.insert(module);
      BitcodeFile& file = files[module];
      file.prepared = bundle.prepared.contains(id);
      file.architectures.insert(architecture);
      file.sources.insert(bundle.units.at(id).source);
      file.configurations.insert(configuration.configuration.id());
    };
    for (const Digest& id : usage.units) {
      add(id, bundle.arch);
      for (const auto& [gpu, device] : bundle.units.at(id).device)
        add(device, gpu == ir::host_device ? bundle.arch : gpu);
    }
  }
  XAAS_CHECK(make_directories(directory));
  XAAS_CHECK(ir.fetch_all(wanted, layers, [&](const Digest& digest, const std::string& content) {
    return write_output(directory / name_of(digest), content);
  }));
  if (!wanted.empty())
    return make_error(ErrorKind::integrity, ir.image().reference().text + ": module " +
                                                wanted.begin()->to_string() +
                                                " is named in the bundle but in no layer");
  return {};
}

Json to_json(const BitcodeFiles& files) {
  Json list = Json::array();
  for (const auto& [digest, file] : files)
    list.push_back(Json{{"file", name_of(digest)},
                        {"architectures", file.architectures},
                        {"form", file.prepared ? "prepared" : "raw"},
                        {"sources", file.sources},
                        {"configurations", file.configurations}});
  return list;
}

} // namespace xaas::cli
