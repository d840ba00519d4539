// Progress of long operations. Libraries report it; only the command line prints it.
#pragma once

#include <cstdint>
#include <string>

namespace xaas {

class Progress {
public:
  virtual ~Progress() = default;
  // Starts a phase of `total` steps (0: unknown) and ends the previous one.
  virtual void start(const std::string& phase, uint64_t total) = 0;
  // The same, counted in bytes.
  virtual void start_bytes(const std::string& phase, uint64_t total) { start(phase, total); }
  virtual void advance(uint64_t steps = 1) = 0;
  virtual void finish() = 0;
  // A line for the user, shown even where there is no progress bar.
  virtual void note(const std::string& text) = 0;
};

// Discards everything: the default of every library function that takes a Progress.
Progress& no_progress();

} // namespace xaas
