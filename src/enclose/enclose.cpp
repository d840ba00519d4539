// Choosing a runtime for builds, and running one step in it.
#include "enclosing.h"
#include "guard.h"

#include <xaas/base/text.h>
#include <xaas/enclose/enclose.h>
#include <xaas/runtimes/knowledge.h>
#include <xaas/runtimes/tree_paths.h>
#include <xaas/system/containers.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::enclose {

namespace {

constexpr auto watch_period = std::chrono::milliseconds(100);

bool is_ours(const std::string& runtime) { // needs no program
  return runtime == "namespaces" || runtime == "host";
}

// Runs an enclosed step. `report` has the reason if the enclosure could not be made.
Result<ProcessResult> run_enclosed(const Enclosed& enclosed, Command command) {
  XAAS_TRY(Report report, Report::open());
  command.at_once = true;
  command.become = [&](int status) {
    if (enclosed.cage)
      become_caged(*enclosed.cage, enclosed.start, report, status);
    const int number = become(enclosed.start, status);
    [[maybe_unused]] const ssize_t count = write(status, &number, sizeof(number));
  };
  Result<ProcessResult> result = run_process(command);
  const std::string said = report.text();
  if (!said.empty() && (result || result.error().kind != ErrorKind::interrupted))
    return make_error(ErrorKind::failed, "enclosing a build: " + said);
  return result;
}

// A runtime that keeps records of what it started removes them when that ends by itself. So the processes
// inside are killed first, and the runtime gets some time. If it takes longer, its records stay.
void end_inside(pid_t root, unsigned depth) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (const auto& [process, started] : usage_below(root, depth).processes)
    kill(process, SIGKILL); // only once: later processes may be the runtime's, cleaning up
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(root), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0 && std::chrono::steady_clock::now() < end)
    usleep(20'000);
}

// Empty, or the reason why it does not work here.
std::string trial(const Enclosed& enclosed) {
  Command command;
  command.arguments = {"trial"};
  const Result<ProcessResult> result = run_enclosed(enclosed, command);
  if (!result)
    return result.error().message;
  if (result->exit_code == 0)
    return {};
  const std::string words = printable(trim(result->output.substr(0, result->output.find('\n'))));
  return words.empty() ? "ends with " + std::to_string(result->exit_code) : words;
}

bool has_setuid_helper(const runtimes::Runtime& runtime, const fs::path& program) {
  return std::any_of(runtime.setuid.begin(), runtime.setuid.end(), [&](const std::string& helper) {
    struct stat status{};
    return stat((program.parent_path().parent_path() / helper).c_str(), &status) == 0 &&
           (status.st_mode & S_ISUID);
  });
}

// Empty, or the reason why this runtime cannot be used.
std::string look_for(Enclosure& enclosure) {
  if (!is_ours(enclosure.runtime)) {
    const runtimes::Runtime& runtime = *runtimes::Knowledge::get().runtime(enclosure.runtime);
    for (const std::string& name : runtime.programs)
      if (const std::optional<fs::path> path = find_program(name); path && enclosure.program.empty())
        enclosure.program = *path;
    if (enclosure.program.empty())
      return "no " + join(runtime.programs, " or ") + " on PATH";
    if (enclosure.runtime == "apptainer" && geteuid() == 0)
      return "would make the build root of this machine";
    if (enclosure.runtime == "bwrap")
      return trial({bwrap_trial(enclosure.program), std::nullopt});
    const bool helped = geteuid() == 0 || has_setuid_helper(runtime, enclosure.program);
    const system::UserNamespaces found = helped ? system::UserNamespaces() : system::user_namespaces();
    if (found.possible == std::optional(false))
      return "needs user namespaces, which this machine does not give to users (" + found.evidence + ")";
    if (enclosure.runtime != "charliecloud")
      return {};
  }
  return trial({Start(), Cage{{}, hidden_directories(), {}, "/"}});
}

// The mount points that every step has besides the given ones.
struct Private {
  TemporaryDirectory directory;
  std::vector<BuildMount> mounts;
};

Result<Private> make_private() {
  XAAS_TRY(TemporaryDirectory directory, TemporaryDirectory::create(temporary_root(), "xaas-step-"));
  std::vector<BuildMount> mounts;
  for (const auto& [name, destination] : {std::pair("tmp", "/tmp"), std::pair("shm", "/dev/shm")}) {
    const fs::path path = directory.path() / name;
    if (mkdir(path.c_str(), 0700) != 0 || chmod(path.c_str(), 01777) != 0)
      return errno_error(errno, "making " + path.string());
    mounts.push_back({path, destination, true});
  }
  return Private{std::move(directory), std::move(mounts)};
}

// True if an earlier mount, or one that every step has, lies above it: then no mount point in the tree is
// used.
bool is_below_mount(const std::string& destination, const std::vector<BuildMount>& earlier) {
  return runtimes::is_below(destination, "/tmp") || runtimes::is_below(destination, "/dev") ||
         std::any_of(earlier.begin(), earlier.end(), [&](const BuildMount& mount) {
           return runtimes::is_below(destination, mount.destination);
         });
}

// The mounts with absolute sources and with destinations as they are in the tree, without links. None of them
// may hide a mount that every step has.
Result<std::vector<BuildMount>> resolved_mounts(const Enclosure& enclosure) {
  std::vector<BuildMount> mounts;
  for (const BuildMount& each : enclosure.mounts) {
    BuildMount mount = each;
    fs::path destination = fs::path(mount.destination).lexically_normal();
    if (!destination.has_filename())
      destination = destination.parent_path();
    if (!mount.source.is_absolute() || !destination.is_absolute() || destination == "/")
      return make_error(ErrorKind::usage, "mounting " + mount.source.string() + " at " + mount.destination +
                                              ": both must be absolute paths, and not /");
    mount.destination = destination;
    if (!is_below_mount(mount.destination, mounts) && enclosure.runtime != "host")
      mount.destination = find_in_tree(enclosure.tree, mount.destination).inside;
    for (const char* taken : {"/proc", "/dev", "/sys"})
      if (runtimes::is_below(mount.destination, taken))
        return make_error(ErrorKind::usage, "mounting " + mount.source.string() + " at " + mount.destination +
                                                ": every build has something of its own there");
    mounts.push_back(mount);
  }
  return mounts;
}

// The mount point, on the host, of a mount below an earlier one. It is created if the build may write there.
// A link that a build left there could lead anywhere, so nothing is mounted over links.
Result<void> make_place_below(const BuildMount& above, const BuildMount& mount) {
  const std::string what = "mounting " + mount.source.string() + " at " + mount.destination;
  std::error_code code;
  const fs::path below = fs::path(mount.destination).lexically_relative(above.destination);
  fs::path at = above.source;
  for (auto part = below.begin(); part != below.end(); ++part) {
    at /= *part;
    const bool directory = std::next(part) != below.end() || fs::is_directory(mount.source, code);
    struct stat status{};
    if (lstat(at.c_str(), &status) == 0) {
      if (directory ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))
        return make_error(ErrorKind::storage, what + ": " + at.string() + " is not a " +
                                                  (directory ? "directory" : "regular file"));
      continue;
    }
    if (!above.writable)
      return make_error(ErrorKind::not_found, what + ": there is no " + at.string() +
                                                  ", and the mount that contains it is read-only");
    if (directory ? mkdir(at.c_str(), 0755) != 0 : mknod(at.c_str(), S_IFREG | 0644, 0) != 0)
      return errno_error(errno, what + ": making " + at.string());
  }
  return {};
}

Result<void> make_places_below(const std::vector<BuildMount>& mounts) {
  for (auto mount = mounts.begin(); mount != mounts.end(); ++mount) {
    const auto above =
        std::find_if(std::make_reverse_iterator(mount), mounts.rend(), [&](const BuildMount& each) {
          return runtimes::is_below(mount->destination, each.destination);
        });
    if (above != mounts.rend() && above->destination != mount->destination)
      XAAS_CHECK(make_place_below(*above, *mount));
  }
  return {};
}

// The runtime's own output from `start` on, shortened for a message.
std::string words_of(const Command& command, const ProcessResult& result, uint64_t start) {
  std::string text(4096, '\0');
  if (!command.output) {
    text = result.output.substr(0, text.size());
  } else {
    std::ifstream file(*command.output, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(start));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
  }
  return text;
}

// A runtime that could not do its part prints a line of its own. No build step fails with a line that begins
// with the name of a runtime.
Result<void> check_runtime(const Enclosure& enclosure, const ProcessResult& result,
                           const std::string& words) {
  const std::string& complaint = find_builder(enclosure.runtime)->complaint;
  if (result.exit_code == 0 || complaint.empty() || !words.starts_with(complaint))
    return {};
  const std::string line = printable(trim(words.substr(0, words.find('\n'))));
  const bool no_program = line.find("execvp") != std::string::npos ||
                          line.find("can't execve") != std::string::npos ||
                          line.find("not found") != std::string::npos;
  return make_error(no_program ? ErrorKind::missing_tool : ErrorKind::failed,
                    enclosure.runtime + " could not start the step: " + line);
}

std::string step_name(const Command& command) {
  return "running " + command.arguments.at(0) + " inside";
}

} // namespace

std::vector<std::string> builder_choices() {
  std::vector<std::string> names;
  for (const Builder& each : builders())
    names.push_back(each.name);
  return names;
}

Result<Enclosure> choose_builder(const std::vector<std::string>& names,
                                 const std::vector<std::string>& options) {
  std::vector<std::string> candidates = names;
  if (candidates.empty()) {
    candidates = builder_choices();
    candidates.erase(std::find(candidates.begin(), candidates.end(), "host"));
  }
  for (const std::string& name : candidates)
    if (!find_builder(name))
      return make_error(ErrorKind::usage, name + ": unknown runtime for builds",
                        "known: " + join(builder_choices(), ", "));
  std::vector<std::string> reasons;
  for (const std::string& name : candidates) {
    XAAS_CHECK(check_interrupt());
    Enclosure enclosure;
    enclosure.runtime = name;
    enclosure.options = options;
    enclosure.missing = find_builder(name)->missing;
    const std::string reason = look_for(enclosure);
    if (reason.empty())
      return enclosure;
    reasons.push_back(name + ": " + reason);
  }
  return make_error(ErrorKind::missing_tool, "no way to enclose a build works here: " + join(reasons, "; "),
                    "enable user namespaces, or install bwrap, Podman or Apptainer");
}

Result<void> make_build_mount_points(const Enclosure& enclosure) {
  if (enclosure.runtime == "host")
    return {};
  const Builder* const builder = find_builder(enclosure.runtime);
  if (!builder)
    return make_error(ErrorKind::usage, enclosure.runtime + ": unknown runtime for builds");
  std::vector<std::string> directories = {"/proc", "/dev", "/tmp"};
  directories.insert(directories.end(), builder->directories.begin(), builder->directories.end());
  for (const std::string& path : directories) {
    const Result<std::string> made = runtimes::make_mount_point(enclosure.tree, path, true);
    if (!made)
      return made.error();
  }
  for (const std::string& path : builder->files)
    if (find_in_tree(enclosure.tree, path).type == fs::file_type::not_found) {
      const Result<std::string> made = runtimes::make_mount_point(enclosure.tree, path, false);
      if (!made)
        return made.error();
    }
  XAAS_TRY(const std::vector<BuildMount> mounts, resolved_mounts(enclosure));
  std::vector<BuildMount> earlier;
  std::error_code code;
  for (const BuildMount& mount : mounts) {
    if (!is_below_mount(mount.destination, earlier)) {
      const Result<std::string> made =
          runtimes::make_mount_point(enclosure.tree, mount.destination, fs::is_directory(mount.source, code));
      if (!made)
        return made.error();
    }
    earlier.push_back(mount);
  }
  return {};
}

Result<ProcessResult> run_inside(const Enclosure& enclosure, const Command& command) {
  const Builder* const builder = find_builder(enclosure.runtime);
  if (!builder)
    return make_error(ErrorKind::usage, enclosure.runtime + ": unknown runtime for builds");
  Enclosure whole = enclosure;
  XAAS_TRY(const Private own, make_private());
  whole.mounts = own.mounts;
  XAAS_TRY(const std::vector<BuildMount> mounts, resolved_mounts(enclosure));
  whole.mounts.insert(whole.mounts.end(), mounts.begin(), mounts.end());
  XAAS_CHECK(make_places_below(whole.mounts));
  if (const std::string obstacle = mount_obstacle(whole); !obstacle.empty())
    return make_error(ErrorKind::failed, obstacle);

  Step told{command.arguments, command.directory.empty() ? "/" : command.directory.string(),
            command.environment};
  told.environment["PWD"] = told.directory;
  Enclosed enclosed = enclose::enclosed(whole, told);
  // A second line of defence, if the first is too slow. Its error would not name the limit.
  if (enclosure.limits.processes > 0 && geteuid() != 0)
    enclosed.start.tasks = own_tasks() + 2 * enclosure.limits.processes + 64;
  std::vector<fs::path> writable;
  for (const BuildMount& mount : whole.mounts)
    if (mount.writable)
      writable.push_back(mount.source);
  if (command.output) // output goes to a disk, too
    writable.push_back(*command.output);
  Guard guard(enclosure.limits, writable, builder->depth);

  Command step;
  step.arguments = command.arguments;
  step.output = command.output;
  step.watch_period = watch_period;
  step.started = [&](pid_t root) {
    guard.begin(root);
    if (command.started)
      command.started(root);
  };
  if (builder->keeps_records)
    step.ending = [&](pid_t root) { end_inside(root, builder->depth); };
  auto next_watch = std::chrono::steady_clock::now() + command.watch_period;
  step.watch = [&]() -> Result<void> {
    XAAS_CHECK(guard.check());
    if (!command.watch || std::chrono::steady_clock::now() < next_watch)
      return {};
    next_watch = std::chrono::steady_clock::now() + command.watch_period;
    return command.watch();
  };
  std::error_code code;
  const uint64_t before = command.output ? fs::file_size(*command.output, code) : 0;
  Result<ProcessResult> result = run_enclosed(enclosed, step);
  if (!result)
    return std::move(result).in(step_name(command));
  XAAS_CHECK(check_runtime(enclosure, *result, words_of(command, *result, code ? 0 : before)));
  XAAS_CHECK(guard.finish().in(step_name(command)));
  return result;
}

} // namespace xaas::enclose
