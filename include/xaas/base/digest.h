// SHA-256 digests, written `sha256:<64 lower-case hex digits>` (OCI image specification, descriptor.md,
// "Digests").
#pragma once

#include <xaas/base/result.h>

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace xaas {

class Digest {
public:
  static constexpr size_t size = 32;
  using Bytes = std::array<uint8_t, size>;

  Digest() = default; // all zero: the digest of nothing
  explicit Digest(const Bytes& bytes) : bytes_(bytes) {}

  // Accepts exactly `sha256:` and 64 lower-case hex digits; anything else is an integrity error.
  static Result<Digest> parse(std::string_view text);

  const Bytes& bytes() const { return bytes_; }
  std::string hex() const;
  std::string to_string() const { return "sha256:" + hex(); }
  auto operator<=>(const Digest&) const = default;

private:
  Bytes bytes_{};
};

// Computes a digest incrementally.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(std::string_view data);
  // Adds a number as eight little-endian bytes, to delimit variable-length parts.
  void update_number(uint64_t value);
  // Adds the length, then the data: parts added one after the other stay apart.
  void update_part(std::string_view data);
  Digest finish(); // once

private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest digest_of(std::string_view data);
Result<Digest> digest_of_file(const std::filesystem::path& path);
// The digest of the rest of an open file, from its present position; `path` is for messages.
Result<Digest> digest_of_open(int file, const std::filesystem::path& path);

} // namespace xaas

template <> struct std::hash<xaas::Digest> {
  size_t operator()(const xaas::Digest& digest) const noexcept {
    size_t value = 0;
    for (size_t i = 0; i < sizeof(value); ++i)
      value = value << 8 | digest.bytes()[i];
    return value;
  }
};
