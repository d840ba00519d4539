// Reads untrusted layers.
//
// We decompress and libarchive parses the tar, so that the limit and the digest of the uncompressed bytes
// hold whatever the tar contains.

#include "archive_entries.h"
#include "raw_locale.h"

#include <xaas/base/huge_pages.h>

#include <algorithm>

namespace xaas::oci {

// Larger contents grow as they come: a size may be a lie.
static constexpr uint64_t most_reserved = uint64_t(256) << 20;

Result<void> stream_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                          uint64_t limit, const OnEntry& entry) {
  XAAS_TRY(const std::unique_ptr<Decompressor> source, make_decompressor(blob, media_type));
  const RawLocale raw;
  const ArchiveReader reader(archive_read_new(), archive_read_free);
  if (!reader)
    return make_error(ErrorKind::failed, "reading a layer: out of memory");
  Feed feed(*source, diff_id != nullptr, limit);
  archive_read_support_format_tar(reader.get());
  if (archive_read_open(reader.get(), &feed, nullptr, Feed::read, nullptr) != ARCHIVE_OK)
    return feed.error(reader.get());
  XAAS_CHECK(read_entries(reader.get(), feed, Whiteouts::checked, limit, entry));
  XAAS_TRY(const Digest found, feed.finish());
  if (diff_id && found != *diff_id)
    return damaged("the uncompressed layer has the digest " + found.to_string() +
                   ", the configuration says " + diff_id->to_string());
  return {};
}

Result<void> read_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                        const std::function<Result<void>(LayerEntry)>& entry, uint64_t limit) {
  return stream_layer(blob, media_type, diff_id, limit,
                      [&](LayerEntry& next, LayerContent& content) -> Result<void> {
                        if (next.kind != LayerEntry::Kind::file)
                          return entry(std::move(next));
                        reserve(next.content, std::min(content.claimed_size(), most_reserved));
                        while (true) {
                          XAAS_TRY(const std::string_view piece, content.next());
                          if (piece.empty())
                            break;
                          next.content += piece;
                        }
                        return entry(std::move(next));
                      });
}

} // namespace xaas::oci
