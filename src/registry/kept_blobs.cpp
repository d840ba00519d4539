#include "kept_blobs.h"

namespace xaas::registry {

namespace {

// The blobs of one directory. Removes damaged ones and treats them as missing.
oci::BlobPtr get_from(const store::Cache& cache, const oci::Descriptor& blob) {
  const std::optional<fs::path> path = cache.file(blob.digest);
  if (!path)
    return nullptr;
  const Result<oci::BlobPtr> found = oci::blob_in_file(*path);
  if (found && oci::read_checked(**found, blob))
    return *found;
  cache.remove(blob.digest);
  return nullptr;
}

Result<oci::BlobPtr> keep_in(const store::Cache& cache, const oci::Descriptor& blob, const oci::Blob& bytes,
                             Progress* progress) {
  XAAS_TRY(FileWriter writer, cache.new_file(blob.digest));
  XAAS_CHECK(oci::read_checked(bytes, blob, [&](std::string_view piece) -> Result<void> {
    XAAS_CHECK(writer.write(piece));
    if (progress)
      progress->advance(piece.size());
    return {};
  }));
  XAAS_CHECK(writer.commit(false));
  if (const std::optional<fs::path> path = cache.file(blob.digest))
    return oci::blob_in_file(*path);
  return make_error(ErrorKind::storage, cache.root().string() + ": a file just written has disappeared");
}

} // namespace

Result<store::Cache> KeptBlobs::own() const {
  const std::lock_guard<std::mutex> once(mutex_);
  if (!directory_) {
    XAAS_TRY(TemporaryDirectory made, TemporaryDirectory::create());
    directory_.emplace(std::move(made));
  }
  return store::Cache::at(directory_->path());
}

oci::BlobPtr KeptBlobs::get(const oci::Descriptor& blob) const {
  if (cache_)
    if (oci::BlobPtr found = get_from(*cache_, blob))
      return found;
  {
    const std::lock_guard<std::mutex> reading(mutex_);
    if (!directory_)
      return nullptr;
  }
  return get_from(store::Cache::at(directory_->path()), blob);
}

std::optional<std::string> KeptBlobs::text(const Digest& digest, uint64_t limit) const {
  // The size is that of the file.
  const auto read = [&](const store::Cache& cache) -> std::optional<std::string> {
    const std::optional<fs::path> path = cache.file(digest);
    if (!path)
      return std::nullopt;
    const Result<std::string> bytes = read_file(*path, limit);
    return bytes && digest_of(*bytes) == digest ? std::optional<std::string>(*bytes) : std::nullopt;
  };
  if (cache_)
    if (auto found = read(*cache_))
      return found;
  const std::lock_guard<std::mutex> reading(mutex_);
  return directory_ ? read(store::Cache::at(directory_->path())) : std::nullopt;
}

void KeptBlobs::put(const Digest& digest, const std::string& bytes) const {
  const auto write = [&](const store::Cache& cache) -> Result<void> {
    if (cache.file(digest))
      if (const auto known = text(digest, bytes.size()))
        return {};
    XAAS_TRY(FileWriter writer, cache.new_file(digest));
    XAAS_CHECK(writer.write(bytes));
    return writer.commit(false);
  };
  if (cache_ && write(*cache_))
    return;
  if (const Result<store::Cache> cache = own())
    static_cast<void>(write(*cache));
}

Result<oci::BlobPtr> KeptBlobs::keep(const oci::Descriptor& blob,
                                     const std::function<Result<oci::BlobPtr>()>& open,
                                     Progress* progress) const {
  if (cache_) {
    XAAS_TRY(const oci::BlobPtr bytes, open());
    Result<oci::BlobPtr> kept = keep_in(*cache_, blob, *bytes, progress);
    if (kept || kept.error().kind != ErrorKind::storage)
      return kept;
  }
  XAAS_TRY(const store::Cache cache, own());
  XAAS_TRY(const oci::BlobPtr bytes, open());
  return keep_in(cache, blob, *bytes, progress);
}

} // namespace xaas::registry
