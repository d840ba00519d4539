// Time measurements, for reports and never for images.
#pragma once

#include <chrono>
#include <sys/resource.h>

namespace xaas {

struct Seconds {
  double wall = 0;
  double cpu = 0; // user and system time of this process and its finished children
  Seconds& operator+=(const Seconds& other) {
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
};

double cpu_seconds(const rusage& usage); // user and system time

// Runs from its construction.
class Stopwatch {
public:
  Stopwatch();
  Seconds seconds() const;

private:
  std::chrono::steady_clock::time_point start_;
  double cpu_;
};

} // namespace xaas
