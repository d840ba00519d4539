#include "cuda/archs.h"

#include <xaas/base/text.h>

#include <clang/Basic/OffloadArch.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(name);
}

// "compute_90a" -> "90a"
std::string number_of(const std::string& name) {
  return name.substr(name.find('_') + 1);
}

bool is_virtual(const std::string& name) {
  return name.starts_with("compute_");
}

Result<void> check_name(const std::string& name) {
  if (!name.starts_with("sm_") && !is_virtual(name) && !name.starts_with("lto_"))
    return make_error(ErrorKind::failed, "`" + name + "` is not a GPU architecture");
  const clang::OffloadArch arch = clang::StringToOffloadArch("sm_" + number_of(name));
  if (!clang::IsNVIDIAOffloadArch(arch))
    return make_error(ErrorKind::failed, "clang cannot compile for " + name);
  return {};
}

// [sm_80,sm_90], "sm_80,sm_90" or sm_80,sm_90
std::vector<std::string> names_in(std::string text) {
  if (text.size() >= 2 &&
      ((text.front() == '[' && text.back() == ']') || (text.front() == '"' && text.back() == '"')))
    text = text.substr(1, text.size() - 2);
  return split(text, ',');
}

// Commas inside brackets and quotes do not separate.
std::vector<std::string> assignments_in(const std::string& text) {
  std::vector<std::string> parts(1);
  bool quoted = false, bracketed = false;
  for (const char c : text) {
    quoted ^= c == '"';
    bracketed = c == '[' || (bracketed && c != ']');
    if (c == ',' && !quoted && !bracketed)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  // nvcc also accepts quotes around the whole assignment.
  for (std::string& part : parts)
    if (part.size() >= 2 && part.front() == '"' && part.back() == '"')
      part = part.substr(1, part.size() - 2);
  return parts;
}

class Archs {
public:
  Result<void> add(const std::string& arch, const std::vector<std::string>& codes) {
    XAAS_CHECK(check_name(arch));
    if (!is_virtual(arch))
      return make_error(ErrorKind::failed, arch + " is not virtual (compute_...)");
    add_once(result_.archs, "sm_" + number_of(arch));
    for (const std::string& code : codes)
      XAAS_CHECK(add_code(code));
    return {};
  }

  // -arch without -code: the short form for a virtual architecture and the code that is stored for it.
  Result<void> add_alone(const std::string& arch) {
    if (arch == "native" || arch == "all" || arch == "all-major") {
      add_once(result_.archs, arch);
      return {};
    }
    XAAS_CHECK(add_code(arch));
    add_once(result_.archs, "sm_" + number_of(arch));
    if (arch.starts_with("sm_"))
      add_once(result_.codes, "compute_" + number_of(arch));
    return {};
  }

  Result<void> add_generate_code(const std::string& text) {
    std::string arch, code;
    for (const std::string& assignment : assignments_in(text)) {
      std::string& value = assignment.starts_with("arch=") ? arch : code;
      if (!value.empty() || (!assignment.starts_with("arch=") && !assignment.starts_with("code=")))
        return make_error(ErrorKind::failed, "not of the form arch=...,code=...");
      value = assignment.substr(5);
    }
    if (arch.empty() || code.empty())
      return make_error(ErrorKind::failed, "not of the form arch=...,code=...");
    return add(arch, names_in(code));
  }

  NvccArchs take() { return std::move(result_); }

private:
  Result<void> add_code(const std::string& code) {
    XAAS_CHECK(check_name(code));
    add_once(result_.codes, code);
    result_.device_lto |= code.starts_with("lto_");
    return {};
  }

  NvccArchs result_;
};

} // namespace

Result<NvccArchs> nvcc_archs(const std::optional<std::string>& arch, const std::vector<std::string>& codes,
                             const std::vector<std::string>& generate_codes) {
  Archs archs;
  std::vector<std::string> names;
  for (const std::string& code : codes)
    for (std::string& name : names_in(code))
      names.push_back(std::move(name));
  if (!arch && !names.empty())
    return make_error(ErrorKind::failed, "nvcc -code=" + codes.back() + ": there is no -arch for it");
  if (arch)
    XAAS_CHECK((names.empty() ? archs.add_alone(*arch) : archs.add(*arch, names)).in("nvcc -arch=" + *arch));
  for (const std::string& text : generate_codes)
    XAAS_CHECK(archs.add_generate_code(text).in("nvcc -gencode " + text));
  return archs.take();
}

} // namespace xaas::frontdoor
