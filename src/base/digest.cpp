#include <xaas/base/digest.h>
#include <xaas/base/file_descriptor.h>

#include <openssl/evp.h>

#include <cerrno>
#include <unistd.h>

namespace xaas {

namespace {
constexpr std::string_view hex_digits = "0123456789abcdef";
}

Result<Digest> Digest::parse(std::string_view text) {
  constexpr std::string_view prefix = "sha256:";
  auto bad = [&] {
    return make_error(ErrorKind::integrity, "'" + std::string(text.substr(0, 200)) +
                                                "' is not a digest (sha256: and 64 hex digits)");
  };
  if (text.substr(0, prefix.size()) != prefix || text.size() != prefix.size() + 2 * size)
    return bad();
  text.remove_prefix(prefix.size());
  Bytes bytes{};
  for (size_t i = 0; i < 2 * size; ++i) {
    const size_t value = hex_digits.find(text[i]);
    if (value == std::string_view::npos)
      return bad();
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | value);
  }
  return Digest(bytes);
}

std::string Digest::hex() const {
  std::string text;
  text.reserve(2 * size);
  for (const uint8_t byte : bytes_) {
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  return text;
}

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Hasher::~Hasher() = default;

void Hasher::update(std::string_view data) {
  EVP_DigestUpdate(state_->context, data.data(), data.size());
}

void Hasher::update_number(uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>(value >> (8 * i));
  update(std::string_view(bytes, sizeof(bytes)));
}

void Hasher::update_part(std::string_view data) {
  update_number(data.size());
  update(data);
}

Digest Hasher::finish() {
  Digest::Bytes bytes{};
  EVP_DigestFinal_ex(state_->context, bytes.data(), nullptr);
  return Digest(bytes);
}

Digest digest_of(std::string_view data) {
  Hasher hasher;
  hasher.update(data);
  return hasher.finish();
}

Result<Digest> digest_of_file(const std::filesystem::path& path) {
  XAAS_TRY(const FileDescriptor file, open_file(path));
  return digest_of_open(file.get(), path);
}

Result<Digest> digest_of_open(int file, const std::filesystem::path& path) {
  Hasher hasher;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(file, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno_error(errno, "reading " + path.string());
    if (count == 0)
      return hasher.finish();
    hasher.update({buffer, static_cast<size_t>(count)});
  }
}

} // namespace xaas
