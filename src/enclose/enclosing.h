// How each runtime is told of a build step.
#pragma once

#include "cage.h"

#include <optional>

namespace xaas::enclose {

// One step, for any runtime: destinations as find_in_tree() gives them; the private /tmp and /dev/shm are the
// first mounts.
struct Step {
  std::vector<std::string> arguments;
  std::string directory;
  std::map<std::string, std::string> environment;
};

struct Builder {
  std::string name;
  std::string complaint;      // how a line of its own begins, when it cannot do what it should
  bool keeps_records = false; // of what it started
  unsigned depth = 0;         // of the first process that is the step's, below the one that run() starts
  std::vector<std::string> missing;
  // Places in the tree that it mounts something at, beside those of every step.
  std::vector<std::string> directories, files;
};
const std::vector<Builder>& builders();
const Builder* find_builder(const std::string& name);

// Empty, or why these mounts are beyond it.
std::string mount_obstacle(const Enclosure& enclosure);

// What is started, and, where that is done in namespaces of ours, in which.
struct Enclosed {
  Start start;
  std::optional<Cage> cage;
};
Enclosed enclosed(const Enclosure& enclosure, const Step& step);

// Of bwrap, to show that it works here: it mounts this machine's own root.
Start bwrap_trial(const fs::path& program);

} // namespace xaas::enclose
