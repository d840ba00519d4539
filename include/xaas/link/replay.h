// Replaying links and archives through LLVM's libraries.
#pragma once

#include <xaas/link/record.h>

#include <functional>
#include <optional>
#include <string>

namespace xaas::link {

// Gives the path of a file on disk that has the content of `file`. Must stay there until the replay returns.
using FileProvider = std::function<Result<fs::path>(const FileRef& file)>;

struct ReplayOptions {
  std::string arch;             // "x86_64", "aarch64"
  std::optional<Finish> finish; // strip and RPATH of the installed file; absent: as the record says
  std::optional<Digest>
      note;             // link in an origin note that names this record and seal the output (capture only)
  std::string guard;    // an object that is the first input, where the output is a program or library
  unsigned threads = 1; // of lld; the output does not depend on it
  // The level, 1 to 3, at which ThinLTO optimises the program. Inputs that are units, or archives made by
  // write_lto_archive(), may then be bitcode. 0: none is.
  unsigned lto_level = 0;
  // A directory in which links with LTO of one deploy keep what they compiled, for each other: programs that
  // have a library's objects in common compile most of them once. Empty: none. The linker may write there, so
  // it is of one image only.
  fs::path lto_cache;
  double cpu_seconds = 3600;              // that the link may take, of all threads together
  uint64_t max_bytes = uint64_t(1) << 32; // of the output, where 32-bit DWARF ends
};

struct ReplayResult {
  std::string output;   // the linked file
  std::string messages; // lld's warnings
};

// Links in a child process of its own (lld cannot be sure to run twice in one process), in a private
// directory that holds links to the inputs under their record names and nothing else. lld's error messages
// come back with private paths replaced by file names and symbols as the object files have them (not
// demangled). Input that is bitcode, a thin archive or a linker script that names files: integrity error.
// Link error: failed. So is a crash of lld; the error names the link. Must be called from a process with
// one thread.
Result<ReplayResult> replay(const LinkRecord& record, const FileProvider& provider,
                            const ReplayOptions& options);

// The symbols that lld's error output says are undefined; empty if the failure is of another kind.
std::vector<std::string> undefined_symbols(const std::string& messages);

// A regular, deterministic archive with a symbol table; members in record order.
Result<std::string> write_archive(const ArchiveRecord& record, const FileProvider& provider);

// The same where members come from strangers: what they have is read in a worker (base/worker.h). Must be
// called from a process with one thread.
Result<std::string> write_archive_in_worker(const ArchiveRecord& record, const FileProvider& provider);

// The same for a link with LTO: units may be bitcode, and there is no symbol table, which would have them
// read here and which lld does not need.
Result<std::string> write_lto_archive(const ArchiveRecord& record, const FileProvider& provider);

// The members of an archive file (also thin: members are read from beside it), in order, with their bytes.
struct ArchiveMember {
  std::string name, content;
};
Result<std::vector<ArchiveMember>> read_archive(const fs::path& path);

} // namespace xaas::link
