#include "build_report.h"
#include "caches.h"
#include "images.h"
#include "registry_options.h"
#include "settings.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/build/build.h>
#include <xaas/target/cpu.h>

#include <iostream>
#include <sys/stat.h>

namespace xaas::cli {

namespace {

class BuildCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option(
           "SPEC", spec_,
           "Application spec, or a source directory: its xaas.json, else what `xaas init` would write")
        ->required();
    app.add_option("-o,--output", output_,
                   "IR image to write: oci:DIR[:TAG], oci-archive:FILE[:TAG] or "
                   "docker://HOST/NAME[:TAG]")
        ->required()
        ->type_name("IMAGE");
    app.add_option("--source", source_, "Directory of the sources; else the spec's own")->type_name("DIR");
    app.add_option("--kind", kind_, "Kind of image; this version makes `ir`")
        ->check(CLI::IsMember({"ir"}))
        ->type_name("KIND");
    app.add_option("--isa", isa_, "ISA levels, instead of the spec's: x86-64,x86-64-v2,x86-64-v3,x86-64-v4")
        ->delimiter(',')
        ->type_name("LEVEL,...");
    app.add_option("--config", configurations_, "Build this configuration only; can be repeated")
        ->type_name("K=V,...");
    app.add_option(
           "--arch", arch_,
           "Architecture, x86_64 or aarch64, instead of the machine's own; another one's C library and "
           "compiler run-time must be there (Debian: libc6-dev-arm64-cross, "
           "libstdc++-12-dev-arm64-cross)")
        ->type_name("ARCH");
    app.add_option("--max-configurations", max_configurations_, "Refuse to build more than N configurations")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    app.add_flag("--check-sharing", check_sharing_,
                 "Compile also what is known from other configurations and earlier builds, and compare");
    app.add_flag("--no-cache", no_cache_, "Use and keep nothing of earlier builds");
    app.add_flag("--strip-debug", strip_debug_, "Leave debug information out of the image");
    registry_.add(app);
    app.add_option("-j,--jobs", jobs_, "Jobs at once; else what this machine allows")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    XAAS_TRY(SpecFile spec, read_spec(spec_, source_, arch_.empty() ? target::host_arch() : arch_));
    umask(022); // the modes of what is installed must not depend on who builds
    build::Request request;
    request.application = std::move(spec.application);
    request.source = spec.source;
    XAAS_TRY(request.output, oci::parse_reference(output_));
    request.arch = arch_.empty() ? target::host_arch() : arch_;
    request.isa = isa_;
    for (const std::string& text : configurations_) {
      XAAS_TRY(auto assignments, spec::parse_assignments(text));
      request.configurations.push_back(std::move(assignments));
    }
    request.max_configurations = max_configurations_;
    request.strip_debug = strip_debug_;
    request.jobs = jobs();
    be_modest();
    XAAS_TRY(request.program, program_path());
    request.logs = cache_directory() / "logs";
    const uint64_t max_bytes = max_cache_bytes();
    request.check_sharing = check_sharing_;
    XAAS_TRY(const std::optional<int64_t> time, source_date_epoch());
    request.time = time.value_or(0);
    TerminalProgress progress(common.quiet, common.verbosity);
    if (!no_cache_)
      request.cache = open_cache("capture", progress);
    request.access = registry_.read(false, progress);
    const Result<build::Report> result = build::build_ir_image(request, progress);
    if (request.cache) // also what a failed build kept counts
      prune_caches(max_bytes);
    XAAS_TRY(const build::Report report, result);
    if (common.json())
      print(report_json(report, output_));
    else
      std::cout << report_text(report, output_, common.verbosity > 0);
    if (!common.quiet)
      std::cerr << warnings_text(report.warnings, common.verbosity > 0);
    return {};
  }

private:
  RegistryOptions registry_;
  std::string spec_, output_, source_, kind_ = "ir", arch_;
  std::vector<std::string> isa_, configurations_;
  size_t max_configurations_ = 64;
  bool strip_debug_ = false, check_sharing_ = false, no_cache_ = false;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_build_command() {
  return std::make_unique<BuildCommand>();
}

} // namespace xaas::cli
