#include "choose.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/system/containers.h>

#include <sys/stat.h>
#include <unistd.h>

namespace xaas::run {

namespace {

bool has_setuid_helper(const runtimes::Runtime& runtime, const fs::path& program) {
  for (const std::string& helper : runtime.setuid) {
    struct stat status{};
    const fs::path path = program.parent_path().parent_path() / helper;
    if (stat(path.c_str(), &status) == 0 && (status.st_mode & S_ISUID))
      return true;
  }
  return false;
}

// Fills in `found`, or returns the reason why the runtime cannot be used.
std::string look_for(const runtimes::Runtime& runtime, const Program& program, Found& found) {
  for (const std::string& name : runtime.programs)
    if (const std::optional<fs::path> path = find_program(name)) {
      found = {&runtime, *path, false};
      break;
    }
  if (!found.runtime)
    return "no " + join(runtime.programs, " or ") + " on PATH";
  const bool helped = geteuid() == 0 || has_setuid_helper(runtime, found.program);
  found.separate = runtime.separate == "always" || (runtime.separate == "users" && !helped);
  if (runtime.namespaces && !helped) {
    const system::UserNamespaces namespaces = system::user_namespaces();
    if (namespaces.possible == std::optional(false))
      return "needs user namespaces, which this machine does not give to users (" + namespaces.evidence + ")";
  }
  return obstacle(found, program);
}

} // namespace

Result<Found> choose_runtime(const std::vector<std::string>& names, const Program& program) {
  const runtimes::Knowledge& knowledge = runtimes::Knowledge::get();
  std::vector<const runtimes::Runtime*> candidates;
  for (const std::string& name : names) {
    const runtimes::Runtime* const runtime = knowledge.runtime(name);
    if (!runtime)
      return make_error(ErrorKind::usage, name + ": unknown runtime",
                        "known: " + join(runtime_choices(), ", "));
    candidates.push_back(runtime);
  }
  if (candidates.empty())
    for (const runtimes::Runtime& runtime : knowledge.runtimes)
      candidates.push_back(&runtime);
  std::vector<std::string> reasons;
  for (const runtimes::Runtime* runtime : candidates) {
    Found found;
    const std::string reason = look_for(*runtime, program, found);
    if (reason.empty())
      return found;
    reasons.push_back(runtime->name + ": " + reason);
  }
  return make_error(ErrorKind::missing_tool, "no container runtime works here: " + join(reasons, "; "),
                    "install one of " + join(runtime_choices(), ", ") +
                        ", or name another one with --runtime");
}

} // namespace xaas::run
