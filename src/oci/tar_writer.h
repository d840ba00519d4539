// Tar members as bytes.
//
// Not written with libarchive, because a layer's digest must be a function of its entries alone, whereas
// libarchive's output depends on its version and on the locale (it stores a non-ASCII name unchanged,
// converted, or twice). The format is small: a ustar header, preceded by a pax header only if a name, a size
// or a time does not fit.
#pragma once

#include <cstdint>
#include <string>

namespace xaas::oci {

struct TarMember {
  enum class Type : char { file = '0', hard_link = '1', symlink = '2', directory = '5' } type = Type::file;
  std::string path; // without a trailing '/'
  unsigned mode = 0644;
  uint64_t user = 0, group = 0; // of the owner
  uint64_t size = 0;
  int64_t time = 0;
  std::string link; // destination of a link
};

// The headers before the member's content, a multiple of 512 bytes. The owner has no names.
std::string tar_header(const TarMember& member);
// Zeros that pad a content of `size` bytes to a multiple of 512.
std::string tar_padding(uint64_t size);
// The end of an archive.
std::string tar_end();

} // namespace xaas::oci
