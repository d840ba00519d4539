// What the dynamic loader reads of an ELF file.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::loader {

struct Dynamic {
  bool shared = false;     // ET_DYN without an interpreter: a library
  std::string interpreter; // PT_INTERP; empty: none
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> runpath;        // directories of DT_RUNPATH or DT_RPATH; none: it has neither
  bool imports_dlopen = false;             // loads parts by name that no ELF file names
  std::vector<std::string> glibc_versions; // GLIBC_* symbol versions that it needs, without the prefix
  bool rpath_is_first = false;             // `runpath` is of DT_RPATH: before LD_LIBRARY_PATH, and inherited
  bool no_default_directories = false;     // DF_1_NODEFLIB: not in those of the loader
  uint16_t machine = 0;                    // e_machine
  std::vector<std::string> versions;       // symbol versions that it defines; none: it has no versions
  std::map<std::string, std::vector<std::string>> needed_versions; // of each library, weak ones aside
  std::string kernel; // the least version of Linux that it runs on ("3.2.0"; note NT_GNU_ABI_TAG); empty: any
};

// The magic number alone.
bool is_elf(std::string_view file);

// From the start of a file: 64 bit, little endian, for this architecture. At least `elf_start` bytes.
bool is_elf_for(std::string_view start, const std::string& arch);
constexpr size_t elf_start = 64;

// Damaged ELF: integrity error. An ELF file without a dynamic section gives an empty description.
Result<Dynamic> read_dynamic(std::string_view elf);

// The same for a file of strangers, read in a worker (base/worker.h); `name` is for errors. Must be called
// from a process with one thread.
Result<Dynamic> read_dynamic_in_worker(const std::string& name, std::string_view elf);

// The dynamic symbols of an ELF file by name, without versions.
struct Symbols {
  std::set<std::string> defined; // that others can use
  std::set<std::string> needed;  // that it uses and does not define; weak ones aside
};

// Errors as read_dynamic; the second reads in a worker.
Result<Symbols> read_symbols(std::string_view elf);
Result<Symbols> read_symbols_in_worker(const std::string& name, std::string_view elf);

// For workers' answers.
Json to_json(const Dynamic& dynamic);
Result<Dynamic> parse_dynamic(const JsonReader& reader);

} // namespace xaas::loader
