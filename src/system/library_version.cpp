// An MPI reports its version in MPI_Get_library_version(), which we would have to call. Builds store the text
// differently: whole ("MPICH Version:\t4.0.2"), or as a format and an exported constant (MPII_Version_string,
// ompi_version_string) that are combined at run time. So we look for both, and then for pkg-config files,
// which come with the headers.
#include "library_version.h"
#include "elf_file.h"

#include <xaas/base/text.h>

#include <cctype>
#include <map>

namespace xaas::system {

namespace {

// The version number at the start of a text, after blanks: "4.0.2", "2021.10", and "3.4" of "3.4a2".
std::string leading_version(const std::string& text) {
  const std::string rest = trim(text);
  const std::string number = rest.substr(0, rest.find_first_not_of("0123456789."));
  return number.substr(0, number.find_last_not_of('.') + 1);
}

bool starts_with_version(const std::string& text) {
  return !leading_version(text).empty();
}

// Expands variables of a pkg-config file one level deep: "${version}" or "${a}.${b}".
std::string expand(const std::string& text, const std::map<std::string, std::string>& variables) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.compare(at, 2, "${") == 0 ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      result += text[at++];
      continue;
    }
    const auto found = variables.find(text.substr(at + 2, end - at - 2));
    result += found == variables.end() ? "" : found->second;
    at = end + 1;
  }
  return result;
}

std::string version_of_file(const std::string& content) {
  std::map<std::string, std::string> variables;
  for (const std::string& whole : split(content, '\n')) {
    const std::string line = trim(whole.substr(0, whole.find('#')));
    const size_t end = line.find_first_of(":=");
    if (end == std::string::npos)
      continue;
    const std::string key = trim(line.substr(0, end)), value = expand(trim(line.substr(end + 1)), variables);
    if (line[end] == '=')
      variables[key] = value;
    else if (key == "Version")
      return !value.empty() && is_digit(value[0]) ? value : std::string();
  }
  return {};
}

// The version after a component of a path or its prefix: ".../mpich/8.1.29/..." or ".../mpich-4.2.3-hash".
std::string version_in_path(const std::string& path, const std::string& part) {
  for (size_t at = path.find("/" + part); at != std::string::npos; at = path.find("/" + part, at + 1)) {
    const size_t end = at + 1 + part.size();
    if (end < path.size() && (path[end] == '/' || path[end] == '-'))
      if (const std::string number = leading_version(path.substr(end + 1, 40));
          number.find('.') != std::string::npos)
        return number;
  }
  return {};
}

Version version_in_library(const Machine& machine, const std::string& path, const MpiName& name,
                           bool vendor) {
  Version version;
  machine.touch(path, [&](const fs::path& file) {
    const std::optional<ElfFile> library = ElfFile::open(file);
    if (!library)
      return;
    if (!vendor)
      for (const std::string& symbol : name.symbols)
        if (version.number.empty() &&
            !(version.number = leading_version(library->text_of_symbol(symbol))).empty())
          version.evidence = path + ", symbol " + symbol;
    for (const std::string& mark : vendor ? name.vendor_marks : name.marks)
      if (version.number.empty() &&
          !(version.number = leading_version(library->text_after(mark, starts_with_version))).empty())
        version.evidence = path + ", its text";
  });
  return version;
}

} // namespace

Version pkgconfig_version(const Machine& machine, const std::string& directory,
                          const std::vector<std::string>& names) {
  const fs::path libraries = directory;
  for (const fs::path& place : {libraries / "pkgconfig", libraries.parent_path() / "lib" / "pkgconfig",
                                libraries.parent_path() / "share" / "pkgconfig"})
    for (const std::string& name : names) {
      const std::string file = (place / (name + ".pc")).string();
      if (const std::string number = version_of_file(machine.text(file, uint64_t(1) << 20)); !number.empty())
        return {number, file};
    }
  return {};
}

Version mpi_version(const Machine& machine, const std::string& directory, const std::string& file,
                    const MpiName& name) {
  const std::string path = directory + "/" + file;
  if (const Version version = version_in_library(machine, path, name, true); !version.number.empty())
    return version;
  if (!name.path.empty())
    if (const std::string real = machine.target(path), number = version_in_path(real, name.path);
        !number.empty())
      return {number, real};
  if (const Version version = version_in_library(machine, path, name, false); !version.number.empty())
    return version;
  return pkgconfig_version(machine, directory, name.pkgconfig);
}

std::string version_in_name(const std::string& file, const std::string& stem) {
  if (file.size() <= stem.size() + 1 || !file.starts_with(stem))
    return {};
  const std::string number = file.substr(stem.size() + 1);
  return number.find('.') != std::string::npos && is_digit(number[0]) &&
                 number.find_first_not_of("0123456789.") == std::string::npos
             ? number
             : std::string();
}

} // namespace xaas::system
