// Fat binaries. An accepted one survives writing and reading.
#include "fuzz.h"

#include <xaas/device/fat_binary.h>

namespace {

using namespace xaas;
using namespace xaas::device;

using Stored = std::vector<StoredImage>;

// Nothing where an image is none that can be written.
std::vector<DeviceImage> writable(const Stored& stored) {
  std::vector<DeviceImage> images;
  for (const StoredImage& image : stored)
    if (image.kind != StoredImage::Kind::other && image.compression == StoredImage::Compression::none)
      images.push_back(
          {image.kind == StoredImage::Kind::ptx ? DeviceImage::Kind::ptx : DeviceImage::Kind::cubin,
           image.arch, std::string(image.bytes)});
  return images;
}

void write_and_read(const DeviceImage& image) {
  const Result<std::string> written = fat_binary({image});
  require(written || written.error().kind == ErrorKind::integrity || written.error().kind == ErrorKind::usage,
          "kind of error of writing");
  if (!written)
    return;
  const Result<Stored> read = parse_fat_binary(*written);
  require(read && read->size() == 1, "what was written can be read");
  const bool ptx = image.kind == DeviceImage::Kind::ptx;
  require(read->front().kind == (ptx ? StoredImage::Kind::ptx : StoredImage::Kind::cubin), "its kind");
  require(read->front().arch == image.arch, "its architecture");
  const std::string_view bytes = read->front().bytes;
  require(bytes.substr(0, image.bytes.size()) == image.bytes, "its bytes");
  require(bytes.size() - image.bytes.size() < (ptx ? 1 : 8), "and nothing behind them");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Result<Stored> read = parse_fat_binary(input);
  require(read || read.error().kind == ErrorKind::integrity, "kind of error of reading");
  if (!read)
    return 0;
  size_t all = 0;
  for (const StoredImage& image : *read) {
    all += image.bytes.size();
    require(image.bytes.empty() || (image.bytes.data() >= input.data() &&
                                    image.bytes.data() + image.bytes.size() <= input.data() + input.size()),
            "bytes of the input");
    require(image.compression != StoredImage::Compression::none || image.size == image.bytes.size(),
            "what is not compressed has one size");
  }
  require(all <= size, "images that do not overlap");
  for (const DeviceImage& image : writable(*read))
    write_and_read(image);
  return 0;
}
