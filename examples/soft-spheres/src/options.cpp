#include "options.h"

#include <cstdlib>
#include <string>

bool read_options(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == count)
      return false;
    char* end = nullptr;
    const long value = std::strtol(arguments[i + 1], &end, 10);
    if (*end != '\0' || value < 1 || value > 1000000)
      return false;
    if (name == "--bodies")
      options.bodies = static_cast<int>(value);
    else if (name == "--grid" && value >= 3 && value <= 10000)
      options.grid = static_cast<int>(value);
    else if (name == "--steps")
      options.steps = static_cast<int>(value);
    else if (name == "--threads")
      options.threads = static_cast<int>(value);
    else
      return false;
  }
  return true;
}
