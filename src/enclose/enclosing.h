// How each runtime is told to run a build step.
#pragma once

#include "cage.h"

#include <optional>

namespace xaas::enclose {

// One step, for any runtime. Destinations are as find_in_tree() returns them; the private /tmp and /dev/shm
// are the first mounts.
struct Step {
  std::vector<std::string> arguments;
  std::string directory;
  std::map<std::string, std::string> environment;
};

struct Builder {
  std::string name;
  std::string complaint;      // how its own error lines begin when it cannot run a step
  bool keeps_records = false; // of the containers it started
  unsigned depth = 0; // of the first process that belongs to the step, below the one that run() starts
  std::vector<std::string> missing;
  // Paths in the tree that it mounts over, besides those of every step.
  std::vector<std::string> directories, files;
};
const std::vector<Builder>& builders();
const Builder* find_builder(const std::string& name);

// Empty, or the reason why the runtime cannot make these mounts.
std::string mount_obstacle(const Enclosure& enclosure);

// The program to start and, if it runs in our own namespaces, the cage.
struct Enclosed {
  Start start;
  std::optional<Cage> cage;
};
Enclosed enclosed(const Enclosure& enclosure, const Step& step);

// A trial of bwrap on this machine: it mounts the machine's own root.
Start bwrap_trial(const fs::path& program);

} // namespace xaas::enclose
