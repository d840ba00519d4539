#include "caches.h"
#include "images.h"
#include "registry_options.h"
#include "run_options.h"
#include "settings.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/run/run.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

namespace xaas::cli {

namespace {

class RunCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("IMAGE", image_,
                   "Image to run: oci:DIR[:TAG], oci-archive:FILE[:TAG], docker://HOST/NAME[:TAG], a path, "
                   "rootfs:DIR (an unpacked tree) or squashfs:FILE")
        ->required();
    app.add_option("PROGRAM", program_,
                   "Program of the image to start instead of its entrypoint (as --entrypoint)");
    app.add_option("ARG", arguments_, "Arguments of the program, after `--`; replace those of the image");
    app.add_option(
           "--mpi", mpi_,
           "Which MPI library the program loads: that of the host, that of the image, or auto (the host's "
           "if it is compatible and a launcher such as srun started xaas)")
        ->type_name("host|image|auto")
        ->check(CLI::IsMember({"host", "image", "auto"}));
    app.add_option("--host", host_,
                   "Libraries that the program loads from the host instead of the image: NAME,... (fftw3, "
                   "libfftw3.so.3, mpi), none, or auto (those that the application prefers, if compatible)")
        ->type_name("auto|none|NAME,...");
    app.add_option("--runtime", runtimes_,
                   "Container runtime: " + join(run::runtime_choices(), ", ") +
                       "; of several, the first that works; enroot is experimental")
        ->type_name("NAME,...")
        ->allow_extra_args(false)
        ->delimiter(',');
    app.add_option("--runtime-option", runtime_options_,
                   "Pass this option to the runtime, before the options of xaas; can be repeated "
                   "(--runtime-option=--OPTION)")
        ->type_name("OPTION")
        ->allow_extra_args(false);
    app.add_option("--bind", binds_,
                   "Bind this file or directory of the host into the container; can be repeated")
        ->type_name("SRC[:DST[:ro]]")
        ->allow_extra_args(false);
    app.add_option("--env", variables_, "Set this environment variable for the program; can be repeated")
        ->type_name("K=V")
        ->allow_extra_args(false);
    app.add_option("--profile", profile_,
                   "Write the counts of an image that was deployed with --profile-generate into this "
                   "directory, which is made if it does not exist")
        ->type_name("DIR");
    app.add_option("--entrypoint", entrypoint_, "Replace the entrypoint of the image; empty: none")
        ->type_name("PROGRAM");
    app.add_flag("--shell", shell_, "Start a shell of the image instead of its program");
    app.add_option("--workdir", directory_,
                   "Working directory in the container (default: the current directory)")
        ->type_name("DIR");
    app.add_flag("--no-gpu", no_gpu_,
                 "Hide the GPUs of the machine from the program, and take an image for nodes without GPUs");
    app.add_flag(
        "--no-check", no_check_,
        "Do not check that this machine has the CPU features, libraries and devices that the image needs");
    app.add_flag("--print", print_, "Print the command line instead of running it");
    app.add_option("--launcher", launcher_,
                   "With --print: print the command line for this MPI launcher: " +
                       join(run::launcher_choices(), ", "))
        ->type_name("NAME")
        ->check(CLI::IsMember(run::launcher_choices()));
    app.add_option("--ranks", ranks_, "With --launcher: number of ranks")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 24));
    registry_.add(app);
  }

  bool takes_rest() const override { return true; }

  Result<void> run() override {
    if (!program_.empty() && entrypoint_)
      return make_error(ErrorKind::usage,
                        "xaas run: PROGRAM (" + program_ + ") and --entrypoint " + *entrypoint_ +
                            " exclude each other",
                        "arguments of the program follow `--`");
    if (!program_.empty())
      entrypoint_ = program_;
    if (shell_ && entrypoint_)
      return make_error(ErrorKind::usage, "xaas run: --shell starts no program, such as " + *entrypoint_,
                        "the arguments of the shell follow `--`");
    arguments_.insert(arguments_.end(), rest.begin(), rest.end());
    if (!print_ && (!launcher_.empty() || ranks_ > 0))
      return make_error(ErrorKind::usage, "xaas run: --launcher and --ranks need --print");
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(run::Request request, request_of(progress));
    const run::Host host = run::this_host();
    const uint64_t max_bytes = max_cache_bytes();
    XAAS_TRY(const run::Plan plan, run::prepare(request, host, progress));
    if (plan.use && plan.use->fresh()) // errors of pruning do not stop the run
      prune_caches(max_bytes);
    if (print_)
      return print_plan(request, plan, host);
    if (common.verbosity > 0 || (plan.first && !common.quiet))
      for (const std::string& note : plan.notes)
        print_note(note);
    if (plan.rank_image && !common.quiet)
      if (const auto note = run::note_of_ranks(request.trees, host.environment, *plan.rank_image))
        print_note(*note);
    if (common.verbosity > 0)
      print_note(plan.runtime + ": " + run::shell_text(plan.invocation.arguments));
    std::cout.flush();
    XAAS_TRY(exit_code, run::start(plan));
    return {};
  }

private:
  Result<run::Request> request_of(TerminalProgress& progress) const {
    run::Request request;
    XAAS_TRY(request.image, oci::parse_reference(image_));
    request.arguments = arguments_;
    if (entrypoint_)
      request.entrypoint = *entrypoint_;
    std::vector<std::string> variables = settings().environment();
    variables.insert(variables.end(), variables_.begin(), variables_.end()); // these override
    for (const std::string& text : variables) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        return make_error(ErrorKind::usage, "--env " + text + ": not K=V");
      request.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    XAAS_TRY(request.binds, parse_binds(binds_));
    if (!profile_.empty())
      XAAS_CHECK(add_profile(request));
    if (!directory_.empty() && directory_.front() != '/')
      return make_error(ErrorKind::usage, "--workdir " + directory_ + ": not an absolute path");
    request.directory = directory_;
    request.runtimes = settings().runtimes();
    request.runtime_options = runtime_options_;
    request.mpi = parse_mpi(mpi_);
    XAAS_TRY(request.host, parse_host(host_, request.mpi));
    request.shell = shell_;
    request.assume_launcher = !launcher_.empty();
    request.gpus = !no_gpu_;
    request.check = !no_check_;
    request.details = common.verbosity > 0;
    request.trees = cache_directory() / trees_name;
    request.access = registry_.read(request.image.transport == oci::Transport::registry, progress);
    return request;
  }

  // A process in a container has a number that others have, too, in theirs.
  Result<void> add_profile(run::Request& request) const {
    XAAS_CHECK(make_directories(profile_).in("--profile"));
    std::error_code code;
    const fs::path directory = fs::canonical(profile_, code);
    if (code)
      return errno_error(code.value(), "--profile " + profile_);
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    request.binds.push_back({directory, directory, false, true});
    request.environment["LLVM_PROFILE_FILE"] =
        directory / (std::string(host.data()) + "-" + std::to_string(getpid()) + "-" +
                     std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) +
                     "-%p-%m.profraw");
    return {};
  }

  Result<void> print_plan(const run::Request& request, const run::Plan& plan, const run::Host& host) const {
    std::string text = run::shell_text(plan.invocation, host);
    if (!launcher_.empty()) {
      XAAS_TRY(std::vector<std::string> line, run::launcher_arguments(launcher_, plan.mpi_abi, ranks_));
      XAAS_TRY(const std::vector<std::string> own, own_arguments(plan));
      line.insert(line.end(), own.begin(), own.end());
      text = run::shell_text(line);
    }
    if (!common.json()) {
      for (const std::string& note : plan.notes)
        print_note(note);
      std::cout << text << "\n";
      return {};
    }
    print(Json{{"version", 1},
               {"image", request.image.text},
               {"runtime", plan.runtime},
               {"command", plan.invocation.arguments},
               {"environment", plan.invocation.environment},
               {"mpi",
                {{"abi", plan.mpi_abi.empty() ? Json() : Json(plan.mpi_abi)},
                 {"from", plan.mpi_abi.empty() ? Json() : Json(plan.host_mpi ? "host" : "image")}}},
               {"host", host_json(plan)},
               {"line", text},
               {"notes", plan.notes}});
    return {};
  }

  static Json host_json(const run::Plan& plan) {
    Json json = Json::array();
    for (const run::HostChoice& choice : plan.host)
      json.push_back(run::to_json(choice));
    return json;
  }

  // The decision as an argument of --host.
  static std::string decided(const std::vector<run::HostChoice>& choices) {
    std::vector<std::string> names;
    for (const run::HostChoice& choice : choices)
      if (choice.host && choice.what != "mpi")
        names.push_back(choice.what);
    return names.empty() ? "none" : join(names, ",");
  }

  // The command line that a launcher starts: this command with every decision made.
  Result<std::vector<std::string>> own_arguments(const run::Plan& plan) const {
    XAAS_TRY(const fs::path program, program_path());
    std::vector<std::string> line = {program, "run"};
    const auto add = [&line](const std::string& option, const std::string& value) {
      line.insert(line.end(), {option, value});
    };
    if (!plan.mpi_abi.empty())
      add("--mpi", plan.host_mpi ? "host" : "image");
    if (host_ != "auto" || std::any_of(plan.host.begin(), plan.host.end(),
                                       [](const auto& choice) { return choice.what != "mpi"; }))
      add("--host", decided(plan.host));
    add("--runtime", plan.runtime);
    for (const std::string& option : runtime_options_)
      line.push_back("--runtime-option=" + option);
    for (const std::string& bind : binds_)
      add("--bind", bind);
    for (const std::string& variable : variables_)
      add("--env", variable);
    if (!profile_.empty())
      add("--profile", profile_);
    if (entrypoint_)
      add("--entrypoint", *entrypoint_);
    if (shell_)
      line.emplace_back("--shell");
    if (!directory_.empty())
      add("--workdir", directory_);
    if (no_gpu_)
      line.emplace_back("--no-gpu");
    if (no_check_)
      line.emplace_back("--no-check");
    registry_.append(line);
    line.push_back(image_);
    if (!arguments_.empty())
      line.emplace_back("--");
    line.insert(line.end(), arguments_.begin(), arguments_.end());
    return line;
  }

  std::string image_, program_, mpi_ = "auto", host_ = "auto", directory_, launcher_, profile_;
  std::optional<std::string> entrypoint_;
  std::vector<std::string> arguments_, runtimes_, runtime_options_, binds_, variables_;
  bool shell_ = false, no_gpu_ = false, no_check_ = false, print_ = false;
  unsigned ranks_ = 0;
  RegistryOptions registry_;
};

} // namespace

std::unique_ptr<Command> make_run_command() {
  return std::make_unique<RunCommand>();
}

} // namespace xaas::cli
