#include <xaas/image/packages.h>

#include <algorithm>
#include <map>

namespace xaas::image {

namespace {

using FileKind = link::InstalledFile::Kind;
using RefKind = link::FileRef::Kind;

bool is_shared_library(const std::string& name) {
  return name.ends_with(".so") || name.find(".so.") != std::string::npos || name.starts_with("ld-linux");
}

// A file whose content becomes part of the output of links.
bool is_linked_in(const std::string& name) {
  return name.ends_with(".a") || name.ends_with(".o") || name.ends_with(".obj") || name.ends_with(".lo");
}

class Collector {
public:
  explicit Collector(const Bundle& bundle) : bundle_(bundle) {
    for (const Package& package : bundle.packages)
      for (const Digest& file : package.files)
        owners_[file] = &package;
  }

  Result<void> add(const BundleConfiguration& configuration) {
    XAAS_TRY([[maybe_unused]] const Usage usage,
             usage_of(bundle_, configuration)); // the records are consistent
    for (const link::InstalledFile& file : configuration.runtime) {
      if (file.kind != FileKind::file)
        continue;
      const std::string name = fs::path(file.path).filename().string();
      PackageUse& use = use_of(file.digest, name);
      use.files.push_back("/" + file.path);
      use.shared |= is_shared_library(name);
    }
    for (const link::InstalledFile& file : configuration.installed)
      if (file.kind == FileKind::link)
        for (const auto& [digest, name] : linked_into(file.digest))
          use_of(digest, name).linked.push_back("/" + file.path);
    return {};
  }

  std::vector<PackageUse> finish() {
    std::vector<PackageUse> uses;
    for (auto& [key, use] : uses_) {
      for (std::vector<std::string>* paths : {&use.files, &use.linked}) {
        std::sort(paths->begin(), paths->end());
        paths->erase(std::unique(paths->begin(), paths->end()), paths->end());
      }
      uses.push_back(std::move(use));
    }
    return uses;
  }

private:
  PackageUse& use_of(const Digest& file, const std::string& name) {
    const auto owner = owners_.find(file);
    PackageUse use;
    if (owner != owners_.end()) {
      use.package = *owner->second;
      use.package.files.clear();
    } else {
      use.package.name = name;
      use.file = file;
    }
    return uses_.try_emplace({use.package, use.file.value_or(Digest())}, use).first->second;
  }

  // Files from packages that are part of a link's output, by digest.
  const std::map<Digest, std::string>& linked_into(const Digest& record) {
    const auto [known, first] = linked_.try_emplace(record);
    if (!first)
      return known->second;
    std::map<Digest, std::string> found;
    for (const link::LinkItem& item : bundle_.links.at(record).items) {
      if (item.kind != link::LinkItem::Kind::input)
        continue;
      const link::FileRef& file = item.file;
      if (file.kind == RefKind::kit) {
        const auto kit = bundle_.kit.find(file.digest);
        if (kit != bundle_.kit.end() && !kit->second.native && is_linked_in(file.name))
          found.emplace(file.digest, file.name);
      } else if (file.kind == RefKind::link &&
                 bundle_.links.at(file.digest).kind == link::OutputKind::relocatable) {
        const std::map<Digest, std::string> inner = linked_into(file.digest);
        found.insert(inner.begin(), inner.end());
      }
    }
    return linked_[record] = std::move(found);
  }

  const Bundle& bundle_;
  std::map<Digest, const Package*> owners_;
  std::map<std::pair<Package, Digest>, PackageUse> uses_;
  std::map<Digest, std::map<Digest, std::string>> linked_; // by link record
};

Json to_json(const PackageUse& use, bool with_files) {
  Json json = to_json(use.package);
  if (use.file)
    json["digest"] = use.file->to_string();
  json["shared"] = use.shared;
  json["files"] = with_files || use.files.empty() ? Json(use.files) : Json();
  json["linked"] = use.linked;
  return json;
}

Result<PackageUse> parse_use(const JsonReader& reader) {
  PackageUse use;
  XAAS_TRY(use.package, parse_package(reader));
  if (reader.has("digest")) {
    XAAS_TRY(const std::string digest, reader.string_at("digest"));
    XAAS_TRY(use.file, Digest::parse(digest).in(reader.where()));
  }
  XAAS_TRY(use.shared, reader.boolean_or("shared", false));
  XAAS_TRY(const JsonReader files, reader.at("files"));
  if (!files.json().is_null()) {
    XAAS_TRY(use.files, files.strings());
  }
  use.files_known = !files.json().is_null();
  XAAS_TRY(use.linked, reader.strings_at("linked"));
  return use;
}

} // namespace

Json to_json(const Package& package) {
  Json json = {{"name", package.name}};
  for (const auto& [key, value] :
       {std::pair("manager", &package.manager), std::pair("version", &package.version),
        std::pair("arch", &package.arch), std::pair("source", &package.source),
        std::pair("distribution", &package.distribution)})
    if (!value->empty())
      json[key] = *value;
  return json;
}

Result<Package> parse_package(const JsonReader& reader) {
  Package package;
  XAAS_TRY(package.name, reader.string_at("name"));
  XAAS_TRY(package.manager, reader.string_or("manager", ""));
  XAAS_TRY(package.version, reader.string_or("version", ""));
  XAAS_TRY(package.arch, reader.string_or("arch", ""));
  XAAS_TRY(package.source, reader.string_or("source", ""));
  XAAS_TRY(package.distribution, reader.string_or("distribution", ""));
  return package;
}

Result<std::vector<PackageUse>> package_uses(const Bundle& bundle, const BundleConfiguration& configuration) {
  Collector collector(bundle);
  XAAS_CHECK(collector.add(configuration));
  return collector.finish();
}

Result<std::vector<PackageUse>> package_uses(const Bundle& bundle) {
  Collector collector(bundle);
  for (const BundleConfiguration& configuration : bundle.configurations)
    XAAS_CHECK(collector.add(configuration));
  return collector.finish();
}

std::string to_annotation(const std::vector<PackageUse>& uses) {
  for (const bool with_files : {true, false}) {
    Json json = Json::array();
    for (const PackageUse& use : uses)
      json.push_back(to_json(use, with_files));
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() <= package_limit || !with_files)
      return text;
  }
  return {};
}

Result<std::optional<std::vector<PackageUse>>> package_uses(const oci::Manifest& manifest) {
  const auto found = manifest.annotations.find(annotation::packages);
  if (found == manifest.annotations.end())
    return std::optional<std::vector<PackageUse>>();
  const std::string where = std::string("annotation ") + annotation::packages;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::vector<JsonReader> items, JsonReader(json, where).items());
  std::vector<PackageUse> uses;
  for (const JsonReader& item : items) {
    XAAS_TRY(PackageUse use, parse_use(item));
    uses.push_back(std::move(use));
  }
  return std::optional(std::move(uses));
}

} // namespace xaas::image
