// Tar members as bytes.
//
// Written by hand: a layer's digest must be a function of its entries alone, but what libarchive writes
// depends on the locale (it stores a name that is not ASCII as it is, converted, or twice) and on its
// version. The format is small: a ustar header, and before it a pax header only where a name, a size or a
// time does not fit into ustar.
#pragma once

#include <cstdint>
#include <string>

namespace xaas::oci {

struct TarMember {
  enum class Type : char { file = '0', symlink = '2', directory = '5' } type = Type::file;
  std::string path; // without a trailing '/'
  unsigned mode = 0644;
  uint64_t size = 0;
  int64_t time = 0;
  std::string link; // destination of a symlink
};

// Everything before the member's content: a multiple of 512 bytes. Owner is 0:0 without names.
std::string tar_header(const TarMember& member);
// Zeros that fill a content of `size` bytes up to a multiple of 512.
std::string tar_padding(uint64_t size);
// The end of an archive.
std::string tar_end();

} // namespace xaas::oci
