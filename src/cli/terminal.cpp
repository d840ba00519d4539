#include "terminal.h"

#include <xaas/base/space.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace xaas::cli {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool can_redraw() {
  const char* term = std::getenv("TERM");
  return isatty(2) && !(term && std::strcmp(term, "dumb") == 0);
}

// The buffers behind a PlainOutput.
std::streambuf *direct_output = nullptr, *direct_errors = nullptr;

void write_direct(std::ostream& stream, std::streambuf* direct, const std::string& text) {
  stream.flush();
  std::streambuf* const sink = direct ? direct : stream.rdbuf();
  const auto size = static_cast<std::streamsize>(text.size());
  if (sink->sputn(text.data(), size) != size || sink->pubsync() != 0)
    stream.setstate(std::ios::badbit);
}

void clear_line() {
  write_direct(std::cerr, direct_errors, "\r\033[K");
}

} // namespace

PlainOutput::PlainOutput()
    : output_(std::cout.rdbuf()), errors_(std::cerr.rdbuf()), plain_output_(*output_),
      plain_errors_(*errors_) {
  direct_output = output_;
  direct_errors = errors_;
  std::cout.rdbuf(&plain_output_);
  std::cerr.rdbuf(&plain_errors_);
}

PlainOutput::~PlainOutput() {
  std::cout.flush();
  std::cerr.flush();
  std::cout.rdbuf(output_);
  std::cerr.rdbuf(errors_);
  direct_output = direct_errors = nullptr;
}

void print_json_text(const std::string& text) {
  write_direct(std::cout, direct_output, text);
}

TerminalProgress::TerminalProgress(bool quiet, int verbosity)
    : quiet_(quiet), terminal_(can_redraw()), verbosity_(verbosity) {}

TerminalProgress::~TerminalProgress() {
  clear();
}

void TerminalProgress::start(const std::string& phase, uint64_t total) {
  begin(phase, total, false);
}

void TerminalProgress::start_bytes(const std::string& phase, uint64_t total) {
  begin(phase, total, true);
}

void TerminalProgress::begin(const std::string& phase, uint64_t total, bool bytes) {
  finish();
  bytes_ = bytes;
  phase_ = phase;
  total_ = total;
  done_ = 0;
  started_ = drawn_ = Clock::now();
  if (quiet_)
    return;
  if (terminal_)
    draw();
  else
    std::cerr << phase_ << (total_ > 1 ? " (" + amount(total_) + ")" : "") << "\n";
}

void TerminalProgress::advance(uint64_t steps) {
  done_ += steps;
  if (!quiet_ && terminal_ && (since(drawn_) > 0.1 || done_ == total_))
    draw();
}

void TerminalProgress::finish() {
  if (phase_.empty())
    return;
  clear();
  if (!quiet_ && verbosity_ > 0)
    std::cerr << phase_ << ": " << human_seconds(since(started_)) << "\n";
  phase_.clear();
}

void TerminalProgress::note(const std::string& text) {
  if (quiet_)
    return;
  clear();
  std::cerr << text << "\n";
  if (terminal_ && !phase_.empty())
    draw();
}

std::string TerminalProgress::amount(uint64_t steps) const {
  return bytes_ ? human_bytes(steps) : std::to_string(steps);
}

void TerminalProgress::draw() {
  drawn_ = Clock::now();
  std::ostringstream line;
  line << phase_;
  if (total_ > 0) {
    line << "  " << amount(done_) << (bytes_ ? " of " : "/") << amount(total_);
    const double seconds = since(started_);
    if (done_ > 0 && seconds > 0.5) {
      const double rate = static_cast<double>(done_) / seconds;
      char text[64];
      std::snprintf(text, sizeof(text), "%.1f", rate);
      line << "  " << (bytes_ ? human_bytes(static_cast<uint64_t>(rate)) : std::string(text)) << "/s";
      if (done_ < total_)
        line << "  "
             << human_seconds(seconds / static_cast<double>(done_) * static_cast<double>(total_ - done_))
             << " left";
    }
  }
  clear_line();
  std::cerr << line.str() << std::flush;
}

void TerminalProgress::clear() {
  if (!quiet_ && terminal_ && !phase_.empty())
    clear_line();
}

void print_note(const std::string& text) {
  std::cerr << "xaas: note: " << text << "\n";
}

void print_warning(const std::string& text) {
  std::cerr << "xaas: warning: " << text << "\n";
}

void print_error(const Error& error) {
  if (!error.output.empty())
    std::cerr << error.output << (error.output.ends_with('\n') ? "" : "\n");
  std::cerr << "xaas: error: " << error.message << "\n";
  if (!error.hint.empty())
    std::cerr << "hint: " << error.hint << "\n";
}

std::string table(std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths;
  for (auto& row : rows)
    for (std::string& cell : row)
      std::replace(cell.begin(), cell.end(), '\n', ' ');
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string few(const std::vector<std::string>& names, bool all) {
  constexpr size_t shown = 3;
  if (all || names.size() <= shown + 1) // "and 1 more" is no shorter than the name
    return join(names, ", ");
  return join({names.begin(), names.begin() + shown}, ", ") + " and " + std::to_string(names.size() - shown) +
         " more";
}

std::string native_lines(const std::vector<NativeLine>& natives, bool all) {
  struct Group {
    std::string reason;
    size_t objects = 0;
    std::vector<std::string> names; // of fewer objects if they differ between configurations
  };
  std::vector<Group> groups; // in the order of their first names
  for (const NativeLine& each : natives) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.reason == each.reason; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {each.reason, 0, {}});
    ++group->objects;
    if (group->names.empty() || group->names.back() != each.name)
      group->names.push_back(each.name);
  }
  std::string text;
  for (const Group& group : groups) {
    const std::string count = std::to_string(group.objects) + " native objects ";
    const std::string names =
        std::to_string(group.names.size()) + (group.names.size() == 1 ? " name" : " names");
    text += (group.objects == 1 ? "native object " : count) +
            (group.names.size() < group.objects ? "of " + names + ", " : "") + few(group.names, all) + ": " +
            group.reason + "\n";
  }
  return text;
}

std::string human_bytes(uint64_t bytes) {
  return bytes_for_people(bytes);
}

std::string human_seconds(double seconds) {
  char text[40];
  if (seconds < 60)
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
  else
    std::snprintf(text, sizeof(text), "%d min %d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  return text;
}

} // namespace xaas::cli
