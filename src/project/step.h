// One step of a build: a command whose output goes to the log.
#pragma once

#include <xaas/project/project.h>

#include <functional>
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

// Runs the step; `watch` as in ConfigurationBuild. A non-zero exit is a `failed` error with the step and the
// exit code, and with the compiler's messages as its output. So is a step that prints the same text forever.
// A place has no network.
Result<void> run_step(const Step& step, const fs::path& log, const BuildPlace* place,
                      const std::function<Result<void>()>& watch = {});

// The path of a tool on the place's PATH, or a missing_tool error that names what needs it.
Result<fs::path> need_tool(const std::string& name, const std::string& what, const BuildPlace* place);

// The lines of a failed step's output that explain the failure: from the first one that looks like an error,
// or the last 20.
std::string lines_that_matter(const std::string& output);

// True if the output ends as if the step were waiting for an answer.
bool asks(const std::string& output);

// True if the end of the output reports a name that could not be resolved or a network that could not be
// reached.
bool misses_network(const std::string& output);

// True if the output repeats one piece of at most 4096 bytes, at least twice.
bool repeats(const std::string& output);

} // namespace xaas::project
