#include "entry.h"

#include <zstd.h>

namespace xaas::store {

namespace {

constexpr int compression_level = 1; // time matters more than size
constexpr uint64_t max_value = uint64_t(1) << 32;

std::string compressed(std::string_view value) {
  std::string frame(ZSTD_compressBound(value.size()), '\0');
  const size_t size =
      ZSTD_compress(frame.data(), frame.size(), value.data(), value.size(), compression_level);
  frame.resize(ZSTD_isError(size) ? 0 : size);
  return frame;
}

std::optional<std::string> decompressed(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > max_value) // including the two values for "unknown" and "error"
    return std::nullopt;
  std::string value(size, '\0');
  const size_t done = ZSTD_decompress(value.data(), value.size(), frame.data(), frame.size());
  if (ZSTD_isError(done) || done != size)
    return std::nullopt;
  return value;
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes().data()), Digest::size};
}

std::string seal_of(const Digest& key, std::string_view frame) {
  Hasher hasher;
  hasher.update(bytes_of(key));
  hasher.update(frame);
  return std::string(bytes_of(hasher.finish()));
}

} // namespace

fs::path entry_path(const Digest& key) {
  const std::string hex = key.hex();
  return fs::path(hex.substr(0, 2)) / hex.substr(2);
}

std::string to_entry(const Digest& key, std::string_view value) {
  const std::string frame = compressed(value);
  return frame.empty() ? frame : seal_of(key, frame) + frame;
}

std::optional<std::string> from_entry(const Digest& key, std::string_view entry) {
  if (entry.size() < Digest::size)
    return std::nullopt;
  const std::string_view frame = entry.substr(Digest::size);
  if (seal_of(key, frame) != entry.substr(0, Digest::size))
    return std::nullopt;
  return decompressed(frame);
}

} // namespace xaas::store
