// Starting a program in namespaces of its own: see cage.cpp.
#pragma once

#include <xaas/enclose/enclose.h>

namespace xaas::enclose {

// A program that is started by the process that this runs in.
struct Start {
  std::vector<std::string> arguments; // the first is looked up on PATH of the environment
  std::map<std::string, std::string> environment;
  uint64_t tasks = 0; // that this user may have from then on; 0: as before
};

struct Cage {
  fs::path tree;                  // the root; empty: what the machine has
  std::vector<fs::path> hidden;   // of the machine, are empty: directories in the root or below
  std::vector<BuildMount> mounts; // destinations as find_in_tree() gives them
  std::string directory;
};

// What a child has to say before it becomes something else: memory of both.
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

// Becomes the program: with no descriptor but the standard three. For Command::become; returns with errno.
int become(const Start& start, int status);

// The same inside the cage. What fails there is in the report. Without arguments it ends with status 0
// instead.
void become_caged(const Cage& cage, const Start& start, Report& report, int status);

// Directories of the machine that "host" has not.
std::vector<fs::path> hidden_directories();

// What of /proc is not of processes, and could be written by who is root of the machine: names in it.
std::vector<std::string> settings_of_proc(const fs::path& proc);

// Of the user inside. Not 0: programs of that number think that they may do everything (tar gives files
// away), and what is theirs must not be root of this machine.
uid_t inner_user();
gid_t inner_group();

} // namespace xaas::enclose
