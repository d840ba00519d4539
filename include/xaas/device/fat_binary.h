// Fat binaries: several images of one program's device code in one file, of which CUDA's driver takes the one
// that fits the GPU. The wrapper that a program hands to __cudaRegisterFatBinary (fatbinary_section.h of the
// toolkit: magic 0x466243b1, version 1, a pointer) points to one.
//
// NVIDIA does not document the container. This description comes from the output of `fatbinary` and nvcc of
// CUDA 13.0 for given inputs, and agrees with public readers of the format (fatbin-decompress.c of Cricket,
// FORMAT_SPECIFICATION.md of nvopen-tools). All numbers are little-endian.
//
//   file     u32 magic 0xba55ed50, u16 version 1, u16 size of this header (16), u64 size of what follows
//   then each image, at a multiple of 8 bytes:
//    0  u16 kind: 1 PTX, 2 ELF (a cubin), 8 NVVM IR for link-time optimization
//    2  u16 0x0101
//    4  u32 size of this header, with what belongs to it: 64 and more
//    8  u64 size of the payload, which follows the header: a multiple of 8, filled up with zeros
//   16  u32 size of the compressed payload without the filling; 0: not compressed
//   20  u32 offset of the additional part in the header, 64 without a name; 0: none
//   24  u16 minor, u16 major version: PTX's own; of an ELF file its ABI version, and 1
//   28  u32 architecture: 90
//   32  u32 offset of the name in the header (`-ident`), u32 its length
//   40  u64 flags: 0x1 64 bit, 0x2 for debugging, 0x10 Linux, 0x2000 compressed by LZ4, 0x8000 by Zstandard,
//       0x100000 specific architecture (`a`), 0x200000 family (`f`), 0x1000000 a cubin for sm_100 and later
//   48  u64 0, in NVVM IR a number of unknown meaning
//   56  u64 size of the payload before compression; 0: not compressed
//   additional part: u32 offset of its text in the header, u32 length, then the text, then zeros up to a
//       multiple of 8. PTX: ptxas's options, empty by default, and a zero byte that the length does not
//       count. A cubin for sm_100 and later that has a section `.nv.compat`: a zero byte that the length does
//       not count, and that section's bytes.
//
// PTX ends with a zero byte, so that its payload is at least one byte longer than the text.
#pragma once

#include <xaas/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::device {

struct DeviceImage {
  enum class Kind { ptx, cubin };
  Kind kind = Kind::ptx;
  std::string arch; // "sm_90", "sm_90a"; of a cubin the one that it was assembled for
  std::string bytes;
};

// The images as one fat binary, in their order, uncompressed. Equal to what `fatbinary --compress=false`
// writes, except that fatbinary removes indentation and comments from PTX. Usage error: an architecture that
// is unknown or not NVIDIA's. Integrity error: PTX without `.version` or with a zero byte, or bytes that are
// not a cubin for the architecture.
Result<std::string> fat_binary(const std::vector<DeviceImage>& images);

// An image as stored in a fat binary.
struct StoredImage {
  enum class Kind { ptx, cubin, other }; // other: IR for link-time optimization, and unknown kinds
  enum class Compression { none, lz4, zstd, other };
  Kind kind = Kind::other;
  std::string arch; // always of the form `sm_NUMBER`, known or not
  Compression compression = Compression::none;
  std::string_view bytes; // of the input; compressed if the image is. Up to 7 zeros may follow a cubin
  uint64_t size = 0;      // in bytes, uncompressed; the size of `bytes` if the image is not compressed
};

// The images in a fat binary, or in several separated only by zeros up to a multiple of 8 bytes, as in a
// program's section `.nv_fatbin`. `bytes` must outlive the result. The input is untrusted: damage is an
// integrity error. Nothing is decompressed, and the images themselves are not checked.
Result<std::vector<StoredImage>> parse_fat_binary(std::string_view bytes);

} // namespace xaas::device
