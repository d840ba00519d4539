#include "caches.h"
#include "deploy_report.h"
#include "edf_option.h"
#include "images.h"
#include "kernels.h"
#include "registry_options.h"
#include "settings.h"
#include "signer_options.h"
#include "trace_option.h"
#include "warnings.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>
#include <xaas/deploy/deploy.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <unistd.h>

namespace xaas::cli {

namespace {

class DeployCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("IMAGE", image_,
                   "IR or source image: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
                   "docker://HOST/NAME[:TAG] or a path")
        ->required();
    app.add_option("-o,--output", output_,
                   "Image to write: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
                   "docker://HOST/NAME[:TAG], rootfs:DIR or squashfs:FILE")
        ->type_name("IMAGE");
    CLI::Option* const machines =
        app.add_option("--system", systems_,
                       "Deploy for the machine of this name (from `xaas detect --save`), or that this file "
                       "describes; repeated, for several, whose images get a common index or file tree")
            ->allow_extra_args(false)
            ->check(not_empty)
            ->type_name("MACHINE");
    CLI::Option* const cpus =
        app.add_option("--cpu", cpus_,
                       "Deploy for this CPU: an LLVM name (haswell, znver4) or an ISA level; for several, "
                       "the images get a common index or file tree")
            ->allow_extra_args(false)
            ->delimiter(',')
            ->type_name("NAME,...");
    app.add_flag("--all-machines", all_machines_,
                 "Deploy for all machines that have a name, as --system does")
        ->excludes(machines)
        ->excludes(cpus);
    app.add_option(
           "--gpu", gpus_,
           "Deploy for these GPUs: architectures by LLVM name (sm_90, gfx90a), `cpu` to run CUDA kernels on "
           "the CPU, or `none`; `auto,cpu` and `auto,none`: only for machines without a GPU")
        ->delimiter(',')
        ->type_name("ARCH,...");
    app.add_flag(
        "--check-kernels", check_kernels_,
        "With --gpu cpu: the kernels report accesses out of bounds, reads of shared memory that nobody "
        "wrote, data races and divergent barriers when they run");
    app.add_flag(
        "--force", force_,
        "With --gpu cpu, also deploy programs that are linked with libraries that need a GPU (cuFFT, "
        "cuBLAS, CUDA's driver, ...); calls of their functions fail");
    app.add_option(
           "--ptxas", ptxas_,
           "NVIDIA's assembler for device code (default: that of the CUDA toolkit, if one is found); `none`: "
           "leave assembling to the driver")
        ->type_name("FILE");
    app.add_option(
           "--set", set_,
           "Choose this value of a specialization point; can be repeated. `isa` chooses the IR, not the CPU")
        ->type_name("K=V");
    signer_.add(app);
    app.add_option(
           "--reuse", reuse_,
           "First look here for an image that was deployed earlier for the same kind of machine: oci:DIR "
           "or docker://HOST/NAME. Images written with -o to the same place are found later")
        ->type_name("IMAGE");
    app.add_option(
           "--runtime", runtimes_,
           "Runtime to build a source image in: " + join(enclose::builder_choices(), ", ") +
               "; several are tried in order. `host`: use the compilers and libraries of this machine")
        ->delimiter(',')
        ->type_name("NAME,...");
    app.add_option("--runtime-option", runtime_options_,
                   "Pass an option to that runtime, as --runtime-option=OPTION; can be repeated")
        ->allow_extra_args(false)
        ->type_name("OPTION");
    app.add_flag("--lto", lto_, "Optimize each program and library as a whole (ThinLTO); takes longer");
    CLI::Option* const counts =
        app.add_flag("--profile-generate", count_,
                     "Give the programs counters for a training run: `xaas run --profile DIR` of the image "
                     "leaves a profile in DIR");
    app.add_option("--profile", profile_,
                   "Optimize the programs by the profiles in this file or directory, of training runs of the "
                   "same IR image on any CPU; `auto`: by those that are attached to the image")
        ->excludes(counts)
        ->type_name("PATH");
    app.add_flag("--cold-for-size", cold_for_size_,
                 "With --profile: optimize for size what never ran in the training runs")
        ->needs("--profile");
    CLI::Option* const plugin = app.add_option("--pass-plugin", plugins_,
                                               "Run this pass plugin on the units, and in the links, that "
                                               "ask for it; can be repeated. They ask by the digest of "
                                               "the plugin that they were built with")
                                    ->type_name("FILE");
    app.add_option("--for", plugins_for_,
                   "With `all`: plugins that nothing asks for run on all of the application's IR (default: "
                   "such a plugin is an error)")
        ->check(CLI::IsMember({"all"}))
        ->needs(plugin)
        ->type_name("all");
    app.add_flag("--any-plugin-build", any_plugin_build_,
                 "Take another build of a plugin that the image names, with the same name")
        ->needs(plugin);
    app.add_option("--plugin-option", plugin_options_,
                   "Allow units and links to set this LLVM option of a plugin, as their builds did, or set "
                   "it for all; can be repeated")
        ->needs(plugin)
        ->allow_extra_args(false)
        ->type_name("NAME[=VALUE]");
    app.add_flag("--explain", explain_,
                 "Print the reason for every choice and every rejection, and with --gpu cpu the kernels that "
                 "are slow or "
                 "refused on the CPU, also with --dry-run");
    CLI::Option* const dry =
        app.add_flag("--dry-run", dry_run_, "Only choose the configuration; write nothing");
    app.add_option("--sbom", sbom_, "Write an SBOM of the deployed image to FILE (SPDX 2.3, JSON)")
        ->excludes(dry)
        ->type_name("FILE");
    app.add_flag(
           "--attach-sbom", attach_sbom_,
           "Attach the SBOM to the deployed image in its registry or layout, as an artifact that refers to "
           "the image")
        ->excludes(dry);
    app.add_flag("--no-cache", no_cache_, "Do not use or update the cache");
    edf_.add(app);
    trace_.add(app);
    registry_.add(app);
    app.add_option("-j,--jobs", jobs_, "Number of parallel jobs (default: what this machine allows)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    deploy::Request request;
    XAAS_CHECK(add_images(request));
    if (request.output)
      XAAS_CHECK(edf_.check(*request.output));
    XAAS_CHECK(add_choices(request));
    XAAS_TRY(const std::vector<Target> targets, targets_of_options());
    XAAS_TRY(request.time, source_date_epoch());
    request.jobs = jobs();
    be_modest();
    use_common_umask();
    add_build(request);
    const uint64_t max_bytes = max_cache_bytes();
    TerminalProgress progress(common.quiet, common.verbosity);
    if (!no_cache_ && (!dry_run_ || explain_))
      if (std::optional<store::Cache> cache = open_cache("objects", progress))
        request.objects.emplace(*std::move(cache));
    const bool remote = request.image.transport == oci::Transport::registry ||
                        (request.reuse && request.reuse->transport == oci::Transport::registry);
    request.access = registry_.read(!no_cache_ && remote, progress);
    trace_.begin("deploy " + request.image.text);
    std::vector<deploy::Request> requests;
    for (const Target& target : targets) {
      requests.push_back(request);
      XAAS_CHECK(add_target(requests.back(), target));
    }
    const Result<deploy::IndexReport> result = deploy(requests, progress);
    const Result<void> traced = trace_.write();
    if (request.objects || request.access.blobs) // a failed deploy adds entries, too
      prune_caches(max_bytes);
    XAAS_TRY(deploy::IndexReport report, result);
    XAAS_CHECK(traced);
    if (std::optional<image::Warning> warning = login_node_warning(targets.front().system))
      report.images.front().warnings.push_back(*std::move(warning));
    if (!sbom_.empty()) {
      const UserUmask users;
      XAAS_CHECK(write_output(sbom_, provenance::to_text(*report.images.front().sbom)));
    }
    if (request.output && !dry_run_) {
      const UserUmask users;
      XAAS_CHECK(edf_.write(*request.output));
    }
    print_report(report);
    return {};
  }

private:
  // What is read and what is written.
  Result<void> add_images(deploy::Request& request) const {
    XAAS_TRY(request.image, oci::parse_reference(image_));
    if (!output_.empty()) {
      XAAS_TRY(request.output, oci::parse_reference(output_));
    }
    if (!sbom_.empty()) // report an unusable path before the work
      XAAS_CHECK(check_output("--sbom", sbom_));
    if (const std::string place = settings().reuse(); !place.empty()) {
      XAAS_TRY(request.reuse, oci::parse_reference(place));
    }
    XAAS_TRY(request.signer, signer_.read(SignerOptions::From::settings));
    request.sbom = !sbom_.empty();
    request.attach_sbom = attach_sbom_;
    request.dry_run = dry_run_;
    request.explain_kernels = explain_;
    request.details = common.verbosity > 0;
    return {};
  }

  // The configuration and the target.
  Result<void> add_choices(deploy::Request& request) const {
    for (const std::string& text : set_) {
      XAAS_TRY(auto assignments, spec::parse_assignments(text));
      for (auto& [point, value] : assignments)
        request.set[point] = value;
    }
    request.lto = lto_;
    request.count = count_;
    request.attached_profile = profile_ == "auto";
    request.cold_for_size = cold_for_size_;
    if (!profile_.empty() && !request.attached_profile) {
      XAAS_TRY(request.profile, profile::read_profile({profile_}));
    }
    request.stand_ins = force_;
    for (const std::string& file : plugins_) {
      XAAS_TRY(request.plugins.given.emplace_back(), lower::open_plugin(file));
    }
    request.plugins.for_all = !plugins_for_.empty();
    request.plugins.any_build = any_plugin_build_;
    for (const std::string& option : plugin_options_)
      request.plugins.options.push_back(
          option.substr(std::min(option.size(), option.find_first_not_of('-'))));
    return {};
  }

  bool has_several() const { return all_machines_ || systems_.size() > 1 || cpus_.size() > 1; }

  struct Target {
    std::string name; // of the machine, or of the CPU of one machine with several, or empty
    system::SystemDescription system;
  };

  Result<std::vector<Target>> targets_of_options() const {
    if (systems_.size() > 1 && !cpus_.empty())
      return make_error(ErrorKind::usage, "--cpu replaces the CPU of one machine, not of several",
                        "leave out --cpu, or all --system but one");
    std::vector<std::string> machines = systems_, cpus = cpus_;
    if (all_machines_)
      for (const config::Machine& machine : settings().machines().all())
        machines.push_back(machine.name);
    if (all_machines_ && machines.empty())
      return make_error(ErrorKind::not_found, "--all-machines: no machine has a name here",
                        "run `xaas detect --save NAME` on a node of each kind");
    if (machines.empty())
      machines.emplace_back();
    if (cpus.empty())
      cpus.emplace_back();
    std::vector<Target> targets;
    for (const std::string& machine : machines)
      for (const std::string& cpu : cpus) {
        XAAS_TRY(system::SystemDescription system, system_of(machine, cpu));
        targets.push_back({cpus.size() > 1 ? cpu : machine, std::move(system)});
      }
    return targets;
  }

  Result<void> add_target(deploy::Request& request, const Target& target) const {
    request.system = target.system;
    request.target = target.name;
    XAAS_CHECK(set_gpus(request));
    if (systems_.empty() && !all_machines_ && request.system.arch == target::host_arch())
      request.library_path = split(environment("LD_LIBRARY_PATH"), ':');
    add_selected(request);
    return {};
  }

  Result<deploy::IndexReport> deploy(const std::vector<deploy::Request>& requests,
                                     TerminalProgress& progress) const {
    if (has_several())
      return deploy::deploy_index(requests, progress);
    XAAS_TRY(deploy::Report report, deploy::deploy(requests.front(), progress));
    deploy::IndexReport alone;
    alone.images.push_back(std::move(report));
    return alone;
  }

  void print_report(const deploy::IndexReport& report) const {
    const Details details{explain_, common.verbosity > 0};
    const deploy::Report& first = report.images.front();
    if (common.json())
      print(has_several() ? report_json(report) : report_json(first));
    else
      std::cout << (has_several() ? report_text(report, details) : report_text(first, details));
    std::cout.flush();
    if (common.quiet)
      return;
    std::set<std::string> printed; // several images have most warnings in common
    for (const deploy::Report& each : report.images)
      if (const std::string text = warnings_text(each.warnings, common.verbosity > 0);
          printed.insert(text).second)
        std::cerr << text;
  }

  // How a configuration without IR is built.
  void add_build(deploy::Request& request) const {
    request.runtimes = runtimes();
    request.runtime_options = runtime_options_;
    request.limits = build_limits();
    request.trees = cache_directory() / trees_name;
    request.logs = cache_directory() / "logs";
    if (!no_cache_)
      request.compiler_cache = cache_directory() / compilers_name;
  }

  // A login node is rarely the machine that the image is for.
  std::optional<image::Warning> login_node_warning(const system::SystemDescription& system) const {
    if (!systems_.empty() || !cpus_.empty() || all_machines_ || system.batch_system.empty() ||
        !system.batch_job.empty())
      return {};
    std::vector<std::string> names;
    for (const config::Machine& machine : settings().machines().all())
      names.push_back(machine.name);
    constexpr size_t shown = 10;
    return image::Warning{"login-node", "", 0,
                          "outside a job (" + system.batch_system + "), the image is for this node, " +
                              system.cpu.name + "; for others: --system MACHINE" +
                              (names.empty() ? ", after `xaas detect --save MACHINE` there"
                                             : ", one of " + image::few(std::move(names), shown))};
  }

  // `--set isa=LEVEL` looks like a way to deploy for an older machine, so a warning names the right one.
  void add_selected(deploy::Request& request) const {
    const auto level = request.set.find("isa");
    const bool level_alone =
        level != request.set.end() && cpus_.empty() && systems_.empty() && !all_machines_ && !common.quiet;
    const bool explained = explain_ && !common.json();
    if (!level_alone && !explained)
      return;
    const std::string warning = level_alone ? "--set isa=" + level->second +
                                                  " chooses the IR; code is still generated for this CPU (" +
                                                  request.system.cpu.name + "). Use --cpu " + level->second +
                                                  " to generate code for other machines"
                                            : "";
    const std::string title =
        has_several()
            ? "target " + (request.target.empty() ? request.system.cpu.name : request.target) + ":\n"
            : "";
    request.selected = [warning, explained, title](const select::Selection& selection,
                                                   const std::vector<deploy::HostChoice>& host) {
      if (!warning.empty())
        print_warning(warning);
      if (explained)
        std::cout << title + select::explain(selection) + explain(host) << std::flush;
    };
  }

  // --gpu replaces the GPUs of the description. Nothing is known of their driver.
  Result<void> set_gpus(deploy::Request& request) const {
    if (check_kernels_ && gpus_ != std::vector<std::string>{"cpu"})
      return make_error(ErrorKind::usage, "--check-kernels needs --gpu cpu",
                        "only kernels that run on the CPU can be checked");
    request.check_kernels = check_kernels_;
    if (ptxas_ != "none")
      request.assembler = device::places_of_environment(ptxas_);
    std::vector<std::string> names = gpus_;
    if (!names.empty() && names.front() == "auto") {
      names.erase(names.begin());
      if (names.size() > 1 || (!names.empty() && names.front() != "cpu" && names.front() != "none"))
        return make_error(ErrorKind::usage,
                          "--gpu: after `auto` comes `cpu` or `none`, for machines without a GPU");
      if (!system::target_gpus(request.system).empty())
        return {};
    }
    if (names.empty())
      return {};
    request.system.gpus.clear();
    request.no_gpu = names == std::vector<std::string>{"none"};
    if (request.no_gpu)
      return {};
    if (names == std::vector<std::string>{"cpu"}) {
      request.system.gpus.push_back(system::cpu_as_gpu());
      return {};
    }
    for (const std::string& name : names) {
      if (name == "cpu" || name == "none" || name == "auto")
        return make_error(ErrorKind::usage, "--gpu: `" + name + "` stands alone, not in a list");
      XAAS_TRY(const target::GpuArch arch, target::gpu_arch(name).in("--gpu"));
      system::Gpu gpu;
      gpu.vendor = arch.vendor == target::GpuArch::Vendor::nvidia ? "nvidia" : "amd";
      gpu.arch = name;
      gpu.evidence = "--gpu";
      request.system.gpus.push_back(std::move(gpu));
    }
    return {};
  }

  // The runtimes of the settings that can build. Those of --runtime must all be known.
  std::vector<std::string> runtimes() const {
    std::vector<std::string> names = settings().runtimes();
    const std::vector<std::string> known = enclose::builder_choices();
    if (runtimes_.empty())
      std::erase_if(names, [&](const std::string& name) {
        return name == "host" || std::find(known.begin(), known.end(), name) == known.end();
      });
    return names;
  }

  static enclose::BuildLimits build_limits() {
    enclose::BuildLimits limits;
    limits.processes = settings().number("build_processes");
    limits.memory = settings().number("build_memory");
    limits.disk = settings().number("build_disk");
    limits.seconds = static_cast<double>(settings().number("build_seconds"));
    limits.idle_seconds = static_cast<double>(settings().number("build_idle_seconds"));
    return limits;
  }

  static std::string explain(const std::vector<deploy::HostChoice>& host) {
    if (host.empty())
      return {};
    std::vector<std::vector<std::string>> rows;
    for (const deploy::HostChoice& choice : host)
      rows.push_back({"  " + choice.what, choice.host ? "from the host" : "from the image",
                      choice.reason + (choice.found.empty() ? "" : ": " + choice.found)});
    return "libraries that may come from the host:\n" + table(rows);
  }

  EdfOption edf_;
  SignerOptions signer_;
  TraceOption trace_;
  RegistryOptions registry_;
  std::string image_, output_, sbom_, reuse_;
  std::string ptxas_;
  std::vector<std::string> systems_, cpus_, set_, gpus_, runtimes_, runtime_options_;
  bool check_kernels_ = false;
  bool force_ = false, explain_ = false, dry_run_ = false, lto_ = false, no_cache_ = false,
       attach_sbom_ = false, all_machines_ = false, count_ = false;
  std::string profile_;
  std::vector<std::string> plugins_, plugin_options_;
  std::string plugins_for_;
  bool any_plugin_build_ = false, cold_for_size_ = false;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_deploy_command() {
  return std::make_unique<DeployCommand>();
}

} // namespace xaas::cli
