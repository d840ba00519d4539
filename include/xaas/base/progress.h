// Progress of long work. Libraries report it; only the command line prints it.
#pragma once

#include <cstdint>
#include <string>

namespace xaas {

class Progress {
public:
  virtual ~Progress() = default;
  // A new phase of `total` steps (0: unknown); ends the one before.
  virtual void start(const std::string& phase, uint64_t total) = 0;
  // The same in bytes.
  virtual void start_bytes(const std::string& phase, uint64_t total) { start(phase, total); }
  virtual void advance(uint64_t steps = 1) = 0;
  virtual void finish() = 0;
  // A line that a person should see even where progress is not shown as a bar.
  virtual void note(const std::string& text) = 0;
};

// Says nothing: the default of every library function that takes a Progress.
Progress& no_progress();

} // namespace xaas
