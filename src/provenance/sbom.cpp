#include <xaas/provenance/sbom.h>

#include <openssl/evp.h>

namespace xaas::provenance {

namespace {

std::string sha1_of(std::string_view content) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(content.data(), content.size(), bytes, &size, EVP_sha1(), nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

} // namespace

FileHash hash_file(const std::string& path, std::string_view content) {
  return {path, sha1_of(content), digest_of(content)};
}

void FileList::take_file(const std::string& path, std::string_view content) {
  files_["/" + path] = hash_file("/" + path, content);
}

void FileList::take(const oci::LayerEntry& entry) {
  const std::string path = "/" + entry.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (oci::is_whiteout(entry.path)) {
    const std::string above = path.substr(0, path.size() - name.size());
    remove(name == oci::opaque_whiteout ? above : above + name.substr(oci::whiteout_prefix.size()));
    return;
  }
  if (entry.kind == oci::LayerEntry::Kind::file) {
    take_file(entry.path, entry.content);
    return;
  }
  const auto linked = files_.find("/" + entry.link);
  if (entry.kind == oci::LayerEntry::Kind::hard_link && linked != files_.end())
    files_[path] = {path, linked->second.sha1, linked->second.sha256};
  else
    files_.erase(path);
}

// Removes a file, or everything below a directory.
void FileList::remove(const std::string& path) {
  const std::string below = path.ends_with("/") ? path : path + "/";
  std::erase_if(files_,
                [&](const auto& each) { return each.first == path || each.first.starts_with(below); });
}

std::vector<FileHash> FileList::finish() const {
  std::vector<FileHash> all;
  for (const auto& [path, file] : files_)
    all.push_back(file);
  return all;
}

Result<Inventory> take_inventory(const oci::Image& deployed) {
  const std::string name = deployed.reference().text;
  const std::string kind = image::kind_of(deployed);
  if (kind != "deployed")
    return make_error(ErrorKind::usage, name + ": is neither an IR image nor a deployed image of xaas",
                      "`xaas inspect` shows what an image is");
  Inventory inventory{
      .kind = kind, .image = deployed.digest(), .annotations = deployed.manifest().annotations};
  XAAS_TRY(auto packages, image::package_uses(deployed.manifest()).in(name));
  if (!packages)
    return make_error(ErrorKind::usage, name + ": does not list its packages",
                      "it was made by an older version; deploy it again");
  inventory.packages = *std::move(packages);
  FileList files;
  for (size_t i = 0; i < deployed.manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = deployed.manifest().layers[i];
    XAAS_TRY(const oci::BlobPtr blob, deployed.open_blob(layer));
    XAAS_CHECK(oci::read_layer(blob, layer.media_type, &deployed.config().diff_ids.at(i),
                               [&](const oci::LayerEntry& entry) -> Result<void> {
                                 files.take(entry);
                                 return {};
                               })
                   .in(name));
  }
  inventory.files = files.finish();
  return inventory;
}

Result<Inventory> take_inventory(const image::ApplicationImage& ir) {
  Inventory inventory{
      .kind = "ir", .image = ir.image().digest(), .annotations = ir.image().manifest().annotations};
  XAAS_TRY(inventory.packages, image::package_uses(ir.bundle()));
  return inventory;
}

} // namespace xaas::provenance
