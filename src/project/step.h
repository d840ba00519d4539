// One step of a build: a command whose output goes to the log.
#pragma once

#include <xaas/project/project.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::project {

struct Step {
  std::string name; // "configure", "build", "install"
  std::vector<std::string> arguments;
  fs::path directory;
  std::map<std::string, std::string> environment; // complete
};

// Runs it. A non-zero exit is a failed error with the step and the exit code; the compiler's words
// are its output. So is a step that prints the same without end. A place has no network.
Result<void> run_step(const Step& step, const fs::path& log, const BuildPlace* place);

// The path of a tool on PATH of the place, else a missing_tool error that says what needs it.
Result<fs::path> need_tool(const std::string& name, const std::string& what, const BuildPlace* place);

// The lines of a failed step's output that tell why: from the first that looks like an error on, else the
// last 20.
std::string lines_that_matter(const std::string& output);

// Does the output end as if somebody were to answer?
bool asks(const std::string& output);

// Does the end of the output say that a name was not found or a network not reached?
bool misses_network(const std::string& output);

// Is the output one piece of at most 4096 bytes over and over, at least twice?
bool repeats(const std::string& output);

} // namespace xaas::project
