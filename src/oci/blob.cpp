#include "blob.h"

#include <xaas/base/file_descriptor.h>
#include <xaas/base/process.h>
#include <xaas/oci/blob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace xaas::oci {

namespace {

class BytesInMemory : public Blob {
public:
  explicit BytesInMemory(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) const override {
    if (offset >= bytes_.size())
      return size_t(0);
    return bytes_.copy(buffer, capacity, static_cast<size_t>(offset));
  }

private:
  std::string bytes_;
};

class BytesInFile : public Blob {
public:
  BytesInFile(fs::path path, std::shared_ptr<const FileDescriptor> file, uint64_t begin, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), begin_(begin), size_(size) {}
  uint64_t size() const override { return size_; }
  Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) const override {
    if (offset >= size_)
      return size_t(0);
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(capacity, size_ - offset));
    while (true) {
      const ssize_t count = pread(file_->get(), buffer, wanted, static_cast<off_t>(begin_ + offset));
      if (count >= 0)
        return static_cast<size_t>(count);
      if (errno != EINTR)
        return errno_error(errno, "reading " + path_.string());
    }
  }

private:
  fs::path path_;
  std::shared_ptr<const FileDescriptor> file_;
  uint64_t begin_, size_;
};

} // namespace

BlobPtr blob_of(std::string bytes) {
  return std::make_shared<BytesInMemory>(std::move(bytes));
}

BlobPtr blob_in(const fs::path& path, std::shared_ptr<const FileDescriptor> file, uint64_t begin,
                uint64_t size) {
  return std::make_shared<BytesInFile>(path, std::move(file), begin, size);
}

Result<BlobPtr> blob_in_file(const fs::path& path) {
  XAAS_TRY(FileDescriptor file, open_file(path));
  struct stat status{};
  if (fstat(file.get(), &status) != 0)
    return errno_error(errno, "reading " + path.string());
  if (!S_ISREG(status.st_mode))
    return make_error(ErrorKind::integrity, path.string() + ": not a regular file");
  return blob_in(path, std::make_shared<FileDescriptor>(std::move(file)), 0,
                 static_cast<uint64_t>(status.st_size));
}

std::string name_of(const Descriptor& descriptor) {
  return "blob " + descriptor.digest.to_string();
}

Result<void> read_checked(const Blob& blob, const Descriptor& descriptor, const PieceSink& sink) {
  const auto mismatch = [&](const std::string& what) {
    return make_error(ErrorKind::integrity, name_of(descriptor) + ": " + what);
  };
  if (blob.size() != descriptor.size)
    return mismatch(std::to_string(blob.size()) + " bytes, where " + std::to_string(descriptor.size) +
                    " are expected");
  Hasher hasher;
  std::vector<char> buffer(static_cast<size_t>(std::min<uint64_t>(piece_size, descriptor.size)));
  for (uint64_t offset = 0; offset < descriptor.size;) {
    XAAS_CHECK(check_interrupt());
    XAAS_TRY(const size_t count, blob.read(offset, buffer.data(), buffer.size()).in(name_of(descriptor)));
    if (count == 0)
      return mismatch("only " + std::to_string(offset) + " bytes, where " + std::to_string(descriptor.size) +
                      " are expected");
    const std::string_view piece(buffer.data(), count);
    hasher.update(piece);
    if (sink)
      XAAS_CHECK(sink(piece));
    offset += count;
  }
  if (const Digest found = hasher.finish(); found != descriptor.digest)
    return mismatch("damaged: its content has the digest " + found.to_string());
  return {};
}

Result<std::string> read_whole(const Blob& blob, uint64_t limit) {
  if (blob.size() > limit)
    return make_error(ErrorKind::integrity, std::to_string(blob.size()) + " bytes, more than the " +
                                                std::to_string(limit) + " allowed");
  std::string bytes(static_cast<size_t>(blob.size()), '\0');
  for (size_t have = 0; have < bytes.size();) {
    XAAS_TRY(const size_t count, blob.read(have, bytes.data() + have, bytes.size() - have));
    if (count == 0) // the file was truncated meanwhile
      bytes.resize(have);
    have += count;
  }
  return bytes;
}

Result<std::string_view> BlobReader::next() {
  XAAS_TRY(const size_t count, blob_->read(offset_, buffer_.data(), buffer_.size()));
  offset_ += count;
  return std::string_view(buffer_.data(), count);
}

} // namespace xaas::oci
