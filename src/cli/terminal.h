// What a person sees while the program works: progress and messages on standard error.
#pragma once

#include <xaas/base/plain_stream.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>

#include <chrono>
#include <string>
#include <vector>

namespace xaas::cli {

// While it lives, all that is written to std::cout and std::cerr passes a PlainStream: images, registries,
// tools and arguments say what they like, and so it need not be known of each text where it comes from.
class PlainOutput {
public:
  PlainOutput();
  PlainOutput(const PlainOutput&) = delete;
  PlainOutput& operator=(const PlainOutput&) = delete;
  ~PlainOutput();

private:
  std::streambuf *output_, *errors_; // those of std::cout and std::cerr before
  PlainStream plain_output_, plain_errors_;
};

// To standard output as it is: JSON, which scripts read.
void print_json_text(const std::string& text);

// On a terminal one line that is rewritten, with rate and time left; elsewhere a plain line per phase.
// Nothing with `quiet`.
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
  std::string amount(uint64_t steps) const; // a number, or of bytes
  bool quiet_, terminal_;
  bool bytes_ = false;
  int verbosity_;
  std::string phase_;
  uint64_t total_ = 0, done_ = 0;
  std::chrono::steady_clock::time_point started_, drawn_;
};

// "xaas: note: ...", on standard error.
void print_note(const std::string& text);

// What a tool said, if one failed; "xaas: error: ..."; and, where there is one, "hint: ...".
void print_error(const Error& error);

// Columns as wide as their widest cell, two blanks apart; no trailing blanks. A new line in a cell becomes a
// blank: what an image says cannot pass for a row of its own.
std::string table(std::vector<std::vector<std::string>> rows);

// Names joined by commas: all of them, or the first few and how many more there are.
std::string few(const std::vector<std::string>& names, bool all);

struct NativeLine {
  std::string name, reason;
};
// "native object NAME: REASON", one line for all with the same reason.
std::string native_lines(const std::vector<NativeLine>& natives, bool all);

std::string human_bytes(uint64_t bytes);   // "1.4 MiB"
std::string human_seconds(double seconds); // "3.2 s", "2 min 5 s"

} // namespace xaas::cli
