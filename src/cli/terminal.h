// Output for people: progress and messages on standard error, tables.
#pragma once

#include <xaas/base/plain_stream.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>

#include <chrono>
#include <string>
#include <vector>

namespace xaas::cli {

// While it exists, std::cout and std::cerr pass through a PlainStream. Text from images, registries, tools
// and arguments is untrusted, and this way no caller has to track where a text comes from.
class PlainOutput {
public:
  PlainOutput();
  PlainOutput(const PlainOutput&) = delete;
  PlainOutput& operator=(const PlainOutput&) = delete;
  ~PlainOutput();

private:
  std::streambuf *output_, *errors_; // the buffers of std::cout and std::cerr before
  PlainStream plain_output_, plain_errors_;
};

// Prints JSON to standard output unchanged, for scripts.
void print_json_text(const std::string& text);

// On a terminal, one line that is redrawn, with rate and time left; elsewhere a line per phase. `quiet`:
// nothing.
class TerminalProgress : public Progress {
public:
  TerminalProgress(bool quiet, int verbosity);
  ~TerminalProgress() override;
  void start(const std::string& phase, uint64_t total) override;
  void start_bytes(const std::string& phase, uint64_t total) override;
  void advance(uint64_t steps) override;
  void finish() override;
  void note(const std::string& text) override;

private:
  void begin(const std::string& phase, uint64_t total, bool bytes);
  void draw();
  void clear();
  std::string amount(uint64_t steps) const; // a count or a number of bytes
  bool quiet_, terminal_;
  bool bytes_ = false;
  int verbosity_;
  std::string phase_;
  uint64_t total_ = 0, done_ = 0;
  std::chrono::steady_clock::time_point started_, drawn_;
};

// "xaas: note: ..." and "xaas: warning: ..." on standard error.
void print_note(const std::string& text);
void print_warning(const std::string& text);

// The output of the tool that failed, if any; "xaas: error: ..."; and "hint: ..." if there is a hint.
void print_error(const Error& error);

// Columns as wide as their widest cell, two blanks apart, without trailing blanks. A line break in a cell
// becomes a blank, so that text from an image cannot imitate a row.
std::string table(std::vector<std::vector<std::string>> rows);

// Names joined by commas: all of them, or the first few and the number of the others.
std::string few(const std::vector<std::string>& names, bool all);

struct NativeLine {
  std::string name, reason;
};
// "native object NAME: REASON", one line per reason. Objects of one name, which differ between
// configurations, are counted and have their name once: "4 native objects of 2 names, a.o, b.o: REASON".
std::string native_lines(const std::vector<NativeLine>& natives, bool all);

std::string human_bytes(uint64_t bytes);   // "1.4 MiB"
std::string human_seconds(double seconds); // "3.2 s", "2 min 5 s"

} // namespace xaas::cli
