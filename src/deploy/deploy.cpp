#include "assemble.h"
#include "host_choice.h"
#include "kernels.h"
#include "layer_cache.h"
#include "package.h"
#include "sbom.h"
#include "space.h"

#include <xaas/base/confine.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/deploy/deploy.h>
#include <xaas/ir/canonical.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/publication.h>
#include <xaas/registry/referrers.h>

#include <algorithm>
#include <chrono>

namespace xaas::deploy {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename T> Result<T> within(const std::string& image, Result<T> result) {
  return oci::in_operation(std::move(result), "deploying", image);
}

Result<const image::BundleConfiguration*> find_configuration(const image::Bundle& bundle,
                                                             const spec::Configuration& wanted) {
  for (const image::BundleConfiguration& configuration : bundle.configurations)
    if (configuration.configuration == wanted)
      return &configuration;
  return make_error(ErrorKind::integrity, "bundle: there is no configuration " + wanted.id());
}

// Libraries that values require and the image brings, with their files.
Result<std::map<std::string, std::string>> brought_by(const image::Bundle& bundle) {
  std::map<std::string, std::string> files;
  for (const image::BundleConfiguration& configuration : bundle.configurations)
    for (const spec::SpecializationPoint& point : bundle.points) {
      const std::string* chosen = configuration.configuration.find(point.name);
      const spec::Value* value = chosen ? point.find(*chosen) : nullptr;
      if (!value)
        continue;
      for (const spec::Requirement::Library& library : value->requires_.libraries) {
        if (library.from != spec::Requirement::From::image || files.contains(library.name))
          continue;
        XAAS_TRY(const auto file, image::library_file(bundle, configuration, library.name));
        if (file)
          files[library.name] = *file;
      }
    }
  return files;
}

// The SBOM of an image that was written, with a manifest of `size` bytes, dated `created`.
Result<void> describe(const Request& request, const provenance::Inventory& inventory, uint64_t size,
                      const std::string& created, Report& report) {
  report.sbom = provenance::to_spdx(inventory);
  if (!request.attach_sbom)
    return {};
  XAAS_TRY(report.attached,
           registry::attach(*request.output, sbom_artifact(*report.sbom, *report.digest, size, created),
                            request.access));
  return {};
}

// `files` are its regular files.
Result<void> describe(const Request& request, const oci::NewImage& image, const provenance::FileList& files,
                      Report& report) {
  oci::Manifest manifest;
  manifest.annotations = image.annotations;
  XAAS_TRY(auto packages, image::package_uses(manifest));
  XAAS_TRY(std::vector<image::UsedPlugin> plugins, image::plugins_of(image.annotations));
  return describe(request,
                  {.kind = "deployed",
                   .image = *report.digest,
                   .annotations = image.annotations,
                   .packages = *std::move(packages),
                   .files = files.finish(),
                   .plugins = std::move(plugins)},
                  oci::publication_of(image).root().text.size(), image.config.created, report);
}

// Whether the request is possible, before anything is read.
Result<void> check_request(const Request& request, const std::string& what) {
  if (!request.dry_run && !request.output)
    return make_error(ErrorKind::usage, what + ": no output", "-o IMAGE, or --dry-run");
  if (request.attach_sbom && request.output && request.output->transport != oci::Transport::registry &&
      request.output->transport != oci::Transport::layout)
    return make_error(ErrorKind::usage,
                      what + ": an SBOM can be attached in a registry or a layout, not to " +
                          request.output->text,
                      "--sbom FILE writes it to a file");
  return {};
}

// An image without IR has no alternative to building here, so no value is worse for it.
std::vector<spec::SpecializationPoint> points_of(const image::Bundle& bundle) {
  std::vector<spec::SpecializationPoint> points = bundle.points;
  if (bundle.configurations.empty())
    for (spec::SpecializationPoint& point : points)
      for (spec::Value& value : point.values)
        value.from_source = false;
  return points;
}

// The request must be possible with the form of the chosen configuration.
Result<void> check_form(const Request& request, const Report& report) {
  if (!report.from_source)
    return {};
  if (request.lto)
    return make_error(ErrorKind::usage,
                      "--lto: " + report.selection.configuration.id() +
                          " is built from source, by its own build system",
                      "enable LTO in the application's build system, through the spec");
  if (request.count || request.profile)
    return make_error(ErrorKind::usage,
                      std::string(request.count ? "--profile-generate: " : "--profile: ") +
                          report.selection.configuration.id() +
                          " is built from source, by its own build system",
                      "only configurations with IR can have counters");
  if (!request.plugins.given.empty())
    return make_error(ErrorKind::usage,
                      "--pass-plugin: " + report.selection.configuration.id() +
                          " is built from source, by its own build system",
                      "pass -fpass-plugin in the application's build system");
  const bool host =
      std::find(request.runtimes.begin(), request.runtimes.end(), "host") != request.runtimes.end();
  if (request.reuse && host)
    return make_error(ErrorKind::usage,
                      "--reuse: a build with this machine's own compiler differs from "
                      "builds on other machines",
                      "leave out --reuse or --runtime host");
  return {};
}

// The GPUs to deploy for: the CPU, if a chosen value may run its kernels there and the system has no GPU.
std::vector<system::Gpu> gpus_for(const Request& request, const select::Selection& selection) {
  for (const select::Outcome& value : selection.values)
    if (value.chosen && std::any_of(value.needs.begin(), value.needs.end(),
                                    [](const select::Need& need) { return need.by_cpu; }))
      return {system::cpu_as_gpu()};
  return request.system.gpus;
}

// What is known of the deployed image before it is made.
struct Plan {
  int64_t time = 0;
  // Only of a configuration with IR.
  const image::BundleConfiguration* configuration = nullptr;
  image::Usage usage;
  device::DevicePlan device;
  PluginChoice plugins;

  Inputs inputs;
  std::optional<oci::Reference> reusable; // where an image with these inputs is found
};

Result<Plan> make_plan(const Request& request, const image::ApplicationImage& source, const Report& report) {
  const spec::Configuration& wanted = report.selection.configuration;
  Plan plan;
  if (request.time) {
    plan.time = *request.time;
  } else {
    XAAS_TRY(plan.time, image::parse_rfc3339(source.image().config().created));
  }
  if (!report.from_source) {
    XAAS_TRY(plan.configuration, find_configuration(source.bundle(), wanted));
    XAAS_TRY(plan.usage, image::usage_of(source.bundle(), *plan.configuration));
    XAAS_TRY(plan.device, device::plan_device_code(source.bundle(), *plan.configuration, plan.usage,
                                                   {.gpus = gpus_for(request, report.selection),
                                                    .no_gpu = request.no_gpu,
                                                    .check_kernels = request.check_kernels,
                                                    .stand_ins = request.stand_ins,
                                                    .assembler = request.assembler}));
    XAAS_TRY(plan.plugins, choose_plugins(source.bundle(), plan.usage, request.plugins));
  }
  if (request.check_kernels && plan.device.kernels.empty())
    return make_error(ErrorKind::unsatisfied,
                      "--check-kernels: configuration " + wanted.id() + " has no CUDA kernels as IR",
                      "leave out --check-kernels, or choose another configuration with --set");
  plan.inputs = inputs_of(source, wanted.id(), report.target, plan.device, request.lto,
                          request.count     ? image::profile_counts
                          : request.profile ? request.profile->digest.to_string() +
                                                  (request.cold_for_size ? image::cold_for_size : "")
                                            : "",
                          plan.plugins.used, report.from_source, plan.time);
  if (request.reuse)
    plan.reusable = reference_in(*request.reuse, plan.inputs);
  return plan;
}

// Whether the image was deployed before. Unless it is a dry run, it is then also copied to the output.
Result<bool> reuse(const Request& request, const image::ApplicationImage& source, const Plan& plan,
                   Report& report, Progress& progress) {
  const Clock::time_point start = Clock::now();
  report.looked_at = plan.reusable->text;
  XAAS_TRY(const std::unique_ptr<oci::Image> found,
           find_deployed(*plan.reusable, plan.inputs, source, report.selection.configuration.id(),
                         request.access, progress));
  if (!found)
    return false;
  if (!request.dry_run) {
    XAAS_TRY(report.digest, copy_deployed(*found, *request.output, request.access, progress));
    if (!report.digest)
      return false;
    if (request.sbom || request.attach_sbom) {
      XAAS_TRY(const provenance::Inventory inventory, provenance::take_inventory(*found));
      XAAS_CHECK(describe(request, inventory, found->manifest_size(), found->config().created, report));
    }
  }
  XAAS_TRY(std::optional<image::CpuKernels> kernels, image::cpu_kernels_of(*found));
  if (kernels) {
    report.kernels = *std::move(kernels);
    image::demangle(report.kernels.kernels);
  }
  report.reused = plan.reusable->text + "@" + found->digest().to_string();
  report.seconds.package = since(start);
  return true;
}

bool wants_files(const Request& request) {
  return request.sbom || request.attach_sbom;
}

// Writes the image, also under the name by which it is found again, and describes it as requested.
Result<void> write(const Request& request, const Plan& plan, const oci::NewImage& image,
                   const provenance::FileList& files, Report& report, Progress& progress) {
  XAAS_TRY(report.digest, registry::write_image(*request.output, image, request.access, progress));
  const bool kept = plan.reusable && (request.keep || is_in(*request.output, *request.reuse));
  if (kept && request.output->tag != plan.reusable->tag) {
    XAAS_TRY([[maybe_unused]] const Digest digest,
             registry::write_image(*plan.reusable, image, request.access, progress));
  }
  return wants_files(request) ? describe(request, image, files, report) : Result<void>();
}

void remove_leftovers(Progress& progress) {
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
}

void note_confinement(Progress& progress) {
  if (const std::vector<std::string> missing = missing_confinement(); !missing.empty())
    progress.note("workers that read the image are confined without " + join(missing, " and ") +
                  ", which this system does not have");
}

void note_limits(const Plan& plan, Progress& progress) {
  note_confinement(progress);
  for (const std::string& file : plan.device.files_without_device_code)
    progress.note("/" + file +
                  " has no device code: that of its objects is linked into programs and libraries only");
}

// A program whose kernel was refused runs until it launches it.
void note_refused(const image::CpuKernels& kernels, Progress& progress) {
  for (const image::CpuKernel& kernel : kernels.kernels)
    if (kernel.form == image::kernel_refused)
      progress.note(kernel.source + ": kernel " + kernel.demangled +
                    " cannot run on the CPU: " + kernel.reason);
}

// The forms that kernels on the CPU would have.
Result<void> explain_kernels(const Request& request, const image::ApplicationImage& source, const Plan& plan,
                             Report& report, Progress& progress) {
  note_confinement(progress);
  remove_leftovers(progress);
  XAAS_TRY(report.kernels,
           planned_kernels({.source = source,
                            .cpu = report.target,
                            .cache = request.objects ? &*request.objects : nullptr,
                            .jobs = request.jobs,
                            .progress = progress,
                            .checked = request.check_kernels},
                           plan.configuration->configuration.id(), plan.device, plan.usage.kit));
  return {};
}

// What people should know of an image with these installed files. `usage`: of a configuration with IR.
void add_warnings(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                  const image::Usage& usage, Report& report) {
  for (const std::optional<image::Warning>& warning :
       {image::entrypoint_warning(bundle.image, image::programs_of(bundle, configuration)),
        image::unoptimized_warning(image::unoptimized_sources(bundle, configuration, usage))})
    if (warning)
      report.warnings.push_back(*warning);
}

// What a program for the CPU lacks.
void add_cpu_warnings(const device::DevicePlan& plan, Report& report) {
  for (const auto& [path, form] : plan.useless_files)
    report.warnings.push_back({"gpu-file", "/" + path, 0,
                               "only a GPU runs the kernels in this file (" + to_string(form) +
                                   "): programs cannot load it on the CPU"});
  for (const device::DeviceCode::Replaced& library : report.replaced)
    if (!library.functions.empty())
      report.warnings.push_back({"gpu-library", "", 0,
                                 library.library + " needs a GPU; these functions, which " +
                                     image::few({library.programs.begin(), library.programs.end()}, 3) +
                                     " may call, say so and fail: " +
                                     image::few({library.functions.begin(), library.functions.end()}, 8)});
  std::sort(report.warnings.begin(), report.warnings.end());
}

// A profile of another application, or of other sources, fits few functions. One of this application fits
// nearly all that it has, which may be few of the application's, because a training run starts one of its
// programs.
Result<void> check_profile(const Request& request, const Report& report) {
  constexpr uint64_t least = 2; // one half
  if (!report.profile ||
      report.profile->matched * least >= std::min(report.profile->functions, request.profile->functions))
    return {};
  return make_error(
      ErrorKind::unsatisfied,
      "the profile has counts of " + std::to_string(request.profile->functions) + " functions, of which " +
          std::to_string(report.profile->matched) + " fit one of the " +
          std::to_string(report.profile->functions) + " functions here",
      "is it of this image and this configuration? Deploy with --profile-generate, and run that again");
}

void report_lowered(const AssemblyInputs& inputs, const Lowered& lowered, Report& report) {
  report.lowered = lowered.lowered;
  report.cached = lowered.cached;
  report.unneeded = lowered.unneeded;
  report.path = lowered.path;
  report.counts = inputs.count;
  report.atomic_counts = lowered.profiling.atomic;
  if (inputs.profile)
    report.profile = ProfileUse{inputs.profile->digest, lowered.profilable.size(), lowered.profiled.size()};
  if (!lowered.without_counts.empty())
    report.warnings.push_back(
        {"profile", "", 0,
         "the project's profile (-fprofile-use) has no counts of functions in " +
             image::few({lowered.without_counts.begin(), lowered.without_counts.end()}, 5) +
             ": they did not run in training, or the profile is of other sources or of another compiler"});
  report.native_objects = inputs.usage.native_objects;
  report.seconds.lower = lowered.lower_seconds;
  if (!inputs.forms.has_lto())
    return;
  report.lto = Lto{lowered.objects.bitcode(), inputs.forms.without};
  for (const Digest& unit : lowered.objects.refused_bitcode())
    ++report.lto->without[std::string(lowered.interposed.contains(unit)
                                          ? "a definition that another file of the image replaces, or "
                                          : "") +
                          ir::unsuited_to_lto];
}

// Packages the files, made from IR or from source (package.h), and writes the image.
template <typename... Made>
Result<void> finish(const Request& request, const Plan& plan, Report& report, Progress& progress,
                    const image::ApplicationImage& source, Made&&... made) {
  const Clock::time_point start = Clock::now();
  const trace::Span span("phase", "package");
  provenance::FileList files;
  std::optional<LayerCache> layers;
  if (request.objects)
    layers.emplace(request.objects->cache());
  XAAS_TRY(const oci::NewImage image,
           package(source, std::forward<Made>(made)..., plan.inputs, plan.time, layers ? &*layers : nullptr,
                   wants_files(request) ? &files : nullptr));
  XAAS_CHECK(write(request, plan, image, files, report, progress));
  report.seconds.package = since(start);
  return {};
}

Result<void> produce(const Request& request, const image::ApplicationImage& source, const Plan& plan,
                     Report& report, Progress& progress) {
  const Clock::time_point start = Clock::now();
  note_limits(plan, progress);
  remove_leftovers(progress);
  const image::BundleConfiguration& configuration = *plan.configuration;
  XAAS_CHECK(check_space(space_needs(request, source, configuration.configuration.id(), plan.usage)));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-deploy-"));
  const AssemblyInputs inputs{.bundle = source.bundle(),
                              .configuration = configuration,
                              .usage = plan.usage,
                              .device = plan.device,
                              .target = report.target,
                              .count = request.count,
                              .profile = request.profile ? &*request.profile : nullptr,
                              .cold_for_size = request.cold_for_size,
                              .plugins = plan.plugins,
                              .forms = forms_of(source.bundle(), configuration, plan.usage, request.lto),
                              .cache = request.objects ? &*request.objects : nullptr,
                              .work = work.path(),
                              .contents = image::Contents(work.path()),
                              .jobs = request.jobs,
                              .progress = progress};
  const auto keep = [&](const Digest& digest, const std::string& content) {
    return inputs.contents.keep(digest, content);
  };
  const auto fetch = [&](const std::set<Digest>& wanted) {
    return source.fetch(wanted, configuration.configuration.id(), keep, progress);
  };
  report.seconds.fetch = since(start);
  XAAS_TRY(Lowered lowered, lower_units(inputs, fetch));
  report.seconds.fetch += lowered.fetch_seconds;
  report_lowered(inputs, lowered, report);
  XAAS_CHECK(check_profile(request, report));
  if (plan.device.on_cpu)
    report.kernels = reported_kernels(lowered.device.kernels, source.bundle(), plan.usage.kit);
  report.replaced = lowered.device.replaced;
  note_refused(report.kernels, progress);
  add_cpu_warnings(plan.device, report);
  XAAS_TRY(Assembly assembly, assemble(inputs, std::move(lowered)));
  if (plan.device.on_cpu)
    assembly.kernels = report.kernels;
  report.links = assembly.links;
  report.seconds.link = assembly.seconds;
  return finish(request, plan, report, progress, source, configuration, std::move(assembly));
}

Result<void> produce_from_source(const Request& request, const image::ApplicationImage& source,
                                 const Plan& plan, Report& report, Progress& progress) {
  const Clock::time_point start = Clock::now();
  remove_leftovers(progress);
  XAAS_CHECK(check_space(space_needs_from_source(request, source)));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-deploy-"));
  XAAS_TRY(SourceBuilt built, build_from_source(request, source, report.selection.configuration,
                                                report.target, plan.time, work.path(), progress));
  report.runtime = built.runtime;
  report.compiler = built.compilers.version;
  report.flags = built.compilers.flags;
  report.seconds.build = built.times.configure.wall + built.times.build.wall + built.times.install.wall;
  report.seconds.fetch = since(start) - report.seconds.build;
  report.host = host_choices(source.bundle(), &built.configuration, request.system, request.library_path);
  add_warnings(source.bundle(), built.configuration, {}, report);
  return finish(request, plan, report, progress, source, std::move(built));
}

// Checks the request, opens its image, and checks the image's signature.
Result<image::ApplicationImage> open_source(const Request& request, const std::string& what, Report& report) {
  XAAS_CHECK(check_request(request, what));
  if (request.reuse)
    XAAS_CHECK(check_place(*request.reuse).in(what));
  if (request.output)
    XAAS_CHECK(oci::in_operation(registry::check_writable(*request.output, request.access), "writing",
                                 request.output->text));
  XAAS_TRY(auto opened,
           within(request.image.text,
                  registry::open_image(request.image, target::oci_architecture(request.system.arch),
                                       request.access)));
  if (request.signer) {
    XAAS_TRY(report.signature,
             provenance::check_signature(*opened, *request.signer, request.access).in(what));
  }
  XAAS_TRY(image::ApplicationImage source,
           within(request.image.text, image::ApplicationImage::open(std::move(opened))));
  if (source.bundle().arch != request.system.arch)
    return make_error(ErrorKind::unsatisfied, what + ": the image is for " + source.bundle().arch +
                                                  ", but this system is " + request.system.arch);
  return source;
}

} // namespace

Result<Report> deploy(const Request& wanted, Progress& progress) {
  const Clock::time_point start = Clock::now();
  Request request = wanted;
  const std::string what = "deploying " + request.image.text;
  trace::Span deploying("phase", "choose");
  Report report;
  XAAS_TRY(const image::ApplicationImage source, open_source(request, what, report));
  if (request.attached_profile) {
    XAAS_TRY(request.profile,
             profile::attached_profile(request.image, target::oci_architecture(request.system.arch),
                                       request.access)
                 .in(what));
  }
  report.image = request.output ? request.output->text : "";
  report.target = system::target_cpu(request.system);
  const std::vector<spec::Configuration> available = image::all_configurations(source.bundle());
  XAAS_TRY(const auto brought, within(request.image.text, brought_by(source.bundle())));
  if (request.details)
    for (const std::string& line : select::missing_features(source.bundle().points, request.system))
      progress.note(line);
  std::vector<spec::SpecializationPoint> points = points_of(source.bundle());
  if (request.no_gpu)
    for (spec::SpecializationPoint& point : points)
      for (spec::Value& value : point.values)
        if (value.requires_.gpu)
          value.requires_.gpu->or_cpu = false;
  XAAS_TRY(report.selection,
           select::select(points, available, request.system, request.set, brought).in(what));
  const image::BundleConfiguration* const ir =
      image::find_ir(source.bundle(), report.selection.configuration);
  report.from_source = !ir;
  XAAS_CHECK(check_form(request, report).in(what));
  report.host = host_choices(source.bundle(), ir, request.system, request.library_path);
  if (request.selected)
    request.selected(report.selection, report.host);
  XAAS_TRY(const Plan plan, within(request.image.text, make_plan(request, source, report)));
  if (ir)
    add_warnings(source.bundle(), *ir, plan.usage, report);
  report.gpus = plan.device.gpus;
  report.checked_kernels = plan.device.checks_kernels;
  report.plugins = plan.plugins.used;
  report.has_device_code = plan.device.wants_device_code();
  report.gpu_code = {plan.device.code.begin(), plan.device.code.end()};
  deploying.end();
  bool done = request.dry_run;
  if (request.reuse) {
    XAAS_TRY(const bool reused, reuse(request, source, plan, report, progress));
    done |= reused;
  }
  if (done && !report.reused && request.explain_kernels && plan.device.on_cpu)
    XAAS_CHECK(within(request.image.text, explain_kernels(request, source, plan, report, progress)));
  if (!done)
    XAAS_CHECK(within(request.image.text, report.from_source
                                              ? produce_from_source(request, source, plan, report, progress)
                                              : produce(request, source, plan, report, progress)));
  report.seconds.total = since(start);
  return report;
}

} // namespace xaas::deploy
