// Replaying links and archives through LLVM's libraries.
#pragma once

#include <xaas/ir/features.h>
#include <xaas/link/record.h>
#include <xaas/lower/plugins.h>

#include <functional>
#include <optional>
#include <string>

namespace xaas::link {

// Returns the path of a file with the content of `file`, which must exist until the replay returns.
using FileProvider = std::function<Result<fs::path>(const FileRef& file)>;

struct ReplayOptions {
  std::string arch;             // "x86_64", "aarch64"
  std::optional<Finish> finish; // strip and RPATH of the installed file; absent: as the record says
  std::optional<Digest> note;   // link in an origin note for this record, and seal the output (capture only)
  std::string guard;            // an object that becomes the first input of a program or library
  unsigned threads = 1;         // of lld; the output does not depend on it
  // The level, 0 to 3, at which LTO optimizes the program. Units, and archives made by write_lto_archive(),
  // may then be bitcode. Nothing: no LTO, and no bitcode.
  std::optional<unsigned> lto_level = {};
  // With `lto_level`: of functions that have no attributes of a target because plugins made them.
  ir::TargetAttributes lto_target = {};
  // With `lto_level`: LLVM's options for it ("name=value").
  std::vector<std::string> llvm_options = {};
  // A directory in which the LTO links of one deploy share what they compiled: programs with a library's
  // objects in common compile most of them once. Empty: none. The linker may write there, so each image needs
  // its own.
  fs::path lto_cache;
  // That run, in this order, on the link's IR, if `lto_level` is set. They are loaded into the linker's
  // process, which may then also read their libraries. The options of a use are those that the plugin adds.
  std::vector<lower::PluginUse> plugins = {};
  double cpu_seconds = 3600;              // limit for the link, all threads together
  uint64_t max_bytes = uint64_t(1) << 32; // limit for the output, where 32-bit DWARF ends
};

struct ReplayResult {
  std::string output;   // the linked file
  std::string messages; // lld's warnings
};

// Links in a child process (lld may be unable to run twice in one process), in a private directory that holds
// only links to the inputs under their record names. lld's error messages have file names in place of private
// paths, and symbols as in the object files (not demangled). Input that is bitcode, a thin archive or a
// linker script that names files: integrity error. A link error or a crash of lld: failed, with the link's
// name. Must be called from a process with one thread.
Result<ReplayResult> replay(const LinkRecord& record, const FileProvider& provider,
                            const ReplayOptions& options);

// The undefined symbols that lld's error output lists; empty if the link failed for another reason.
std::vector<std::string> undefined_symbols(const std::string& messages);

// A regular, deterministic archive with a symbol table; members in record order.
Result<std::string> write_archive(const ArchiveRecord& record, const FileProvider& provider);

// The same for untrusted members, which are read in a worker (base/worker.h). Must be called from a process
// with one thread.
Result<std::string> write_archive_in_worker(const ArchiveRecord& record, const FileProvider& provider);

// The same for a link with LTO: units may be bitcode. There is no symbol table: lld needs none, and writing
// one would parse the members in this process.
Result<std::string> write_lto_archive(const ArchiveRecord& record, const FileProvider& provider);

// The members of an archive file in order, with their bytes. Members of a thin archive are read from beside
// it.
struct ArchiveMember {
  std::string name, content;
};
Result<std::vector<ArchiveMember>> read_archive(const fs::path& path);

} // namespace xaas::link
