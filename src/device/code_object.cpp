#include <xaas/device/code_object.h>

#include <xaas/target/gpu.h>

#include <llvm/BinaryFormat/MsgPackReader.h>
#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <map>
#include <optional>

namespace xaas::device {

namespace {

using Elf = llvm::object::ELF64LE;
using File = llvm::object::ELFFile<Elf>;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
// The same on every host, because Clang gives the bundler no other ID. A target ID would follow the last
// dash.
constexpr std::string_view host_id = "host-x86_64-unknown-linux-gnu-";
constexpr std::string_view device_id = "hipv4-amdgcn-amd-amdhsa--";
constexpr uint64_t bundle_alignment = 4096, entry_header = 24;

uint64_t bundle_aligned(uint64_t size) {
  return (size + bundle_alignment - 1) / bundle_alignment * bundle_alignment;
}

void add(std::string& out, uint64_t value) {
  for (unsigned i = 0; i < 8; ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
}

// --- code objects

Error damaged_object(const std::string& what) {
  return make_error(ErrorKind::integrity, "code object: " + what);
}

// The settings that are fixed, in the form of a target ID (AMDGPUUsage, "Target ID").
std::string settings(unsigned flags) {
  using namespace llvm::ELF;
  std::string text;
  if (const unsigned ecc = flags & EF_AMDGPU_FEATURE_SRAMECC_V4; ecc >= EF_AMDGPU_FEATURE_SRAMECC_OFF_V4)
    text += ecc == EF_AMDGPU_FEATURE_SRAMECC_ON_V4 ? ":sramecc+" : ":sramecc-";
  if (const unsigned xnack = flags & EF_AMDGPU_FEATURE_XNACK_V4; xnack >= EF_AMDGPU_FEATURE_XNACK_OFF_V4)
    text += xnack == EF_AMDGPU_FEATURE_XNACK_ON_V4 ? ":xnack+" : ":xnack-";
  return text;
}

// LLVM treats any other number as a programming error of the caller.
bool is_known_processor(unsigned flags) {
  using namespace llvm::ELF;
  constexpr unsigned last_in_order = EF_AMDGPU_MACH_AMDGCN_GFX1251; // a gap follows
  const unsigned processor = flags & EF_AMDGPU_MACH;
  for (const unsigned reserved : {EF_AMDGPU_MACH_AMDGCN_RESERVED_0X27, EF_AMDGPU_MACH_AMDGCN_RESERVED_0X40,
                                  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4B, EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4D,
                                  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X50, EF_AMDGPU_MACH_AMDGCN_RESERVED_0X56,
                                  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X57})
    if (processor == reserved)
      return false;
  return (processor >= EF_AMDGPU_MACH_AMDGCN_FIRST && processor <= last_in_order) ||
         processor == EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC;
}

Result<void> read_header(std::string_view bytes, const Elf::Ehdr& header, CodeObjectFacts& facts) {
  using namespace llvm::ELF;
  if (!header.checkMagic() || header.getFileClass() != ELFCLASS64 ||
      header.getDataEncoding() != ELFDATA2LSB || header.e_machine != EM_AMDGPU)
    return damaged_object("it is not an ELF file for an AMD GPU");
  if (header.e_type != ET_DYN || header.e_ident[EI_OSABI] != ELFOSABI_AMDGPU_HSA)
    return damaged_object("it is not linked for the HSA run-time library");
  const unsigned abi = header.e_ident[EI_ABIVERSION];
  if (abi < ELFABIVERSION_AMDGPU_HSA_V4 || abi > ELFABIVERSION_AMDGPU_HSA_V6)
    return damaged_object("ABI version " + std::to_string(abi) + " is not known");
  facts.version = abi - ELFABIVERSION_AMDGPU_HSA_V4 + 4;
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "code object"));
  if (!object)
    return damaged_object(llvm::toString(object.takeError()));
  if (!is_known_processor(header.e_flags))
    return damaged_object("its flags " + std::to_string(header.e_flags) + " name no GPU that is known");
  const auto name = llvm::cast<llvm::object::ELFObjectFileBase>(**object).tryGetCPUName();
  if (!name)
    return damaged_object("its flags name no GPU");
  facts.arch = name->str() + settings(header.e_flags);
  return {};
}

// The metadata note, in MessagePack. LLVM's Document treats well-formed but unexpected input (a map as a key)
// as a programming error of the caller; only its Reader is safe for untrusted bytes.
class Metadata {
public:
  explicit Metadata(llvm::StringRef bytes) : reader_(bytes) {}

  // The symbols of the kernels.
  Result<std::vector<std::string>> kernels() {
    std::vector<std::string> symbols;
    XAAS_CHECK(for_each_entry([&](const std::string& key, const Object& value) -> Result<void> {
      if (key != "amdhsa.kernels")
        return skip(value, 0);
      if (value.Kind != Type::Array)
        return damaged_object("its metadata has no list of kernels");
      for (size_t i = 0; i < value.Length; ++i) {
        XAAS_TRY(symbols.emplace_back(), symbol());
      }
      return {};
    }));
    return symbols;
  }

private:
  using Object = llvm::msgpack::Object;
  using Type = llvm::msgpack::Type;

  Result<Object> next() {
    Object object;
    llvm::Expected<bool> read = reader_.read(object);
    if (!read)
      return damaged_object("its metadata: " + llvm::toString(read.takeError()));
    if (!*read)
      return damaged_object("its metadata ends early");
    return object;
  }

  // Reads a map. `entry` reads the value of a key.
  template <typename Entry> Result<void> for_each_entry(const Entry& entry) {
    XAAS_TRY(const Object map, next());
    if (map.Kind != Type::Map)
      return damaged_object("its metadata has something other than a map");
    for (size_t i = 0; i < map.Length; ++i) {
      XAAS_TRY(const Object key, next());
      if (key.Kind != Type::String)
        return damaged_object("its metadata has a key that is not a string");
      XAAS_TRY(const Object value, next());
      XAAS_CHECK(entry(key.Raw.str(), value));
    }
    return {};
  }

  // Skips the contents of an object that was read.
  Result<void> skip(const Object& object, unsigned depth) {
    constexpr unsigned deepest = 16;
    if (object.Kind != Type::Array && object.Kind != Type::Map)
      return {};
    if (depth == deepest)
      return damaged_object("its metadata is nested too deeply");
    const uint64_t count = uint64_t(object.Length) * (object.Kind == Type::Map ? 2 : 1);
    for (uint64_t i = 0; i < count; ++i) {
      XAAS_TRY(const Object part, next());
      XAAS_CHECK(skip(part, depth + 1));
    }
    return {};
  }

  // The entry of the next kernel.
  Result<std::string> symbol() {
    std::string name;
    XAAS_CHECK(for_each_entry([&](const std::string& key, const Object& value) -> Result<void> {
      if (key == ".symbol" && value.Kind == Type::String)
        name = value.Raw.str();
      return skip(value, 0);
    }));
    if (name.empty())
      return damaged_object("its metadata has a kernel without a symbol");
    return name;
  }

  llvm::msgpack::Reader reader_;
};

Result<std::vector<std::string>> kernels_of(const File& file) {
  auto headers = file.program_headers();
  if (!headers)
    return damaged_object(llvm::toString(headers.takeError()));
  constexpr uint64_t least_alignment = 4; // of notes, whatever the header says
  for (const Elf::Phdr& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    std::optional<std::string> metadata;
    for (const auto& note : file.notes(header, error))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        metadata = note.getDescAsStringRef(std::max<uint64_t>(header.p_align, least_alignment)).str();
    if (error)
      return damaged_object(llvm::toString(std::move(error)));
    if (metadata)
      return Metadata(*metadata).kernels();
  }
  return damaged_object("it has no metadata");
}

// The objects among its dynamic symbols, where the run-time library looks for descriptors.
Result<std::map<std::string, uint64_t>> objects_of(const File& file) {
  auto sections = file.sections();
  if (!sections)
    return damaged_object(llvm::toString(sections.takeError()));
  std::map<std::string, uint64_t> objects;
  for (const Elf::Shdr& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    auto symbols = file.symbols(&section);
    if (!symbols)
      return damaged_object(llvm::toString(symbols.takeError()));
    auto names = file.getStringTableForSymtab(section);
    if (!names)
      return damaged_object(llvm::toString(names.takeError()));
    for (const Elf::Sym& symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name)
        return damaged_object(llvm::toString(name.takeError()));
      if (symbol.getType() == llvm::ELF::STT_OBJECT && symbol.st_shndx != llvm::ELF::SHN_UNDEF)
        objects[name->str()] = symbol.st_size;
    }
  }
  return objects;
}

Result<void> check_object(const CodeObject& object) {
  XAAS_TRY(const target::GpuArch arch, target::gpu_arch(object.arch));
  if (arch.vendor != target::GpuArch::Vendor::amd)
    return make_error(ErrorKind::usage, "a bundle has no code objects for " + object.arch);
  XAAS_TRY(const CodeObjectFacts facts, read_code_object(object.bytes));
  if (facts.arch != object.arch)
    return damaged_object("it is for " + facts.arch + ", not " + object.arch);
  return {};
}

// --- bundles

Error bad_bundle(const std::string& what) {
  return make_error(ErrorKind::integrity, "bundle of code objects: " + what);
}

// The caller has checked that the bytes exist.
uint64_t number_at(std::string_view bytes, uint64_t offset) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i)
    value |= uint64_t(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

// Reads the entry of `bundle` at `at`, moves `at` behind it, and moves `end` to the end of its bytes if that
// is later.
Result<BundleEntry> take_entry(std::string_view bundle, uint64_t& at, uint64_t& end) {
  if (bundle.size() - at < entry_header)
    return bad_bundle("it ends within its entries");
  const uint64_t offset = number_at(bundle, at), size = number_at(bundle, at + 8),
                 length = number_at(bundle, at + 16);
  at += entry_header;
  if (length == 0 || length > bundle.size() - at)
    return bad_bundle("an ID of " + std::to_string(length) + " bytes where there are " +
                      std::to_string(bundle.size() - at));
  BundleEntry entry{std::string(bundle.substr(at, length)), {}};
  at += length;
  if (size == 0)
    return entry;
  if (offset > bundle.size() || size > bundle.size() - offset)
    return bad_bundle("an entry of " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                      " where there are " + std::to_string(bundle.size()));
  if (offset < end)
    return bad_bundle("an entry at " + std::to_string(offset) + " that overlaps what is before it");
  entry.bytes = bundle.substr(offset, size);
  end = offset + size;
  return entry;
}

// Takes one bundle off the start of `rest`.
Result<void> take_bundle(std::string_view& rest, std::vector<BundleEntry>& entries) {
  constexpr uint64_t header = bundle_magic.size() + 8;
  if (!rest.starts_with(bundle_magic) || rest.size() < header)
    return bad_bundle("it has no magic at its start");
  const uint64_t count = number_at(rest, bundle_magic.size());
  if (count > rest.size() / entry_header)
    return bad_bundle(std::to_string(count) + " entries in " + std::to_string(rest.size()) + " bytes");
  // The entries' bytes follow all entries, whose end is known after the last one.
  uint64_t at = header, end = header;
  const size_t first = entries.size();
  for (uint64_t i = 0; i < count; ++i) {
    XAAS_TRY(BundleEntry entry, take_entry(rest, at, end));
    entries.push_back(std::move(entry));
  }
  for (size_t i = first; i < entries.size(); ++i)
    if (!entries[i].bytes.empty() && entries[i].bytes.data() < rest.data() + at)
      return bad_bundle("an entry whose bytes overlap the list of entries");
  rest.remove_prefix(std::max(at, end));
  return {};
}

} // namespace

Result<CodeObjectFacts> read_code_object(std::string_view bytes) {
  auto file = File::create(llvm::StringRef(bytes.data(), bytes.size()));
  if (!file)
    return damaged_object(llvm::toString(file.takeError()));
  CodeObjectFacts facts;
  XAAS_CHECK(read_header(bytes, file->getHeader(), facts));
  XAAS_TRY(facts.kernels, kernels_of(*file));
  XAAS_TRY(const auto objects, objects_of(*file));
  constexpr uint64_t descriptor_size = 64; // AMDGPUUsage, "Kernel Descriptor"
  constexpr std::string_view suffix = ".kd";
  for (std::string& kernel : facts.kernels) {
    const auto descriptor = objects.find(kernel);
    if (descriptor == objects.end() || descriptor->second != descriptor_size || !kernel.ends_with(suffix))
      return damaged_object("kernel " + kernel + " has no descriptor");
    kernel.resize(kernel.size() - suffix.size());
  }
  return facts;
}

std::string arch_of_entry(const std::string& id) {
  for (const std::string_view kind : {device_id, std::string_view("hip-amdgcn-amd-amdhsa--")})
    if (id.starts_with(kind))
      return id.substr(kind.size());
  return {};
}

Result<std::string> code_object_bundle(const std::vector<CodeObject>& objects) {
  std::vector<std::pair<std::string, std::string_view>> entries = {{std::string(host_id), {}}};
  for (const CodeObject& object : objects) {
    XAAS_CHECK(check_object(object));
    entries.emplace_back(std::string(device_id) + object.arch, object.bytes);
  }
  uint64_t offset = bundle_magic.size() + 8;
  for (const auto& [id, bytes] : entries)
    offset += entry_header + id.size();
  std::string file(bundle_magic);
  add(file, entries.size());
  std::vector<uint64_t> offsets;
  for (const auto& [id, bytes] : entries) {
    offset = bundle_aligned(offset);
    add(file, offset);
    add(file, bytes.size());
    add(file, id.size());
    file += id;
    offsets.push_back(offset);
    offset += bytes.size();
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    file.resize(offsets[i]);
    file += entries[i].second;
  }
  return file;
}

Result<std::vector<BundleEntry>> parse_code_object_bundle(std::string_view bytes) {
  std::vector<BundleEntry> entries;
  std::string_view rest = bytes;
  do {
    XAAS_CHECK(take_bundle(rest, entries));
    const uint64_t at = bytes.size() - rest.size(),
                   filling = std::min<uint64_t>(bundle_aligned(at) - at, rest.size());
    if (rest.substr(0, filling).find_first_not_of('\0') != std::string_view::npos)
      return bad_bundle("something other than zeros behind it");
    rest.remove_prefix(filling);
  } while (!rest.empty());
  return entries;
}

} // namespace xaas::device
