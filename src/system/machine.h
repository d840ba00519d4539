// The machine as the probes see it: files under a root, an environment, a program search path.
//
// Every access is limited: files that are too large are not read, directories are read up to a number of
// entries, and after a total time nothing more is examined. A note in the description reports what a limit
// left out.
#pragma once

#include "watch.h"

#include <xaas/system/system.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <vector>

namespace xaas::system {

class Machine {
public:
  // `skipped`: paths (including the root) to treat as absent, with everything below them.
  explicit Machine(const Probes& probes, Watch* watch = nullptr, std::vector<std::string> skipped = {});

  fs::path path(const std::string& absolute) const { return root_ / absolute.substr(1); }
  // Whether these are the files of the machine that this program runs on.
  bool real() const { return root_ == "/"; }
  bool has(const std::string& absolute) const;
  bool may_use(const std::string& absolute) const; // can be opened for reading and writing
  bool is_setuid(const fs::path& file) const;      // a path from find_program() or path()
  // The trimmed content of a regular file; empty if it cannot be read.
  std::string text(const std::string& absolute, uint64_t limit = uint64_t(16) << 20) const;
  // At most `size` bytes from the start of a regular file.
  std::string start_of(const std::string& absolute, size_t size) const;
  // A stream for a regular file that may be large; null if it cannot be read. Must not outlive this object.
  std::unique_ptr<std::streambuf> stream(const std::string& absolute) const;
  // A number at the start of a file.
  std::optional<uint64_t> number(const std::string& absolute) const;
  // The names in a directory, sorted; at most `most_entries`.
  std::vector<std::string> entries(const std::string& absolute) const;
  // The paths that match a pattern with `*` and `?`, sorted; at most `most_matches`.
  std::vector<std::string> glob(const std::string& pattern) const;
  // Identifies a directory, to recognize several names of one; empty if it is not a directory.
  std::string identity(const std::string& directory) const;
  // The target of a link, relative to the root.
  std::string target(const std::string& absolute) const;
  // Runs a function that accesses the file in another way, such as mapping it. Does nothing for a skipped
  // file.
  void touch(const std::string& absolute, const std::function<void(const fs::path&)>& use) const;

  std::string environment(const std::string& name) const;
  std::vector<std::string> environment_names() const; // sorted
  std::optional<fs::path> find_program(const std::string& name) const;

  // Messages for readers of the description, each once.
  void note(const std::string& words) const;
  const std::vector<std::string>& notes() const { return notes_; }
  bool out_of_time() const; // adds a note the first time

  static constexpr size_t most_entries = 20000, most_matches = 256;

private:
  class Pieces;
  bool blocked(const fs::path& path) const;

  fs::path root_;
  std::map<std::string, std::string> environment_;
  std::vector<std::string> search_path_, skipped_;
  Watch* watch_;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::milliseconds limit_;
  mutable std::vector<std::string> notes_;
};

std::optional<uint64_t> parse_number(const std::string& text); // the digits at its start
// Parses a list of numbers in the kernel's form, "0-3,8"; empty if it is malformed.
std::vector<uint64_t> parse_number_list(const std::string& text);

// The probes, each for a part of the description, including the evidence.
class ProgramVersions;
void probe_cpu(const Machine& machine, SystemDescription& description); // except its features
void probe_allowed(const Machine& machine, SystemDescription& description);
void probe_batch(const Machine& machine, SystemDescription& description);
void probe_modules(const Machine& machine, SystemDescription& description);
void probe_containers(const Machine& machine, SystemDescription& description);
// Including MPI and fabrics, in these directories and in trees of package managers.
void probe_libraries(const Machine& machine, const std::vector<std::string>& directories, bool mpi_versions,
                     SystemDescription& description);
// Container runtimes and compilers, which report their versions while the other probes run.
void probe_programs(const Machine& machine, ProgramVersions* versions, SystemDescription& description);

} // namespace xaas::system
