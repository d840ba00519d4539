// SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3/. The image is a package that contains the application's
// package and those of the run-time closure; each contains its own files. Packages that are only linked into
// the application have no files of their own here.
#include "package_url.h"

#include <xaas/provenance/sbom.h>

#include <algorithm>
#include <map>
#include <set>

namespace xaas::provenance {

namespace {

constexpr const char* unknown = "NOASSERTION";

// Valid characters of an identifier (SPDX 2.3, 3.2): letters, digits, `.` and `-`.
std::string identifier(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.')
      c = '-';
  return text;
}

// Different names could yield the same identifier, so each ends with part of a digest.
std::string file_id(const std::string& path) {
  return "SPDXRef-File-" + digest_of(path).hex().substr(0, 32);
}

// Whether a text has the form of an SPDX license expression (SPDX 2.3, annex D). Does not look up the names
// in it.
bool is_license_expression(const std::string& text) {
  int depth = 0;
  bool name_is_next = true;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    if (text[i] == '(' && name_is_next) {
      ++depth, ++i;
      continue;
    }
    if (text[i] == ')' && !name_is_next && depth > 0) {
      --depth, ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                                 std::string_view("-.+:").find(text[end]) != std::string_view::npos))
      ++end;
    const std::string word = text.substr(i, end - i);
    const bool is_operator = word == "AND" || word == "OR" || word == "WITH";
    if (word.empty() || is_operator == name_is_next)
      return false;
    name_is_next = is_operator;
    i = end;
  }
  return !name_is_next && depth == 0;
}

// The verification code (SPDX 2.3, 7.9): the SHA-1 of all files' SHA-1, sorted and joined.
std::string verification_code(const std::vector<const FileHash*>& files) {
  std::vector<std::string> hashes;
  for (const FileHash* file : files)
    hashes.push_back(file->sha1);
  std::sort(hashes.begin(), hashes.end());
  std::string all;
  for (const std::string& hash : hashes)
    all += hash;
  return hash_file("", all).sha1;
}

class Document {
public:
  explicit Document(const Inventory& inventory) : inventory_(inventory) {}

  Json make() {
    assign_files();
    add_image();
    add_application();
    for (size_t i = 0; i < inventory_.packages.size(); ++i)
      add_package(i);
    for (const image::UsedPlugin& plugin : inventory_.plugins)
      add_plugin(plugin);
    add_origins();
    Json json;
    json["spdxVersion"] = "SPDX-2.3";
    json["dataLicense"] = "CC0-1.0";
    json["SPDXID"] = "SPDXRef-DOCUMENT";
    json["name"] = name() + "-" + version();
    json["documentNamespace"] =
        "https://spdx.org/spdxdocs/xaas-" + identifier(name()) + "-" + inventory_.image.hex();
    json["creationInfo"] = {{"created", annotation(image::annotation::created, "1970-01-01T00:00:00Z")},
                            {"creators", Json::array({"Tool: xaas-" + image::tool_version()})}};
    json["packages"] = std::move(packages_);
    Json files = Json::array();
    for (const auto& [path, file] : files_)
      files.push_back(file_json(*file));
    json["files"] = std::move(files);
    json["relationships"] = std::move(relationships_);
    return json;
  }

private:
  static constexpr const char* image_id = "SPDXRef-Image";
  static constexpr const char* application_id = "SPDXRef-Application";

  std::string annotation(const char* key, const std::string& otherwise = {}) const {
    const auto found = inventory_.annotations.find(key);
    return found == inventory_.annotations.end() || found->second.empty() ? otherwise : found->second;
  }
  std::string name() const { return annotation(image::annotation::title, "image"); }
  std::string version() const { return annotation(image::annotation::version, "0"); }

  void relate(const std::string& from, const char* kind, const std::string& to) {
    relationships_.push_back(
        {{"spdxElementId", from}, {"relationshipType", kind}, {"relatedSpdxElement", to}});
  }

  // Assigns a file to its package. A file without a package belongs to the application, if that can be told.
  void assign_files() {
    std::map<std::string, size_t> owners;
    for (size_t i = 0; i < inventory_.packages.size(); ++i)
      for (const std::string& file : inventory_.packages[i].files)
        owners.emplace(file, i);
    const bool all_known = std::all_of(inventory_.packages.begin(), inventory_.packages.end(),
                                       [](const image::PackageUse& use) { return use.files_known; });
    for (const FileHash& file : inventory_.files) {
      files_[file.path] = &file;
      const auto owner = owners.find(file.path);
      if (owner == owners.end() && all_known)
        own_files_.push_back(&file);
      else if (owner != owners.end())
        package_files_[owner->second].push_back(&file);
    }
  }

  static Json file_json(const FileHash& file) {
    return {{"SPDXID", file_id(file.path)},
            {"fileName", "." + file.path},
            {"checksums", Json::array({{{"algorithm", "SHA1"}, {"checksumValue", file.sha1}},
                                       {{"algorithm", "SHA256"}, {"checksumValue", file.sha256.hex()}}})},
            {"licenseConcluded", unknown},
            {"licenseInfoInFiles", Json::array({unknown})},
            {"copyrightText", unknown}};
  }

  Json package_json(const std::string& id, const std::string& called, const std::string& version,
                    const std::vector<const FileHash*>& files) {
    Json json = {{"SPDXID", id}, {"name", called}};
    if (!version.empty())
      json["versionInfo"] = version;
    json["downloadLocation"] = unknown;
    json["filesAnalyzed"] = !files.empty();
    if (!files.empty())
      json["packageVerificationCode"] = {{"packageVerificationCodeValue", verification_code(files)}};
    json["licenseConcluded"] = unknown;
    json["licenseDeclared"] = unknown;
    json["copyrightText"] = unknown;
    return json;
  }

  static void add_package_url(Json& package, const std::string& url) {
    if (!url.empty())
      package["externalRefs"] = Json::array(
          {{{"referenceCategory", "PACKAGE-MANAGER"}, {"referenceType", "purl"}, {"referenceLocator", url}}});
  }

  static Json sha256(const Digest& digest) {
    return Json::array({{{"algorithm", "SHA256"}, {"checksumValue", digest.hex()}}});
  }

  void add_image() {
    std::vector<const FileHash*> all;
    for (const auto& [path, file] : files_)
      all.push_back(file);
    Json json = package_json(image_id, name(), version(), all);
    json["primaryPackagePurpose"] = "CONTAINER";
    json["checksums"] = sha256(inventory_.image);
    json["summary"] = (inventory_.kind == "ir" ? "IR" : inventory_.kind) + " image made by xaas";
    add_package_url(json, package_url(name(), inventory_.image));
    packages_.push_back(std::move(json));
    relate("SPDXRef-DOCUMENT", "DESCRIBES", image_id);
    for (const FileHash* file : all)
      relate(image_id, "CONTAINS", file_id(file->path));
  }

  void add_application() {
    Json json = package_json(application_id, name(), version(), own_files_);
    json["primaryPackagePurpose"] = "APPLICATION";
    const std::string license = annotation(image::annotation::licenses);
    if (is_license_expression(license))
      json["licenseDeclared"] = license;
    else if (!license.empty())
      json["licenseComments"] = "The application spec says: " + license;
    packages_.push_back(std::move(json));
    contains(application_id, own_files_);
  }

  void contains(const std::string& id, const std::vector<const FileHash*>& files) {
    relate(image_id, "CONTAINS", id);
    for (const FileHash* file : files)
      relate(id, "CONTAINS", file_id(file->path));
  }

  // It made the code, and is not in the image.
  void add_plugin(const image::UsedPlugin& plugin) {
    const std::string id = "SPDXRef-PassPlugin-" + plugin.digest.hex().substr(0, 32);
    Json json = package_json(id, plugin.name, plugin.version, {});
    json["primaryPackagePurpose"] = "LIBRARY";
    json["summary"] = "pass plugin of LLVM";
    json["checksums"] = sha256(plugin.digest);
    packages_.push_back(std::move(json));
    relate(id, "BUILD_TOOL_OF", image_id);
  }

  void add_package(size_t index) {
    const image::PackageUse& use = inventory_.packages[index];
    const image::Package& package = use.package;
    std::string id = "SPDXRef-Package-" + identifier(package.name);
    if (use.file)
      id += "-" + use.file->hex().substr(0, 32);
    else
      id += "-" + identifier(package.manager + "-" + package.arch) + "-" +
            digest_of(package.manager + "\n" + package.name + "\n" + package.version + "\n" + package.arch)
                .hex()
                .substr(0, 16);
    const std::vector<const FileHash*>& files = package_files_[index];
    Json json = package_json(id, package.name, package.version, files);
    json["primaryPackagePurpose"] = use.shared || !use.linked.empty() ? "LIBRARY" : "FILE";
    if (use.file)
      json["checksums"] = sha256(*use.file);
    if (!package.source.empty())
      json["sourceInfo"] = "source package " + package.source;
    add_package_url(json, package_url(package));
    packages_.push_back(std::move(json));
    if (!use.files.empty() || !use.files_known)
      contains(id, files);
    if (!use.files_known)
      packages_.back()["comment"] = "its files in the image are too many to be told apart";
    if (use.shared)
      relate(application_id, "DYNAMIC_LINK", id);
    if (!use.linked.empty())
      relate(application_id, "STATIC_LINK", id);
    // Names the program, if the document lists programs.
    for (const std::string& path : use.linked)
      if (files_.contains(path))
        relate(file_id(path), "STATIC_LINK", id);
  }

  // What the image was made from: the sources, and for a deployed image the IR or source image.
  void add_origins() {
    const std::string source = annotation(image::annotation::source);
    const std::string revision = annotation(image::annotation::revision);
    if (!source.empty() || !revision.empty()) {
      Json json =
          package_json("SPDXRef-Source", name() + "-source", revision.empty() ? version() : revision, {});
      json["primaryPackagePurpose"] = "SOURCE";
      if (!source.empty())
        json["downloadLocation"] = source;
      packages_.push_back(std::move(json));
      relate(application_id, "GENERATED_FROM", "SPDXRef-Source");
    }
    add_base();
    const auto digest = Digest::parse(annotation(image::annotation::made_from));
    if (inventory_.kind != "deployed" || !digest)
      return;
    const bool from_source = !annotation(image::annotation::from_source).empty();
    const std::string id = from_source ? "SPDXRef-Source-Image" : "SPDXRef-IR-Image";
    Json json = package_json(id, name() + (from_source ? "-source-image" : "-ir"), version(), {});
    json["primaryPackagePurpose"] = "CONTAINER";
    json["checksums"] = sha256(*digest);
    add_package_url(json, package_url(name(), *digest));
    packages_.push_back(std::move(json));
    relate(image_id, "GENERATED_FROM", id);
  }

  // One package, without files: the SBOM of the base itself, or its package database, lists those.
  void add_base() {
    const auto digest = Digest::parse(annotation(image::annotation::base_digest));
    if (!digest)
      return;
    const std::string reference = annotation(image::annotation::base_name);
    Json json = package_json("SPDXRef-Base-Image", reference.empty() ? "base-image" : reference, "", {});
    json["primaryPackagePurpose"] = "CONTAINER";
    json["checksums"] = sha256(*digest);
    add_package_url(json, package_url(reference.empty() ? "base-image" : reference, *digest));
    packages_.push_back(std::move(json));
    relate(image_id, "DESCENDANT_OF", "SPDXRef-Base-Image");
  }

  const Inventory& inventory_;
  std::map<std::string, const FileHash*> files_; // by path
  std::vector<const FileHash*> own_files_;
  std::map<size_t, std::vector<const FileHash*>> package_files_; // by index of the package
  Json packages_ = Json::array(), relationships_ = Json::array();
};

} // namespace

Json to_spdx(const Inventory& inventory) {
  return Document(inventory).make();
}

std::string to_text(const Json& spdx) {
  return spdx.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace xaas::provenance
