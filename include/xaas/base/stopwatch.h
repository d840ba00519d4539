// Where time goes: for reports, never for images.
#pragma once

#include <chrono>

namespace xaas {

struct Seconds {
  double wall = 0;
  double cpu = 0; // user and system, of this process and of its children that have ended
  Seconds& operator+=(const Seconds& other) {
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
};

// Runs from its construction on.
class Stopwatch {
public:
  Stopwatch();
  Seconds seconds() const;

private:
  std::chrono::steady_clock::time_point start_;
  double cpu_;
};

} // namespace xaas
