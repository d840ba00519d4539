#include <xaas/provenance/sbom.h>

#include <openssl/evp.h>

#include <memory>

namespace xaas::provenance {

namespace {

// Both digests of a file, whose content may come in pieces.
class FileHasher {
public:
  FileHasher() : sha1_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(sha1_.get(), EVP_sha1(), nullptr);
  }

  void update(std::string_view piece) {
    EVP_DigestUpdate(sha1_.get(), piece.data(), piece.size());
    sha256_.update(piece);
  }

  FileHash finish(const std::string& path) { // once
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(sha1_.get(), bytes, &size);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text += digits[bytes[i] >> 4];
      text += digits[bytes[i] & 15];
    }
    return {path, text, sha256_.finish()};
  }

private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> sha1_;
  Hasher sha256_;
};

} // namespace

FileHash hash_file(const std::string& path, std::string_view content) {
  FileHasher hasher;
  hasher.update(content);
  return hasher.finish(path);
}

void FileList::take_file(const std::string& path, std::string_view content) {
  files_["/" + path] = hash_file("/" + path, content);
}

void FileList::take_other(const std::string& path) {
  files_.erase("/" + path);
}

Result<void> FileList::take(const oci::LayerEntry& entry, oci::LayerContent& content) {
  const std::string path = "/" + entry.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (oci::is_whiteout(entry.path)) {
    const std::string above = path.substr(0, path.size() - name.size());
    remove(name == oci::opaque_whiteout ? above : above + name.substr(oci::whiteout_prefix.size()));
    return {};
  }
  if (entry.kind == oci::LayerEntry::Kind::file) {
    FileHasher hasher;
    while (true) {
      XAAS_TRY(const std::string_view piece, content.next());
      if (piece.empty())
        break;
      hasher.update(piece);
    }
    files_[path] = hasher.finish(path);
    return {};
  }
  const auto linked = files_.find("/" + entry.link);
  if (entry.kind == oci::LayerEntry::Kind::hard_link && linked != files_.end())
    files_[path] = {path, linked->second.sha1, linked->second.sha256};
  else
    take_other(entry.path);
  return {};
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
  XAAS_TRY(inventory.plugins, image::plugins_of(deployed.manifest().annotations).in(name));
  FileList files;
  for (size_t i = 0; i < deployed.manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = deployed.manifest().layers[i];
    if (image::layer_role(layer) == image::base_role)
      continue; // one package in the SBOM
    XAAS_TRY(const oci::BlobPtr blob, deployed.open_blob(layer));
    XAAS_CHECK(oci::stream_layer(blob, layer.media_type, &deployed.config().diff_ids.at(i), oci::layer_limit,
                                 [&](const oci::LayerEntry& entry, oci::LayerContent& content) {
                                   return files.take(entry, content);
                                 })
                   .in(name));
  }
  inventory.files = files.finish();
  return inventory;
}

Result<Inventory> take_inventory(const image::ApplicationImage& ir) {
  Inventory inventory{.kind = image::kind_of(ir.image()),
                      .image = ir.image().digest(),
                      .annotations = ir.image().manifest().annotations};
  XAAS_TRY(inventory.packages, image::package_uses(ir.bundle()));
  return inventory;
}

} // namespace xaas::provenance
