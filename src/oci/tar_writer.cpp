#include "tar_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace xaas::oci {

namespace {

constexpr size_t block = 512;
constexpr uint64_t largest_number = (uint64_t(1) << 33) - 1; // eleven octal digits
constexpr uint64_t largest_id = (uint64_t(1) << 21) - 1;     // seven

// Offsets and widths of the fields of a ustar header (POSIX.1-2001, "ustar Interchange Format").
struct Field {
  size_t offset, width;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, checksum_field{148, 8}, type_field{156, 1},
    link_field{157, 100}, magic_field{257, 8}, major_field{329, 8}, minor_field{337, 8},
    prefix_field{345, 155};

void put(std::string& header, Field field, const std::string& text) {
  header.replace(field.offset, std::min(field.width, text.size()), text, 0, field.width);
}

void put_number(std::string& header, Field field, uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%0*llo", static_cast<int>(field.width - 1),
                static_cast<unsigned long long>(number));
  put(header, field, digits);
}

// A name as ustar's prefix and name, if it fits.
std::optional<std::pair<std::string, std::string>> split_name(const std::string& name) {
  if (name.size() <= name_field.width)
    return std::pair(std::string(), name);
  // The final '/' of a directory's name cannot be the split point.
  for (size_t slash = name.find('/'); slash != std::string::npos && slash + 1 < name.size();
       slash = name.find('/', slash + 1))
    if (slash > 0 && slash <= prefix_field.width && name.size() - slash - 1 <= name_field.width)
      return std::pair(name.substr(0, slash), name.substr(slash + 1));
  return std::nullopt;
}

// "<length> <key>=<value>\n", where the length includes its own digits.
std::string pax_record(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + std::to_string(rest).size();
  length = rest + std::to_string(length).size();
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

std::string ustar_header(const TarMember& member, char type, const std::string& name) {
  std::string header(block, '\0');
  const auto parts = split_name(name);
  put(header, name_field, parts ? parts->second : name);
  put(header, prefix_field, parts ? parts->first : std::string());
  put_number(header, mode_field, member.mode & 07777);
  put_number(header, uid_field, member.user <= largest_id ? member.user : 0);
  put_number(header, gid_field, member.group <= largest_id ? member.group : 0);
  put_number(header, size_field, member.size <= largest_number ? member.size : 0);
  const bool time_fits = member.time >= 0 && static_cast<uint64_t>(member.time) <= largest_number;
  put_number(header, time_field, time_fits ? static_cast<uint64_t>(member.time) : 0);
  put(header, type_field, std::string(1, type));
  put(header, link_field, member.link);
  put(header, magic_field, std::string("ustar\00000", 8));
  put_number(header, major_field, 0);
  put_number(header, minor_field, 0);
  put(header, checksum_field, std::string(8, ' '));
  unsigned sum = 0;
  for (const char c : header)
    sum += static_cast<unsigned char>(c);
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  put(header, checksum_field, std::string(digits, 6) + std::string("\0 ", 2));
  return header;
}

} // namespace

std::string tar_header(const TarMember& member) {
  const std::string name = member.type == TarMember::Type::directory ? member.path + "/" : member.path;
  std::string records;
  if (!split_name(name))
    records += pax_record("path", name);
  if (member.link.size() > link_field.width)
    records += pax_record("linkpath", member.link);
  if (member.size > largest_number)
    records += pax_record("size", std::to_string(member.size));
  if (member.user > largest_id)
    records += pax_record("uid", std::to_string(member.user));
  if (member.group > largest_id)
    records += pax_record("gid", std::to_string(member.group));
  if (member.time < 0 || static_cast<uint64_t>(member.time) > largest_number)
    records += pax_record("mtime", std::to_string(member.time));
  std::string header;
  if (!records.empty()) {
    TarMember extension;
    extension.size = records.size();
    header = ustar_header(extension, 'x', "PaxHeader/entry") + records + tar_padding(records.size());
  }
  return header + ustar_header(member, static_cast<char>(member.type), name);
}

std::string tar_padding(uint64_t size) {
  return std::string((block - size % block) % block, '\0');
}

std::string tar_end() {
  return std::string(2 * block, '\0');
}

} // namespace xaas::oci
