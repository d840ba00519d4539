// Starting a program in its own namespaces; see cage.cpp.
#pragma once

#include <xaas/enclose/enclose.h>

namespace xaas::enclose {

// A program that the current process starts.
struct Start {
  std::vector<std::string> arguments; // the first is looked up on the PATH of the environment
  std::map<std::string, std::string> environment;
  uint64_t tasks = 0; // the limit on this user's tasks from then on; 0: unchanged
};

struct Cage {
  fs::path tree;                  // the root; empty: the machine's own
  std::vector<fs::path> hidden;   // directories of the machine's root that appear empty
  std::vector<BuildMount> mounts; // destinations as find_in_tree() returns them
  std::string directory;
};

// The report of a child that has not become another program yet, in memory shared by both.
class Report {
public:
  static Result<Report> open();
  Report(Report&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  Report& operator=(Report&&) = delete;
  ~Report();
  std::string text() const;
  void write(const std::string& text);

private:
  explicit Report(char* text) : text_(text) {}
  char* text_;
};

// Becomes the program, with only the three standard descriptors. For Command::become; returns with errno.
int become(const Start& start, int status);

// The same inside the cage. The report says what failed. Without arguments the process exits with status 0.
void become_caged(const Cage& cage, const Start& start, Report& report, int status);

// Directories of the machine that "host" hides.
std::vector<fs::path> hidden_directories();

// The entries of /proc that are not processes and that root on the machine could write.
std::vector<std::string> settings_of_proc(const fs::path& proc);

// The user inside. It is not 0, because programs that run as user 0 assume that they may do everything (tar
// changes the owners of files), and because what they own must not belong to root on this machine.
uid_t inner_user();
gid_t inner_group();

} // namespace xaas::enclose
