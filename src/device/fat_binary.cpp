#include <xaas/device/fat_binary.h>

#include <xaas/target/gpu.h>

#include <llvm/Object/ELF.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace xaas::device {

namespace {

using target::GpuArch;
using Elf = llvm::object::ELF64LE;

constexpr uint32_t fat_magic = 0xba55ed50;
constexpr uint64_t file_header = 16, image_header = 64, alignment = 8;
constexpr uint16_t file_version = 1, image_version = 0x0101;

enum Kinds : uint16_t { ptx_kind = 1, elf_kind = 2 };

enum Flags : uint64_t {
  flag_64_bit = 0x1,
  flag_linux = 0x10,
  flag_old_compression = 0x1000,
  flag_lz4 = 0x2000,
  flag_zstd = 0x8000,
  flag_specific = 0x100000,
  flag_family = 0x200000,
  flag_compatible = 0x1000000, // of cubins for sm_100 and later
};
constexpr unsigned first_compatible = 100;

uint64_t aligned(uint64_t size) {
  return (size + alignment - 1) / alignment * alignment;
}

// --- writing

void add(std::string& out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out += i < sizeof value ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
}

void fill(std::string& out) {
  out.resize(aligned(out.size()));
}

// The parts that differ between images.
struct Entry {
  uint16_t kind;
  uint16_t major, minor;
  uint64_t flags;
  std::string additional; // the additional part; empty: none
  std::string payload;
};

// Empty options for ptxas, then the contents of `.nv.compat`.
std::string additional_part(std::string_view compatibility) {
  constexpr uint64_t own_size = 8;
  std::string part;
  add(part, image_header + own_size, 4);
  add(part, compatibility.size(), 4);
  part += '\0';
  part += compatibility;
  fill(part);
  return part;
}

void add_entry(std::string& out, const Entry& entry, const GpuArch& arch) {
  const uint64_t suffix = arch.features == GpuArch::Features::specific ? flag_specific
                          : arch.features == GpuArch::Features::family ? flag_family
                                                                       : 0;
  add(out, entry.kind, 2);
  add(out, image_version, 2);
  add(out, image_header + entry.additional.size(), 4);
  add(out, aligned(entry.payload.size()), 8);
  add(out, 0, 4); // not compressed
  add(out, entry.additional.empty() ? 0 : image_header, 4);
  add(out, entry.minor, 2);
  add(out, entry.major, 2);
  add(out, arch.major * 10 + arch.minor, 4);
  add(out, 0, 8); // no name
  add(out, flag_64_bit | flag_linux | suffix | entry.flags, 8);
  add(out, 0, 16);
  out += entry.additional;
  out += entry.payload;
  fill(out);
}

// Skips white space and comments of PTX.
std::string_view without_comments(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const char* const end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : nullptr;
    if (!end)
      return text;
    const size_t at = text.find(end, 2);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + std::string_view(end).size());
  }
}

// Takes the digits off the start of `text`; nothing if there are none or too many.
std::optional<uint16_t> take_number(std::string_view& text) {
  constexpr size_t most = 4;
  const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  if (length == 0 || length > most)
    return std::nullopt;
  uint16_t value = 0;
  std::from_chars(text.data(), text.data() + length, value);
  text.remove_prefix(length);
  return value;
}

Result<Entry> ptx_entry(const DeviceImage& image) {
  const auto damaged = [&](const std::string& what) {
    return make_error(ErrorKind::integrity, "PTX for " + image.arch + ": " + what);
  };
  if (image.bytes.find('\0') != std::string::npos)
    return damaged("a zero byte at " + std::to_string(image.bytes.find('\0')));
  constexpr std::string_view directive = ".version";
  std::string_view rest = without_comments(image.bytes);
  if (!rest.starts_with(directive))
    return damaged("it does not begin with .version");
  rest.remove_prefix(directive.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::optional<uint16_t> major = take_number(rest);
  if (!major || !rest.starts_with('.'))
    return damaged("its .version is malformed");
  rest.remove_prefix(1);
  const std::optional<uint16_t> minor = take_number(rest);
  if (!minor)
    return damaged("its .version is malformed");
  return Entry{ptx_kind, *major, *minor, 0, additional_part(""), image.bytes + '\0'};
}

// The section with this name; nothing if there is none. Not an ELF file: error.
llvm::Expected<std::optional<std::string_view>> section(const llvm::object::ELFFile<Elf>& file,
                                                        llvm::StringRef name) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr& each : *sections) {
    auto its_name = file.getSectionName(each);
    if (!its_name)
      return its_name.takeError();
    if (*its_name != name)
      continue;
    auto contents = file.getSectionContents(each);
    if (!contents)
      return contents.takeError();
    return std::string_view(reinterpret_cast<const char*>(contents->data()), contents->size());
  }
  return std::nullopt;
}

// The number of the architecture, at the place that the ABI version determines.
unsigned arch_number(const Elf::Ehdr& header) {
  return header.e_ident[llvm::ELF::EI_ABIVERSION] >= llvm::ELF::ELFABIVERSION_CUDA_V2
             ? (header.e_flags & llvm::ELF::EF_CUDA_SM_MASK) >> llvm::ELF::EF_CUDA_SM_OFFSET
             : header.e_flags & llvm::ELF::EF_CUDA_SM;
}

Result<Entry> cubin_entry(const DeviceImage& image, const GpuArch& arch) {
  const auto damaged = [&](const std::string& what) {
    return make_error(ErrorKind::integrity, "cubin for " + image.arch + ": " + what);
  };
  auto file = llvm::object::ELFFile<Elf>::create(image.bytes);
  if (!file)
    return damaged(llvm::toString(file.takeError()));
  const Elf::Ehdr& header = file->getHeader();
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB || header.e_machine != llvm::ELF::EM_CUDA)
    return damaged("it is not an ELF file for an NVIDIA GPU");
  const unsigned number = arch.major * 10 + arch.minor;
  if (arch_number(header) != number)
    return damaged("it is for sm_" + std::to_string(arch_number(header)));
  Entry entry{elf_kind, 1, header.e_ident[llvm::ELF::EI_ABIVERSION], 0, {}, image.bytes};
  if (number < first_compatible)
    return entry;
  entry.flags = flag_compatible;
  auto compatibility = section(*file, ".nv.compat");
  if (!compatibility)
    return damaged(llvm::toString(compatibility.takeError()));
  if (*compatibility)
    entry.additional = additional_part(**compatibility);
  return entry;
}

Result<GpuArch> nvidia_arch(const std::string& name) {
  XAAS_TRY(const GpuArch arch, target::gpu_arch(name));
  if (arch.vendor != GpuArch::Vendor::nvidia)
    return make_error(ErrorKind::usage, "a fat binary has no images for " + name);
  return arch;
}

// --- reading

Error bad_fat_binary(const std::string& what) {
  return make_error(ErrorKind::integrity, "fat binary: " + what);
}

// The caller has checked that the bytes exist.
uint64_t number_at(std::string_view bytes, size_t offset, unsigned size) {
  uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i)
    value |= uint64_t(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

StoredImage::Compression compression_of(uint64_t flags) {
  using Compression = StoredImage::Compression;
  switch (flags & (flag_old_compression | flag_lz4 | flag_zstd)) {
  case 0:
    return Compression::none;
  case flag_lz4:
    return Compression::lz4;
  case flag_zstd:
    return Compression::zstd;
  default:
    return Compression::other;
  }
}

Result<std::string> arch_of(uint64_t number, uint64_t flags) {
  constexpr uint64_t first = 10, last = 9999; // other numbers are not architectures
  const bool specific = flags & flag_specific, family = flags & flag_family;
  if (number < first || number > last || (specific && family))
    return bad_fat_binary("an image for architecture " + std::to_string(number) + ", flags " +
                          std::to_string(flags));
  return "sm_" + std::to_string(number) + (specific ? "a" : family ? "f" : "");
}

// Takes one image off the start of `rest`.
Result<StoredImage> take_image(std::string_view& rest) {
  if (rest.size() < image_header)
    return bad_fat_binary(std::to_string(rest.size()) + " bytes at its end are too few for an image");
  const uint64_t header = number_at(rest, 4, 4), payload = number_at(rest, 8, 8);
  if (header < image_header || header > rest.size() || payload > rest.size() - header)
    return bad_fat_binary("an image with a header of " + std::to_string(header) + " bytes and " +
                          std::to_string(payload) + " more where there are " + std::to_string(rest.size()));
  const uint64_t flags = number_at(rest, 40, 8);
  StoredImage image;
  const uint64_t kind = number_at(rest, 0, 2);
  image.kind = kind == ptx_kind   ? StoredImage::Kind::ptx
               : kind == elf_kind ? StoredImage::Kind::cubin
                                  : StoredImage::Kind::other;
  XAAS_TRY(image.arch, arch_of(number_at(rest, 28, 4), flags));
  image.compression = compression_of(flags);
  image.bytes = rest.substr(header, payload);
  if (image.compression != StoredImage::Compression::none) {
    constexpr uint64_t most = uint64_t(1) << 40; // no device code is larger, and sums do not overflow
    const uint64_t compressed = number_at(rest, 16, 4);
    image.size = number_at(rest, 56, 8);
    if (compressed > payload || image.size > most)
      return bad_fat_binary("a compressed image for " + image.arch + " of " + std::to_string(compressed) +
                            " bytes where there are " + std::to_string(payload) + ", of " +
                            std::to_string(image.size) + " uncompressed");
    image.bytes = image.bytes.substr(0, compressed);
  } else {
    if (image.kind == StoredImage::Kind::ptx)
      image.bytes = image.bytes.substr(0, image.bytes.find_last_not_of('\0') + 1);
    image.size = image.bytes.size();
  }
  rest.remove_prefix(header + payload);
  return image;
}

// Takes one fat binary off the start of `rest`.
Result<void> take_file(std::string_view& rest, std::vector<StoredImage>& images) {
  if (rest.size() < file_header)
    return bad_fat_binary(std::to_string(rest.size()) + " bytes are too few for one");
  if (number_at(rest, 0, 4) != fat_magic)
    return bad_fat_binary("it has no magic at its start");
  const uint64_t version = number_at(rest, 4, 2), header = number_at(rest, 6, 2),
                 size = number_at(rest, 8, 8);
  if (version != file_version)
    return bad_fat_binary("version " + std::to_string(version) + " is not known");
  if (header < file_header || header > rest.size() || size > rest.size() - header)
    return bad_fat_binary("it says that it has " + std::to_string(header) + " and " + std::to_string(size) +
                          " bytes; there are " + std::to_string(rest.size()));
  std::string_view inside = rest.substr(header, size);
  while (!inside.empty()) {
    XAAS_TRY(StoredImage image, take_image(inside));
    images.push_back(std::move(image));
  }
  rest.remove_prefix(header + size);
  return {};
}

} // namespace

Result<std::string> fat_binary(const std::vector<DeviceImage>& images) {
  std::string entries;
  for (const DeviceImage& image : images) {
    XAAS_TRY(const GpuArch arch, nvidia_arch(image.arch));
    XAAS_TRY(const Entry entry,
             image.kind == DeviceImage::Kind::ptx ? ptx_entry(image) : cubin_entry(image, arch));
    add_entry(entries, entry, arch);
  }
  std::string file;
  add(file, fat_magic, 4);
  add(file, file_version, 2);
  add(file, file_header, 2);
  add(file, entries.size(), 8);
  return file + entries;
}

Result<std::vector<StoredImage>> parse_fat_binary(std::string_view bytes) {
  std::vector<StoredImage> images;
  std::string_view rest = bytes;
  do {
    XAAS_CHECK(take_file(rest, images));
    const uint64_t at = bytes.size() - rest.size(), filling = std::min(aligned(at) - at, rest.size());
    if (rest.substr(0, filling).find_first_not_of('\0') != std::string_view::npos)
      return bad_fat_binary("something other than zeros behind it");
    rest.remove_prefix(filling);
  } while (!rest.empty());
  return images;
}

} // namespace xaas::device
