#include <xaas/harvest/device_file.h>

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/link/note.h>
#include <xaas/session/log.h>

#include <algorithm>

namespace xaas::harvest {

namespace {

using Form = link::DeviceFile::Form;

fs::path record_of(const session::Session& session, const Digest& content) {
  return session.directory / "device-files" / content.hex();
}

// Reads a little-endian number, as all these forms have.
uint32_t number_at(std::string_view content, size_t offset, size_t bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < bytes && offset + i < content.size(); ++i)
    number |= static_cast<uint32_t>(static_cast<unsigned char>(content[offset + i])) << (8 * i);
  return number;
}

// Skips blanks and comments at the start of a text.
std::string_view without_comments(std::string_view text) {
  while (!text.empty()) {
    if (const size_t word = text.find_first_not_of(" \t\r\n"); word != 0)
      text.remove_prefix(std::min(word, text.size()));
    else if (text.starts_with("//"))
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    else if (text.starts_with("/*"))
      text.remove_prefix(std::min(text.find("*/", 2), text.size() - 2) + 2);
    else
      return text;
  }
  return text;
}

// Recognizes a form by its first bytes. PTX begins with `.version` (PTX ISA, "PTX Module Directives"), ELF
// files name their machine, SPIR-V has a magic number in either byte order (SPIR-V Specification, "Physical
// Layout"), and fat binaries have that of device/fat_binary.h.
std::optional<Form> form_of(std::string_view content) {
  constexpr uint32_t cuda = 190, amdgpu = 224; // e_machine
  constexpr uint32_t spirv = 0x07230203, swapped_spirv = 0x03022307, fat_binary = 0xBA55ED50;
  if (link::is_elf(content)) {
    const uint32_t machine = number_at(content, 18, 2);
    return machine == cuda     ? std::optional(Form::cubin)
           : machine == amdgpu ? std::optional(Form::code_object)
                               : std::nullopt;
  }
  const uint32_t magic = number_at(content, 0, 4);
  if (magic == spirv || magic == swapped_spirv)
    return Form::spirv;
  if (magic == fat_binary)
    return Form::fatbin;
  const std::string_view text = without_comments(content);
  constexpr std::string_view version = ".version";
  return text.starts_with(version) && text.size() > version.size() &&
                 (text[version.size()] == ' ' || text[version.size()] == '\t')
             ? std::optional(Form::ptx)
             : std::nullopt;
}

} // namespace

// Several compiles may give the same content, and then mean the same. The record that is kept does not depend
// on their order.
Result<void> remember_device_file(const session::Session& session, const fs::path& file,
                                  const link::DeviceFile& device) {
  XAAS_TRY(const Digest content, digest_of_file(file));
  const std::string text = link::to_json(device).dump();
  if (const Result<std::string> known = read_file(record_of(session, content)); known && *known <= text)
    return {};
  return write_file(record_of(session, content), text, 0644, false);
}

Result<std::optional<link::DeviceFile>> device_file_of(const session::Session& session,
                                                       std::string_view content) {
  const std::optional<Form> form = form_of(content);
  if (!form)
    return std::optional<link::DeviceFile>();
  const Digest digest = digest_of(content);
  const fs::path record = record_of(session, digest);
  std::error_code code;
  if (fs::exists(record, code)) {
    XAAS_TRY(const Json json, read_json(record));
    XAAS_TRY(link::DeviceFile device, link::parse_device_file(JsonReader(json, record.string())));
    return std::optional(std::move(device));
  }
  return std::optional(link::DeviceFile{*form, {}, session::native_reason(session, digest).value_or("")});
}

} // namespace xaas::harvest
