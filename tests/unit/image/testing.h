// Helpers of the image module's tests: an application with any number of configurations.
#pragma once

#include <xaas/image/application_image.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::image::testing {

// The output of a link, as an installed program.
inline link::InstalledFile installed_program(const link::LinkRecord& record) {
  link::InstalledFile program;
  program.kind = link::InstalledFile::Kind::link;
  program.path = "usr/local/bin/solver";
  program.mode = 0755;
  program.digest = record.digest();
  return program;
}

// A bundle of `count` configurations in which the configurations from i on use module i, and its contents.
struct Fixture {
  Bundle bundle;
  std::map<Digest, std::string> contents;

  Digest put(const std::string& content) {
    const Digest digest = digest_of(content);
    contents[digest] = content;
    return digest;
  }

  Digest add_unit(const std::string& name) {
    ir::UnitOptions options;
    options.codegen["OptimizationLevel"] = 2;
    ir::Unit unit;
    unit.source = name;
    unit.module = put("bitcode of " + name);
    unit.options = options.digest();
    bundle.options[unit.options] = options;
    bundle.modules[unit.module] = contents[unit.module].size();
    bundle.units[unit.id()] = unit;
    return unit.id();
  }

  explicit Fixture(size_t count) {
    bundle.name = "solver";
    bundle.version = "1";
    bundle.arch = "x86_64";
    bundle.llvm = llvm_version();
    bundle.tool = tool_version();
    std::vector<Digest> units;
    const Digest kit = put("crt1");
    bundle.kit[kit] = {"crt1.o", 4, false, ""};
    for (size_t i = 0; i < count; ++i) {
      units.push_back(add_unit("u" + std::to_string(i) + ".c"));
      link::LinkRecord record;
      record.name = "solver";
      for (const Digest& unit : units)
        record.items.push_back(
            {link::LinkItem::Kind::input, "", "", {link::FileRef::Kind::unit, unit, "u.o"}});
      record.items.push_back(
          {link::LinkItem::Kind::input, "", "", {link::FileRef::Kind::kit, kit, "crt1.o"}});
      bundle.links[record.digest()] = record;
      BundleConfiguration configuration;
      configuration.configuration = spec::Configuration({{"level", std::to_string(i)}});
      configuration.installed.push_back(installed_program(record));
      bundle.configurations.push_back(configuration);
    }
  }

  Result<oci::NewImage> make(size_t max_groups = 16) const {
    return make_application_image(
        bundle, [&](const Digest& digest) -> Result<std::string> { return contents.at(digest); }, 0,
        max_groups);
  }

  Result<ApplicationImage> write_and_open(const fs::path& directory, size_t max_groups = 16) const {
    XAAS_TRY(const oci::Reference reference, oci::parse_reference("oci:" + directory.string() + ":ir"));
    XAAS_TRY(const oci::NewImage image, make(max_groups));
    XAAS_TRY([[maybe_unused]] const Digest digest, oci::write_image(reference, image));
    XAAS_TRY(auto opened, oci::open_image(reference));
    return ApplicationImage::open(std::move(opened));
  }
};

inline std::vector<oci::Descriptor> layers_with_role(const oci::Image& image, const std::string& role) {
  std::vector<oci::Descriptor> layers;
  for (const oci::Descriptor& layer : image.manifest().layers)
    if (layer_role(layer) == role)
      layers.push_back(layer);
  return layers;
}

} // namespace xaas::image::testing
