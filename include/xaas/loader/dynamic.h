// What the dynamic loader reads from an ELF file.
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
  bool shared = false; // ET_DYN without an interpreter: a library
  // The kernel can start it: ET_EXEC, marked as a position-independent program (static ones have no
  // interpreter), or with an interpreter and no soname (a library like libc.so.6 has both).
  bool program = false;
  std::string interpreter; // PT_INTERP; empty: none
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> runpath;        // directories of DT_RUNPATH or DT_RPATH, if any
  bool imports_dlopen = false;             // may load libraries that no ELF file names
  std::vector<std::string> glibc_versions; // GLIBC_* symbol versions that it needs, without the prefix
  bool rpath_is_first = false; // `runpath` is DT_RPATH: searched before LD_LIBRARY_PATH, and inherited
  bool no_default_directories = false; // DF_1_NODEFLIB: not searched in default directories
  uint16_t machine = 0;                // e_machine
  std::vector<std::string> versions;   // symbol versions that it defines, if any
  std::map<std::string, std::vector<std::string>> needed_versions; // by library, without weak ones
  std::string kernel; // minimum version of Linux ("3.2.0"; note NT_GNU_ABI_TAG); empty: any
};

// Checks only the magic number.
bool is_elf(std::string_view file);

// Checks the start of a file, at least `elf_start` bytes: 64 bit, little endian, for this architecture.
bool is_elf_for(std::string_view start, const std::string& arch);
constexpr size_t elf_start = 64;

// A damaged ELF file is an integrity error. One without a dynamic section gives an empty description.
Result<Dynamic> read_dynamic(std::string_view elf);

// The same for an untrusted file, in a worker (base/worker.h); `name` is for errors. Call it from a process
// with one thread.
Result<Dynamic> read_dynamic_in_worker(const std::string& name, std::string_view elf);

// The dynamic symbols of an ELF file by name, without versions.
struct Symbols {
  std::set<std::string> defined; // usable by other files
  std::set<std::string> needed;  // used but not defined, without weak ones
};

// Errors as read_dynamic(); the second function uses a worker.
Result<Symbols> read_symbols(std::string_view elf);
Result<Symbols> read_symbols_in_worker(const std::string& name, std::string_view elf);

// For the answers of workers.
Json to_json(const Dynamic& dynamic);
Result<Dynamic> parse_dynamic(const JsonReader& reader);

} // namespace xaas::loader
