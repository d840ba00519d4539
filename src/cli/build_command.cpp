#include "build_report.h"
#include "caches.h"
#include "images.h"
#include "platform_options.h"
#include "registry_options.h"
#include "settings.h"
#include "trace_option.h"
#include "try_options.h"
#include "warnings.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>
#include <xaas/build/build.h>
#include <xaas/image/application_image.h>
#include <xaas/provenance/slsa.h>
#include <xaas/registry/referrers.h>
#include <xaas/target/cpu.h>
#include <xaas/target/gpu.h>

#include <algorithm>
#include <iostream>

namespace xaas::cli {

namespace {

class BuildCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option(
           "SPEC", spec_,
           "Application spec or source directory; a directory without xaas.json is built with the spec that "
           "`xaas init` would write")
        ->required();
    app.add_option("-o,--output", output_,
                   "Image to write: oci:DIR[:TAG], oci-archive:FILE[:TAG] or "
                   "docker://HOST/NAME[:TAG]")
        ->required()
        ->type_name("IMAGE");
    app.add_option("--source", source_, "Source directory (default: the directory of the spec)")
        ->type_name("DIR");
    app.add_option(
           "--kind", kind_,
           "Kind of image: `ir`, or `source`, which contains the sources and the tools to build them on "
           "the target")
        ->check(CLI::IsMember({"ir", "source"}))
        ->capture_default_str()
        ->type_name("KIND");
    app.add_option(
           "--ir", ir_,
           "Form of the IR modules; replaces that of the spec: `prepared` (default), after the half of the "
           "optimizer that knows no machine, so that deploying runs only the other half, or `raw`, as the "
           "compiler's front end made them")
        ->check(CLI::IsMember({"prepared", "raw"}))
        ->type_name("FORM");
    app.add_option(
           "--base", base_,
           "Image with the compilers and build tools for a source image; replaces the toolchain of the spec")
        ->type_name("IMAGE");
    app.add_option("--image-base", image_base_,
                   "Base image of the deployed images, or scratch; replaces that of the spec")
        ->type_name("IMAGE");
    app.add_option("--isa", isa_,
                   "ISA levels; replaces those of the spec: x86-64,x86-64-v2,x86-64-v3,x86-64-v4")
        ->delimiter(',')
        ->type_name("LEVEL,...");
    app.add_option("--gpu", gpus_,
                   "GPU architectures to compile device code for; replaces those of the spec and of the "
                   "build: sm_80,sm_90,gfx90a")
        ->delimiter(',')
        ->type_name("ARCH,...");
    app.add_option("--config", configurations_,
                   "Build only this configuration, at every ISA level unless it names one; can be repeated")
        ->type_name("K=V,...");
    platforms_.add(app,
                   "Architectures to build for, x86_64 or aarch64 (default: that of this machine); several "
                   "images get a common index. Building for another architecture needs its C library and "
                   "compiler run-time (Debian: libc6-dev-arm64-cross, libstdc++-12-dev-arm64-cross)",
                   true);
    app.add_option("--sysroot", sysroot_,
                   "Build with the headers and libraries of a system in this directory instead of this "
                   "machine's: of another architecture, or of an older distribution of this one")
        ->type_name("DIR");
    app.add_option("--max-configurations", max_configurations_, "Refuse to build more than N configurations")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    app.add_flag("--check-sharing", check_sharing_,
                 "Compile everything, even what other configurations and earlier builds have compiled, build "
                 "every ISA level, and compare the results");
    app.add_flag("--check-device-code", check_device_code_,
                 "Assemble all device code once, to find errors that only NVIDIA's assembler reports; needs "
                 "ptxas");
    app.add_option(
           "--provenance", provenance_,
           "Write SLSA provenance of the image, an in-toto statement, to FILE; needs one architecture")
        ->type_name("FILE");
    app.add_flag(
        "--attach-provenance", attach_provenance_,
        "Attach this statement to the image in its registry or layout, as an artifact that refers to "
        "the image");
    app.add_option(
           "--builder-id", builder_,
           "URI of the builder that the provenance names (default: the workflow or runner of GitHub Actions "
           "or GitLab CI)")
        ->type_name("URI");
    app.add_flag("--no-cache", no_cache_, "Do not use or update the cache");
    trace_.add(app);
    app.add_flag("--strip-debug", strip_debug_, "Leave debug information out of the image");
    try_.add(
        app,
        "Where a draft, the spec of a directory without xaas.json, does not build: learn from what fails, "
        "as `xaas init --try` does, and build what it finds");
    registry_.add(app);
    app.add_option("-j,--jobs", jobs_, "Number of parallel jobs (default: what this machine allows)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    use_common_umask();
    be_modest();
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(std::vector<std::string> archs, platforms_.read());
    if (archs.empty())
      archs = {target::host_arch()};
    const uint64_t max_bytes = max_cache_bytes();
    std::optional<store::Cache> cache;
    if (!no_cache_)
      cache = open_cache("capture", progress);
    XAAS_TRY(const bool tries, try_.wanted());
    if (!ir_.empty() && kind_ == "source")
      return make_error(ErrorKind::usage, "--ir " + ir_ + ": a source image has no IR");
    if (tries && (archs.size() > 1 || kind_ == "source"))
      return make_error(ErrorKind::usage, "--try: needs an IR image for one architecture");
    XAAS_TRY(const std::optional<provenance::Builder> builder, read_builder(archs.size()));
    if (!sysroot_.empty() && (archs.size() > 1 || kind_ == "source"))
      return make_error(ErrorKind::usage, "--sysroot: needs an IR image for one architecture");
    std::vector<build::Request> requests;
    std::optional<SpecFile::FromTree> from_tree;
    for (const std::string& arch : archs) {
      XAAS_TRY(SpecFile spec, read_spec(spec_, source_, arch));
      from_tree = std::move(spec.from_tree);
      XAAS_TRY(build::Request request, request_for(std::move(spec), arch, progress));
      request.cache = cache;
      requests.push_back(std::move(request));
    }
    trace_.begin("build " + output_);
    Result<build::IndexReport> result = build_all(requests, progress);
    if (!result && result.error().kind == ErrorKind::failed && from_tree) {
      if (tries)
        result = build_what_works(requests.front(), *from_tree, progress);
      else if (result.error().hint.empty() && kind_ == "ir")
        result = std::move(result).error().with_hint("--try learns from what fails, and builds what works");
    }
    const Result<void> traced = trace_.write();
    if (cache) // a failed build adds entries, too
      prune_caches(max_bytes);
    XAAS_TRY(const build::IndexReport report, result);
    XAAS_CHECK(traced);
    std::vector<Digest> attached;
    const Result<void> told =
        builder ? write_provenance(requests, report, *builder, attached) : Result<void>();
    print_report(report, attached); // the image exists in any case
    return told;
  }

private:
  // Nothing if no provenance is wanted.
  Result<std::optional<provenance::Builder>> read_builder(size_t architectures) const {
    if (provenance_.empty() && !attach_provenance_) {
      if (!builder_.empty())
        return make_error(ErrorKind::usage, "--builder-id: needs --provenance or --attach-provenance");
      return std::optional<provenance::Builder>();
    }
    if (!provenance_.empty() && architectures > 1)
      return make_error(ErrorKind::usage, "--provenance FILE: each architecture has its own image",
                        "--attach-provenance attaches a statement to each of them");
    XAAS_TRY(const oci::Reference output, oci::parse_reference(output_));
    if (attach_provenance_ && output.transport != oci::Transport::registry &&
        output.transport != oci::Transport::layout)
      return make_error(ErrorKind::usage,
                        "--attach-provenance: needs an image in a registry or a layout, not " + output_,
                        "--provenance FILE writes it to a file");
    std::optional<provenance::Builder> builder = provenance::builder_of_job(environment);
    if (builder_.empty() && !builder)
      return make_error(ErrorKind::usage, "provenance names the builder: --builder-id URI");
    if (!builder_.empty())
      builder = provenance::Builder{builder_, builder ? builder->invocation : ""};
    if (!provenance::is_uri(builder->id))
      return make_error(ErrorKind::usage, "--builder-id " + builder->id + ": not a URI");
    if (!provenance_.empty())
      XAAS_CHECK(check_output("--provenance", provenance_));
    return builder;
  }

  // Of each image that was built.
  Result<void> write_provenance(const std::vector<build::Request>& requests, const build::IndexReport& report,
                                const provenance::Builder& builder, std::vector<Digest>& attached) const {
    for (size_t i = 0; i < requests.size(); ++i) {
      const build::Request& request = requests[i];
      const std::string what = "provenance of " + request.output.text;
      // By its digest, because others may write to the tag, or read it elsewhere.
      oci::Reference reference = request.output;
      if (reference.transport == oci::Transport::registry)
        reference.digest = report.images[i].report.digest;
      XAAS_TRY(std::unique_ptr<oci::Image> opened,
               registry::open_image(reference, target::oci_architecture(request.arch), request.access));
      if (opened->digest() != report.images[i].report.digest)
        return make_error(ErrorKind::failed,
                          what + ": the tag now refers to another image, " + opened->digest().to_string());
      const oci::Descriptor subject{oci::media_type::manifest, opened->digest(), opened->manifest_size(), {}};
      XAAS_TRY(const image::ApplicationImage built, image::ApplicationImage::open(std::move(opened)));
      XAAS_TRY(const provenance::Inventory inventory, provenance::take_inventory(built).in(what));
      std::vector<std::string> configurations;
      for (const spec::Configuration& each : image::all_configurations(built.bundle()))
        configurations.push_back(each.id());
      const std::string text = provenance::to_text(provenance::to_slsa(inventory, configurations, builder));
      if (!provenance_.empty())
        XAAS_CHECK(write_output(provenance_, text));
      if (!attach_provenance_)
        continue;
      XAAS_TRY(const Digest digest,
               registry::attach(request.output, {provenance::statement_media_type, text, subject, {}},
                                request.access));
      attached.push_back(digest);
    }
    return {};
  }

  // Builds with what a trial of the draft teaches.
  Result<build::IndexReport> build_what_works(build::Request request, SpecFile::FromTree& from_tree,
                                              TerminalProgress& progress) const {
    print_note("the draft as it is does not build; trying others");
    XAAS_TRY(const trial::Report tried,
             try_.run(request, false, from_tree.findings, from_tree.draft, progress));
    if (tried.error)
      return *tried.error;
    const bool prepared = request.application.prepared;
    const std::string base = request.application.image.base;
    request.application = from_tree.draft.application;
    request.application.prepared = prepared;
    request.application.image.base = base;
    return build_all({request}, progress);
  }

  Result<build::Request> request_for(SpecFile spec, const std::string& arch,
                                     TerminalProgress& progress) const {
    XAAS_TRY(build::Request request, new_build_request(spec.source, arch));
    request.application = std::move(spec.application);
    if (!image_base_.empty())
      request.application.image.base = image_base_;
    if (!base_.empty()) {
      request.application.toolchain.base = base_;
      request.application.toolchain.packages.clear();
    }
    XAAS_TRY(request.output, oci::parse_reference(output_));
    if (std::error_code code; !sysroot_.empty())
      request.sysroot = fs::canonical(sysroot_, code);
    if (!sysroot_.empty() && request.sysroot.empty())
      return make_error(ErrorKind::not_found, "--sysroot " + sysroot_ + ": does not exist");
    request.isa = isa_;
    request.gpus = gpus_;
    for (const std::string& gpu : gpus_)
      if (const auto known = target::gpu_arch(gpu); !known)
        return Error(known.error()).in("--gpu");
    for (const std::string& text : configurations_) {
      XAAS_TRY(auto assignments, spec::parse_assignments(text));
      request.configurations.push_back(std::move(assignments));
    }
    request.max_configurations = max_configurations_;
    request.strip_debug = strip_debug_;
    request.jobs = jobs();
    if (!ir_.empty())
      request.application.prepared = ir_ == "prepared";
    request.check_sharing = check_sharing_;
    if (check_device_code_) {
      XAAS_TRY(request.assembler, device::find_assembler(device::places_of_environment()));
    }
    XAAS_TRY(const std::optional<int64_t> time, source_date_epoch());
    request.time = time.value_or(0);
    request.access = registry_.read(false, progress);
    return request;
  }

  // A single image has no index.
  Result<build::IndexReport> build_all(const std::vector<build::Request>& requests,
                                       TerminalProgress& progress) const {
    const bool from_source = kind_ == "source";
    if (requests.size() > 1 && from_source)
      return make_error(ErrorKind::usage, "--kind source: a source image has one architecture",
                        "build one image per architecture, on a machine of that architecture");
    if (requests.size() > 1)
      return build::build_ir_index(requests, progress);
    XAAS_TRY(build::Report report, from_source ? build::build_source_image(requests.front(), progress)
                                               : build::build_ir_image(requests.front(), progress));
    build::IndexReport alone{report.digest, {}, report.seconds};
    alone.images.push_back({requests.front().arch, std::move(report)});
    return alone;
  }

  void print_report(const build::IndexReport& report, const std::vector<Digest>& attached) const {
    const bool all = common.verbosity > 0;
    const bool alone = report.images.size() == 1;
    const build::Report& first = report.images.front().report;
    if (common.json()) {
      Json json = alone ? report_json(first, output_) : report_json(report, output_);
      for (size_t i = 0; i < report.images.size(); ++i)
        (alone ? json : json["images"][i])["provenance"] =
            i < attached.size() ? Json(attached[i].to_string()) : Json();
      print(json);
    } else
      std::cout << (alone ? report_text(first, output_, all) : report_text(report, output_, all));
    if (!common.quiet)
      for (const build::ArchitectureReport& each : report.images)
        std::cerr << warnings_text(each.report.warnings, all);
  }

  TryOptions try_;
  TraceOption trace_;
  RegistryOptions registry_;
  std::string spec_, output_, source_, sysroot_, base_, image_base_, kind_ = "ir", ir_, provenance_, builder_;
  PlatformOptions platforms_;
  std::vector<std::string> isa_, gpus_, configurations_;
  size_t max_configurations_ = 64;
  bool strip_debug_ = false, check_sharing_ = false, check_device_code_ = false, no_cache_ = false,
       attach_provenance_ = false;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_build_command() {
  return std::make_unique<BuildCommand>();
}

} // namespace xaas::cli
