// The machine as the probes see it: files under a root, an environment, a program search path.
//
// Every access has a limit: a file that is too large is not read, a directory's names are read up to a
// number, and after the time for all of it nothing more is looked at. What a limit cost is a note of the
// description.
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
  // `skipped`: paths (with the root) that are taken to be absent, with all below them.
  explicit Machine(const Probes& probes, Watch* watch = nullptr, std::vector<std::string> skipped = {});

  fs::path path(const std::string& absolute) const { return root_ / absolute.substr(1); }
  // True if these are the files of the machine that this program runs on.
  bool real() const { return root_ == "/"; }
  bool has(const std::string& absolute) const;
  bool may_use(const std::string& absolute) const; // can be opened for reading and writing
  bool is_setuid(const fs::path& file) const;      // a path that find_program() gave, or path()
  // The content of a regular file without blanks around it; empty if it cannot be read.
  std::string text(const std::string& absolute, uint64_t limit = uint64_t(16) << 20) const;
  // At most `size` bytes from the start of a regular file.
  std::string start_of(const std::string& absolute, size_t size) const;
  // A regular file in pieces, for one that may be large; null if it cannot be read. Not beyond this object's
  // life.
  std::unique_ptr<std::streambuf> stream(const std::string& absolute) const;
  // A number at the start of a file.
  std::optional<uint64_t> number(const std::string& absolute) const;
  // The names in a directory, sorted; at most `most_entries`.
  std::vector<std::string> entries(const std::string& absolute) const;
  // The paths that a pattern with `*` and `?` stands for, sorted; at most `most_matches`.
  std::vector<std::string> glob(const std::string& pattern) const;
  // The directory itself, for telling whether two names are one; empty if it is none.
  std::string identity(const std::string& directory) const;
  // The path behind a link, below the root.
  std::string target(const std::string& absolute) const;
  // Runs something else that touches the file (maps it); not at all if it is to be skipped.
  void touch(const std::string& absolute, const std::function<void(const fs::path&)>& use) const;

  std::string environment(const std::string& name) const;
  std::vector<std::string> environment_names() const; // sorted
  std::optional<fs::path> find_program(const std::string& name) const;

  // Words for whoever reads the description, each once.
  void note(const std::string& words) const;
  const std::vector<std::string>& notes() const { return notes_; }
  bool out_of_time() const; // says so in a note, once

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
// "0-3,8": a list of numbers as the kernel writes it; what is no such list gives nothing.
std::vector<uint64_t> parse_number_list(const std::string& text);

// The probes, each for its part of the description. What they find carries its evidence.
class ProgramVersions;
void probe_cpu(const Machine& machine, SystemDescription& description); // not its features
void probe_allowed(const Machine& machine, SystemDescription& description);
void probe_batch(const Machine& machine, SystemDescription& description);
void probe_modules(const Machine& machine, SystemDescription& description);
void probe_containers(const Machine& machine, SystemDescription& description);
// Also MPI and fabrics, in these directories and in the trees of package managers.
void probe_libraries(const Machine& machine, const std::vector<std::string>& directories, bool mpi_versions,
                     SystemDescription& description);
// Programs whose version is asked for while the other probes work: container runtimes and compilers.
void probe_programs(const Machine& machine, ProgramVersions* versions, SystemDescription& description);

} // namespace xaas::system
