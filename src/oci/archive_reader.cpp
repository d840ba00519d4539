// Reads untrusted archives.
//
// A tar is read like a layer: decompressed, then counted, then parsed, so that the limit also covers content
// that libarchive skips. libarchive's filters decompress the many formats, except those that would run a
// program. A zip has its directory at the end and is read in place; libarchive's streaming reader, which does
// without that directory, loses modes and symlinks.
#include "archive_reader.h"

#include "blob.h"
#include "raw_locale.h"

#include <archive_entry.h>

#include <cstdio>
#include <vector>

namespace xaas::oci {

namespace {

constexpr const char* unread = "reading an archive: out of memory";

class FilteredSource : public Decompressor, ArchiveInput {
public:
  explicit FilteredSource(BlobPtr blob) : input_(std::move(blob)) {}

  Result<void> start() {
    archive* const reader = reader_.get();
    if (!reader)
      return make_error(ErrorKind::failed, unread);
    for (const auto support :
         {archive_read_support_filter_gzip, archive_read_support_filter_bzip2, archive_read_support_filter_xz,
          archive_read_support_filter_lzma, archive_read_support_filter_lzip, archive_read_support_filter_lz4,
          archive_read_support_filter_zstd, archive_read_support_filter_compress,
          archive_read_support_format_raw})
      if (support(reader) != ARCHIVE_OK)
        return error(reader);
    archive_entry* whole = nullptr;
    if (archive_read_open(reader, this, nullptr, read, nullptr) != ARCHIVE_OK ||
        archive_read_next_header(reader, &whole) != ARCHIVE_OK)
      return error(reader);
    return {};
  }

  Result<std::string_view> next() override {
    const la_ssize_t count = archive_read_data(reader_.get(), buffer_.data(), buffer_.size());
    if (count < 0)
      return error(reader_.get());
    return std::string_view(buffer_.data(), static_cast<size_t>(count));
  }

private:
  static la_ssize_t read(archive* reader, void* data, const void** buffer) {
    FilteredSource& source = *static_cast<FilteredSource*>(data);
    auto piece = source.input_.next();
    if (!piece)
      return source.failed(reader, std::move(piece).error());
    *buffer = piece->data();
    return static_cast<la_ssize_t>(piece->size());
  }

  BlobReader input_;
  ArchiveReader reader_{archive_read_new(), archive_read_free};
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

// A blob with random access.
class PlacedInput : public ArchiveInput {
public:
  explicit PlacedInput(const Blob& blob) : blob_(blob) {}

  static la_ssize_t read(archive* reader, void* data, const void** buffer) {
    PlacedInput& input = *static_cast<PlacedInput*>(data);
    auto count = input.blob_.read(input.at_, input.buffer_.data(), input.buffer_.size());
    if (!count)
      return input.failed(reader, std::move(count).error());
    input.at_ += *count;
    *buffer = input.buffer_.data();
    return static_cast<la_ssize_t>(*count);
  }

  static la_int64_t seek(archive*, void* data, la_int64_t offset, int whence) {
    PlacedInput& input = *static_cast<PlacedInput*>(data);
    const auto size = static_cast<la_int64_t>(input.blob_.size());
    const la_int64_t from = whence == SEEK_SET   ? 0
                            : whence == SEEK_END ? size
                                                 : static_cast<la_int64_t>(input.at_);
    if (offset < -from || offset > size - from)
      return ARCHIVE_FATAL;
    input.at_ = static_cast<uint64_t>(from + offset);
    return from + offset;
  }

private:
  const Blob& blob_;
  uint64_t at_ = 0;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

Result<void> read_zip(const Blob& blob, uint64_t limit, const OnEntry& entry) {
  const ArchiveReader opened(archive_read_new(), archive_read_free);
  archive* const reader = opened.get();
  if (!reader)
    return make_error(ErrorKind::failed, unread);
  PlacedInput input(blob);
  archive_read_support_format_zip_seekable(reader);
  archive_read_set_read_callback(reader, PlacedInput::read);
  archive_read_set_seek_callback(reader, PlacedInput::seek);
  archive_read_set_callback_data(reader, &input);
  if (archive_read_open1(reader) != ARCHIVE_OK)
    return input.error(reader);
  return read_entries(reader, input, Whiteouts::ordinary, limit, entry);
}

Result<void> read_tar(const BlobPtr& blob, uint64_t limit, const OnEntry& entry) {
  FilteredSource source(blob);
  XAAS_CHECK(source.start());
  const ArchiveReader opened(archive_read_new(), archive_read_free);
  archive* const reader = opened.get();
  if (!reader)
    return make_error(ErrorKind::failed, unread);
  Feed feed(source, false, limit);
  archive_read_support_format_tar(reader);
  if (archive_read_open(reader, &feed, nullptr, Feed::read, nullptr) != ARCHIVE_OK)
    return feed.error(reader);
  return read_entries(reader, feed, Whiteouts::ordinary, limit, entry);
}

} // namespace

Result<void> read_archive(const BlobPtr& archive, uint64_t limit, const OnEntry& entry) {
  const RawLocale raw;
  char start[4] = {};
  XAAS_TRY(const size_t count, archive->read(0, start, sizeof(start)));
  const std::string_view magic(start, count); // APPNOTE.TXT 4.3.7, 4.3.16
  if (magic == "PK\3\4" || magic == "PK\5\6")
    return read_zip(*archive, limit, entry);
  return read_tar(archive, limit, entry);
}

} // namespace xaas::oci
