#include "table.h"

#include <xaas/launcher/launcher.h>
#include <xaas/target/feature_bits.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace xaas::launcher {

// For each architecture: launcher.c, compiled and linked, and an empty library, whose strings are those of
// CMakeLists.txt.
std::string_view program_x86_64();
std::string_view program_aarch64();
std::string_view forwarding_x86_64();
std::string_view forwarding_aarch64();

namespace {

constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";

template <size_t Size> Result<void> put(char (&field)[Size], const std::string& text) {
  if (text.size() >= Size)
    return make_error(ErrorKind::usage,
                      "'" + text + "': a launcher has room for " + std::to_string(Size - 1) + " characters");
  std::memcpy(field, text.data(), text.size());
  return {};
}

Result<void> put_features(launcher_table& table, const std::string& arch) {
  const std::span<const target::FeatureBit> bits = target::feature_bits(arch);
  if (bits.size() > launcher_most_features)
    return make_error(ErrorKind::failed, "the launcher's table has too little room for CPU features");
  for (const target::FeatureBit& bit : bits) {
    cpu_feature& feature = table.feature[table.features++];
    feature.leaf = bit.leaf;
    feature.subleaf = bit.subleaf;
    feature.word = static_cast<uint32_t>(bit.word);
    feature.bit = bit.bit;
    feature.state = bit.state;
    XAAS_CHECK(put(feature.name, bit.name));
  }
  return {};
}

Result<void> put_target(launcher_table& table, const std::string& arch, const Target& target) {
  XAAS_CHECK(check_name(target.name));
  XAAS_CHECK(check_name(target.directory));
  launcher_target& entry = table.target[table.targets++];
  XAAS_CHECK(put(entry.name, target.name));
  XAAS_CHECK(put(entry.directory, target.directory));
  XAAS_CHECK(put(entry.device, target.device));
  const std::vector<std::string> guarded = target::guarded_features(arch, target.features);
  const std::span<const target::FeatureBit> bits = target::feature_bits(arch);
  for (size_t i = 0; i < bits.size(); ++i)
    if (std::find(guarded.begin(), guarded.end(), bits[i].name) != guarded.end())
      entry.needs[i / 64] |= uint64_t(1) << (i % 64);
  return {};
}

// Writes a string over a longer one, which has only this letter.
Result<void> replace(std::string& bytes, char letter, const std::string& text) {
  constexpr size_t length = 2047;
  const size_t place = bytes.find(std::string(length, letter));
  if (place == std::string::npos)
    return make_error(ErrorKind::failed, "the forwarding library has no place for a string");
  if (text.size() > length)
    return make_error(ErrorKind::usage, "'" + text + "': a forwarding library has room for " +
                                            std::to_string(length) + " characters");
  std::string padded = text;
  padded.resize(length);
  bytes.replace(place, length, padded);
  return {};
}

struct Code {
  std::string_view program, forwarding;
};

std::optional<Code> code_for(const std::string& arch) {
  if (arch == "x86_64")
    return Code{program_x86_64(), forwarding_x86_64()};
  if (arch == "aarch64")
    return Code{program_aarch64(), forwarding_aarch64()};
  return std::nullopt;
}

} // namespace

bool is_target_name(std::string_view name) {
  return !name.empty() && name.size() < sizeof(launcher_target::name) && name != "print" && name != "." &&
         name != ".." && name.find_first_not_of(letters) == std::string_view::npos;
}

Result<void> check_name(const std::string& name) {
  return is_target_name(name)
             ? Result<void>()
             : make_error(ErrorKind::usage, "'" + name + "' cannot be the name of a target in a file tree",
                          "at most 63 letters, digits and . _ + - can, but not `print`");
}

Result<void> check_arch(const std::string& arch) {
  return code_for(arch)
             ? Result<void>()
             : make_error(ErrorKind::usage, "file trees for several targets do not exist for " + arch);
}

Result<std::string> program(const std::string& arch, const std::vector<Target>& targets,
                            const std::vector<std::string>& libraries) {
  XAAS_CHECK(check_arch(arch));
  if (targets.empty() || targets.size() > launcher_most_targets)
    return make_error(ErrorKind::usage, std::to_string(targets.size()) +
                                            " targets: a launcher has from 1 to " +
                                            std::to_string(launcher_most_targets));
  const auto table = std::make_unique<launcher_table>();
  XAAS_CHECK(put(table->mark, LAUNCHER_MARK));
  XAAS_CHECK(put_features(*table, arch));
  for (const Target& target : targets)
    XAAS_CHECK(put_target(*table, arch, target));
  std::string joined;
  for (const std::string& directory : libraries)
    joined += directory + '\0';
  XAAS_CHECK(put(table->libraries, joined).in("directories of libraries"));

  std::string bytes(code_for(arch)->program);
  const size_t place = bytes.find(std::string(LAUNCHER_MARK, sizeof(LAUNCHER_MARK)));
  if (place == std::string::npos || bytes.size() - place < sizeof(*table))
    return make_error(ErrorKind::failed, "the launcher has no table");
  std::memcpy(bytes.data() + place, table.get(), sizeof(*table));
  return bytes;
}

Result<std::string> forwarding_library(const std::string& arch, const std::string& needed,
                                       const std::string& runpath) {
  XAAS_CHECK(check_arch(arch));
  std::string bytes(code_for(arch)->forwarding);
  XAAS_CHECK(replace(bytes, 'N', needed));
  XAAS_CHECK(replace(bytes, 'D', runpath));
  return bytes;
}

} // namespace xaas::launcher
