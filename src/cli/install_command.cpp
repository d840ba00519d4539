#include "images.h"
#include "registry_options.h"
#include "run_options.h"
#include "settings.h"

#include <xaas/base/text.h>
#include <xaas/install/install.h>
#include <xaas/run/run.h>

#include <iostream>

namespace xaas::cli {

namespace {

class InstallCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("IMAGE", image_,
                   "Deployed image, or index for several targets: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
                   "docker://HOST/NAME[:TAG], a path")
        ->required();
    app.add_option("--prefix", prefix_, "Directory of the installation; must be new or empty")
        ->type_name("DIR")
        ->required();
    app.add_flag("--replace", replace_, "Replace the installation in the prefix");
    app.add_option("--module", module_, "Name of the module (default: the image's title and version)")
        ->type_name("NAME/VERSION");
    app.add_option("--modules", modules_, "Also write the module files below this directory")
        ->type_name("DIR")
        ->check(not_empty);
    app.add_option("--container", container_,
                   "Whether the programs run in a container: auto (if they depend on absolute paths of the "
                   "image), always, never")
        ->type_name("auto|always|never")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_option("--mpi", mpi_,
                   "Which MPI library the programs load: that of the host, that of the image, or auto (the "
                   "host's if it is compatible)")
        ->type_name("host|image|auto")
        ->check(CLI::IsMember({"host", "image", "auto"}));
    app.add_option("--host", host_,
                   "Libraries that the programs load from the host instead of the image: NAME,... (fftw3, "
                   "libfftw3.so.3, mpi), none, or auto (those that the application prefers, if compatible)")
        ->type_name("auto|none|NAME,...");
    app.add_option("--runtime", runtimes_,
                   "Container runtime, if one is needed: " + join(run::script_runtime_choices(), ", ") +
                       "; of several, the first that works")
        ->type_name("NAME,...")
        ->allow_extra_args(false)
        ->delimiter(',');
    app.add_option("--runtime-option", runtime_options_,
                   "Pass this option to the runtime; can be repeated (--runtime-option=--OPTION)")
        ->type_name("OPTION")
        ->allow_extra_args(false);
    app.add_option("--bind", binds_,
                   "Bind this file or directory of the host into containers; can be repeated")
        ->type_name("SRC[:DST[:ro]]")
        ->allow_extra_args(false);
    registry_.add(app);
  }

  Result<void> run() override {
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(const install::Request request, request_of(progress));
    XAAS_TRY(const install::Report report, install::install(request, progress));
    if (!common.quiet) {
      for (const std::string& note : report.notes)
        print_note(note);
      for (const install::Obstacle& obstacle : report.obstacles)
        print_note(obstacle.file + " " + obstacle.reason);
      if (!report.obstacles.empty() && !report.runtime.empty())
        print_note("so the programs run in a container (" + report.runtime +
                   "); `--container never` runs them without");
    }
    if (common.json())
      print(json_of(report));
    else
      print_text(report);
    return {};
  }

private:
  Result<install::Request> request_of(TerminalProgress& progress) const {
    install::Request request;
    XAAS_TRY(request.image, oci::parse_reference(image_));
    request.prefix = prefix_;
    if (!module_.empty()) {
      const size_t slash = module_.rfind('/');
      if (slash == std::string::npos || slash == 0 || slash + 1 == module_.size())
        return make_error(ErrorKind::usage, "--module " + module_ + ": not NAME/VERSION");
      request.name = module_.substr(0, slash);
      request.version = module_.substr(slash + 1);
    }
    if (!modules_.empty())
      request.modules = modules_;
    request.container = container_ == "always"  ? install::Container::always
                        : container_ == "never" ? install::Container::never
                                                : install::Container::automatic;
    request.replace = replace_;
    request.runtimes = settings().runtimes();
    request.runtime_options = runtime_options_;
    request.mpi = parse_mpi(mpi_);
    XAAS_TRY(request.host, parse_host(host_, request.mpi));
    XAAS_TRY(request.binds, parse_binds(binds_));
    request.access = registry_.read(request.image.transport == oci::Transport::registry, progress);
    return request;
  }

  static Json json_of(const install::Report& report) {
    Json obstacles = Json::array(), host = Json::array(), modules = Json::array();
    for (const install::Obstacle& obstacle : report.obstacles)
      obstacles.push_back({{"file", obstacle.file}, {"reason", obstacle.reason}});
    for (const run::HostChoice& choice : report.host)
      host.push_back(run::to_json(choice));
    for (const fs::path& module : report.modules)
      modules.push_back(module.string());
    return {{"version", 1},
            {"image", report.image},
            {"digest", report.digest.to_string()},
            {"prefix", report.prefix.string()},
            {"module", report.name + "/" + report.version},
            {"modules", std::move(modules)},
            {"programs", report.programs},
            {"texts", report.texts},
            {"targets", report.targets},
            {"runtime", report.runtime.empty() ? Json() : Json(report.runtime)},
            {"obstacles", std::move(obstacles)},
            {"mpi",
             {{"abi", report.mpi_abi.empty() ? Json() : Json(report.mpi_abi)},
              {"from", report.mpi_abi.empty() ? Json() : Json(report.host_mpi ? "host" : "image")}}},
            {"host", std::move(host)},
            {"notes", report.notes}};
  }

  static void print_text(const install::Report& report) {
    std::cout << report.prefix.string() << " " << report.digest.to_string() << "\n"
              << "programs: " << join(report.programs, ", ")
              << (report.runtime.empty() ? std::string() : " (in a container: " + report.runtime + ")")
              << "\n"
              << "module:   " << report.name << "/" << report.version << " in "
              << report.module_directory.string() << "\n";
  }

  std::string image_, prefix_, module_, modules_, container_ = "auto", mpi_ = "auto", host_ = "auto";
  bool replace_ = false;
  std::vector<std::string> runtimes_, runtime_options_, binds_;
  RegistryOptions registry_;
};

class UninstallCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("PREFIX", prefix_, "Directory of an installation that `xaas install` wrote")->required();
  }

  Result<void> run() override {
    XAAS_TRY(const install::Removed removed, install::uninstall(prefix_));
    if (common.json()) {
      Json kept = Json::array();
      for (const fs::path& path : removed.kept)
        kept.push_back(path.string());
      print(Json{{"version", 1},
                 {"prefix", removed.prefix.string()},
                 {"files", removed.files},
                 {"kept", std::move(kept)}});
      return {};
    }
    if (!common.quiet)
      for (const fs::path& path : removed.kept)
        print_note(path.string() + " was added or changed, and stays");
    std::cout << removed.prefix.string() << " " << removed.files << " files removed\n";
    return {};
  }

private:
  std::string prefix_;
};

} // namespace

std::unique_ptr<Command> make_install_command() {
  return std::make_unique<InstallCommand>();
}

std::unique_ptr<Command> make_uninstall_command() {
  return std::make_unique<UninstallCommand>();
}

} // namespace xaas::cli
