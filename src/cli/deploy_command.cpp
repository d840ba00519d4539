#include "caches.h"
#include "images.h"
#include "registry_options.h"
#include "settings.h"
#include "verify_key.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>
#include <xaas/deploy/deploy.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <iostream>
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
    app.add_option("--system", system_,
                   "Deploy for the machine that this file describes (from `xaas detect`)")
        ->type_name("FILE");
    app.add_option("--cpu", cpu_, "Deploy for this CPU: an LLVM name (haswell, znver4) or an ISA level")
        ->type_name("NAME");
    app.add_option("--gpu", gpus_,
                   "Deploy for these GPUs: architectures as LLVM names them (sm_90, gfx90a), or `none`")
        ->delimiter(',')
        ->type_name("ARCH,...");
    app.add_option(
           "--ptxas", ptxas_,
           "NVIDIA's assembler, which makes machine code of device code; else that of the CUDA toolkit "
           "that is found; `none`: leave it to the driver")
        ->type_name("FILE");
    app.add_option("--set", set_, "Choose this value of a specialization point; can be repeated")
        ->type_name("K=V");
    add_verify_key(app, verify_key_);
    app.add_option("--reuse", reuse_,
                   "Look here first for the image, deployed before for such a machine: oci:DIR or "
                   "docker://HOST/NAME; what is deployed with -o into the same place is found there")
        ->type_name("IMAGE");
    app.add_option(
           "--runtime", runtimes_,
           "What a source image is built in: " + join(enclose::builder_choices(), ", ") +
               "; several are tried in order. `host`: with this machine's own compilers and libraries")
        ->delimiter(',')
        ->type_name("NAME,...");
    app.add_option("--runtime-option", runtime_options_,
                   "Option for that runtime, as --runtime-option=OPTION; can be repeated")
        ->allow_extra_args(false)
        ->type_name("OPTION");
    app.add_flag("--lto", lto_, "Optimise each program and library as a whole (ThinLTO); takes longer");
    app.add_flag("--explain", explain_, "Print the reason for every choice and every rejection");
    CLI::Option* const dry =
        app.add_flag("--dry-run", dry_run_, "Choose the configuration only; write nothing");
    app.add_option("--sbom", sbom_, "Write what the deployed image consists of to FILE (SPDX 2.3, JSON)")
        ->excludes(dry)
        ->type_name("FILE");
    app.add_flag("--attach-sbom", attach_sbom_,
                 "Attach the same to the deployed image, in its registry or layout, as an artifact that "
                 "refers to it")
        ->excludes(dry);
    app.add_flag("--no-cache", no_cache_, "Use and keep no objects of earlier deploys");
    registry_.add(app);
    app.add_option("-j,--jobs", jobs_, "Jobs at once; else what this machine allows")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    deploy::Request request;
    XAAS_TRY(request.image, oci::parse_reference(image_));
    if (!output_.empty()) {
      XAAS_TRY(request.output, oci::parse_reference(output_));
    }
    if (!sbom_.empty()) // better now than after the work
      XAAS_CHECK(check_output(sbom_));
    if (const std::string place = settings().reuse(); !place.empty()) {
      XAAS_TRY(request.reuse, oci::parse_reference(place));
    }
    for (const std::string& text : set_) {
      XAAS_TRY(auto assignments, spec::parse_assignments(text));
      for (auto& [point, value] : assignments)
        request.set[point] = value;
    }
    XAAS_TRY(request.verify_key, read_verify_key(settings().verify_key().string()));
    XAAS_TRY(request.system, system_of(system_, cpu_));
    XAAS_CHECK(set_gpus(request));
    XAAS_TRY(request.time, source_date_epoch());
    request.dry_run = dry_run_;
    request.lto = lto_;
    request.jobs = jobs();
    be_modest();
    use_common_umask();
    request.runtimes = runtimes();
    request.runtime_options = runtime_options_;
    request.limits = build_limits();
    request.trees = cache_directory() / trees_name;
    request.logs = cache_directory() / "logs";
    if (!no_cache_)
      request.compiler_cache = cache_directory() / compilers_name;
    request.sbom = !sbom_.empty();
    request.attach_sbom = attach_sbom_;
    if (explain_ && !common.json())
      request.selected = [](const select::Selection& selection, const std::vector<deploy::HostChoice>& host) {
        std::cout << select::explain(selection) + explain(host) << std::flush;
      };
    if (system_.empty() && request.system.arch == target::host_arch())
      request.library_path = split(environment("LD_LIBRARY_PATH"), ':');
    const uint64_t max_bytes = max_cache_bytes();
    TerminalProgress progress(common.quiet, common.verbosity);
    if (!no_cache_ && !dry_run_)
      if (std::optional<store::Cache> cache = open_cache("objects", progress))
        request.objects.emplace(*std::move(cache));
    const bool remote = request.image.transport == oci::Transport::registry ||
                        (request.reuse && request.reuse->transport == oci::Transport::registry);
    request.access = registry_.read(!no_cache_ && remote, progress);
    const Result<deploy::Report> result = deploy::deploy(request, progress);
    if (request.objects || request.access.blobs) // also what a failed deploy kept counts
      prune_caches(max_bytes);
    XAAS_TRY(const deploy::Report report, result);
    if (!sbom_.empty()) {
      const UserUmask users;
      XAAS_CHECK(write_output(sbom_, provenance::to_text(*report.sbom)));
    }
    if (common.json())
      print_json(report);
    else if (!dry_run_)
      print_table(report);
    else
      print_dry_run(report);
    return {};
  }

private:
  // What was named by hand takes the place of what the description says; of its driver nothing is known.
  Result<void> set_gpus(deploy::Request& request) const {
    if (ptxas_ != "none")
      request.assembler = device::places_of_environment(ptxas_);
    if (gpus_.empty())
      return {};
    request.system.gpus.clear();
    request.no_gpu = gpus_ == std::vector<std::string>{"none"};
    if (request.no_gpu)
      return {};
    for (const std::string& name : gpus_) {
      XAAS_TRY(const target::GpuArch arch, target::gpu_arch(name).in("--gpu"));
      system::Gpu gpu;
      gpu.vendor = arch.vendor == target::GpuArch::Vendor::nvidia ? "nvidia" : "amd";
      gpu.arch = name;
      gpu.evidence = "--gpu";
      request.system.gpus.push_back(std::move(gpu));
    }
    return {};
  }

  // Of the settings those that can build; what was asked for here must be known.
  std::vector<std::string> runtimes() const {
    std::vector<std::string> names = settings().runtimes();
    const std::vector<std::string> known = enclose::builder_choices();
    if (runtimes_.empty())
      std::erase_if(names, [&](const std::string& name) {
        return name == "host" || std::find(known.begin(), known.end(), name) == known.end();
      });
    return names;
  }

  static Result<void> check_output(const fs::path& path) {
    const fs::path directory = fs::absolute(path).parent_path();
    std::error_code code;
    if (fs::is_directory(path, code))
      return make_error(ErrorKind::usage, "--sbom " + path.string() + ": is a directory");
    if (!fs::exists(path, code) && access(directory.c_str(), W_OK) != 0)
      return errno_error(errno, "--sbom " + path.string());
    return {};
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

  static void print_json(const deploy::Report& report) {
    Json selection = Json::array();
    for (const select::Choice& choice : report.selection.choices)
      selection.push_back(Json{{"point", choice.point}, {"value", choice.value}, {"reason", choice.reason}});
    Json rejected = Json::array();
    for (const select::Rejection& rejection : report.selection.rejected)
      rejected.push_back(Json{{"configuration", rejection.configuration}, {"reason", rejection.reason}});
    print(Json{
        {"version", 1},
        {"image", report.image.empty() ? Json() : Json(report.image)},
        {"digest", report.digest ? Json(report.digest->to_string()) : Json()},
        {"signature", to_json(report.signature)},
        {"sbom", report.attached ? Json(report.attached->to_string()) : Json()},
        {"configuration", report.selection.configuration.values()},
        {"target", {{"cpu", report.target.name}, {"features", report.target.features}, {"gpu", report.gpus}}},
        {"gpu_code", Json::parse(image::to_annotation(report.gpu_code))},
        {"reused", report.reused ? Json(*report.reused) : Json()},
        {"form", report.from_source ? "source" : "ir"},
        {"build",
         report.compiler.empty()
             ? Json()
             : Json{{"runtime", report.runtime}, {"compiler", report.compiler}, {"flags", report.flags}}},
        {"modules", {{"lowered", report.lowered}, {"cached", report.cached}}},
        {"native_objects", report.native_objects},
        {"links", report.links},
        {"lto", report.lto ? Json{{"units", report.lto->units}, {"without", report.lto->without}} : Json()},
        {"seconds",
         {{"fetch", report.seconds.fetch},
          {"build", report.seconds.build},
          {"lower", report.seconds.lower},
          {"link", report.seconds.link},
          {"package", report.seconds.package},
          {"total", report.seconds.total}}},
        {"selection", selection},
        {"rejected", rejected},
        {"values", values_json(report.selection)},
        {"host", host_json(report.host)}});
  }

  static std::string explain(const std::vector<deploy::HostChoice>& host) {
    if (host.empty())
      return {};
    std::vector<std::vector<std::string>> rows;
    for (const deploy::HostChoice& choice : host)
      rows.push_back({"  " + choice.what, std::string("of the ") + (choice.host ? "host" : "image"),
                      choice.reason + (choice.found.empty() ? "" : ": " + choice.found)});
    return "libraries that may be the host's:\n" + table(rows);
  }

  static Json host_json(const std::vector<deploy::HostChoice>& host) {
    Json json = Json::array();
    for (const deploy::HostChoice& choice : host)
      json.push_back(run::to_json(choice));
    return json;
  }

  void print_dry_run(const deploy::Report& report) const {
    if (!explain_)
      std::cout << report.selection.configuration.id() << "\n";
    if (report.from_source)
      std::cout << "would be built from source\n";
    if (report.reused)
      std::cout << "would be reused: " << *report.reused << "\n";
    else if (report.looked_at)
      std::cout << "would be deployed: nothing to reuse at " << *report.looked_at << "\n";
  }

  static Json values_json(const select::Selection& selection) {
    Json values = Json::array();
    for (const select::Outcome& value : selection.values) {
      Json needs = Json::array();
      for (const select::Need& need : value.needs)
        needs.push_back(select::to_json(need));
      values.push_back(Json{{"point", value.point},
                            {"value", value.value},
                            {"chosen", value.chosen},
                            {"possible", value.possible},
                            {"built", value.built},
                            {"reason", value.reason},
                            {"needs", needs}});
    }
    return values;
  }

  static void print_table(const deploy::Report& report) {
    if (report.reused) {
      std::cout << table({{"configuration", report.selection.configuration.id()},
                          {"CPU", report.target.name},
                          {"reused", *report.reused},
                          {"time", human_seconds(report.seconds.total)}})
                << report.image << " " << report.digest->to_string() << "\n";
      return;
    }
    std::vector<std::vector<std::string>> rows;
    if (report.signature)
      rows.push_back({"signed", report.signature->image.to_string()});
    if (report.from_source) {
      rows.insert(rows.end(), {{"configuration", report.selection.configuration.id()},
                               {"CPU", report.target.name},
                               {"built in", report.runtime},
                               {"compiler", report.compiler},
                               {"flags", join(report.flags, " ")},
                               {"time", human_seconds(report.seconds.total) + " (building " +
                                            human_seconds(report.seconds.build) + ")"}});
      std::cout << table(rows) << report.image << " " << report.digest->to_string() << "\n";
      return;
    }
    rows.insert(rows.end(),
                {{"configuration", report.selection.configuration.id()}, {"CPU", report.target.name}});
    for (const image::GpuCode& code : report.gpu_code)
      rows.push_back({"GPU", describe(code)});
    if (report.has_device_code && report.gpu_code.empty())
      rows.push_back({"GPU", "none"});
    rows.insert(rows.end(),
                {{"objects", std::to_string(report.lowered) + " lowered, " + std::to_string(report.cached) +
                                 " known, " + std::to_string(report.links) + " links"},
                 {"native objects", std::to_string(report.native_objects)}});
    if (report.lto) {
      std::string units = std::to_string(report.lto->units) + " units";
      for (const auto& [reason, count] : report.lto->without)
        units += ", " + std::to_string(count) + " not (" + reason + ")";
      rows.push_back({"LTO", units});
    }
    rows.push_back({"time", human_seconds(report.seconds.total) + " (lowering " +
                                human_seconds(report.seconds.lower) + ", linking " +
                                human_seconds(report.seconds.link) + ")"});
    std::cout << table(rows);
    if (report.attached)
      std::cout << "SBOM " << report.attached->to_string() << "\n";
    std::cout << report.image << " " << report.digest->to_string() << "\n";
  }

  RegistryOptions registry_;
  std::string image_, output_, system_, cpu_, verify_key_, sbom_, reuse_;
  std::string ptxas_;
  std::vector<std::string> set_, gpus_, runtimes_, runtime_options_;
  bool explain_ = false, dry_run_ = false, lto_ = false, no_cache_ = false, attach_sbom_ = false;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_deploy_command() {
  return std::make_unique<DeployCommand>();
}

} // namespace xaas::cli
