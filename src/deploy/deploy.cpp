#include "host_choice.h"
#include "package.h"
#include "space.h"
#include <xaas/device/code.h>
#include <xaas/device/links.h>

#include <xaas/base/confine.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/deploy/deploy.h>
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

// An error of this deploying. An error about the image begins with its name already, and says it once.
template <typename T> Result<T> within(const std::string& image, Result<T> result) {
  if (result)
    return result;
  Error error = std::move(result).error();
  if (error.message.starts_with(image + ": "))
    error.message.erase(0, image.size() + 2);
  return std::move(error).in("deploying " + image);
}

Result<const image::BundleConfiguration*> find_configuration(const image::Bundle& bundle,
                                                             const spec::Configuration& wanted) {
  for (const image::BundleConfiguration& configuration : bundle.configurations)
    if (configuration.configuration == wanted)
      return &configuration;
  return make_error(ErrorKind::integrity, "bundle: configuration " + wanted.id() + " is not there");
}

// Libraries that values need and the image brings, with their files.
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

// Everything that lowering and linking read, in one pass over the layers.
std::set<Digest> contents_of(const image::Bundle& bundle, const image::Usage& usage, const Forms& forms,
                             const device::DevicePlan& device, const Objects& objects) {
  std::set<Digest> wanted = usage.kit;
  for (const device::DeviceJob& job :
       device.jobs(units_that_want_device_images(device, lowered_units(forms), objects)))
    wanted.insert(bundle.units.at(job.unit).module);
  for (const LoweredUnit& unit : lowered_units(forms))
    if (!objects.has(unit))
      wanted.insert(bundle.units.at(unit.first).module);
  wanted.insert(usage.tree.begin(), usage.tree.end());
  return wanted;
}

// The SBOM of an image that was written, with a manifest of `size` bytes, dated `created`.
Result<void> describe(const Request& request, const provenance::Inventory& inventory, uint64_t size,
                      const std::string& created, Report& report) {
  report.sbom = provenance::to_spdx(inventory);
  if (!request.attach_sbom)
    return {};
  oci::Artifact artifact;
  artifact.type = provenance::spdx_media_type;
  artifact.content = provenance::to_text(*report.sbom);
  artifact.subject = {oci::media_type::manifest, *report.digest, size, {}};
  artifact.annotations = {{image::annotation::created, created}};
  XAAS_TRY(report.attached, registry::attach(*request.output, artifact, request.access));
  return {};
}

// `files` are its regular files.
Result<void> describe(const Request& request, const oci::NewImage& image, const provenance::FileList& files,
                      Report& report) {
  oci::Manifest manifest;
  manifest.annotations = image.annotations;
  XAAS_TRY(auto packages, image::package_uses(manifest));
  return describe(request,
                  {.kind = "deployed",
                   .image = *report.digest,
                   .annotations = image.annotations,
                   .packages = *std::move(packages),
                   .files = files.finish()},
                  oci::publication_of(image).root().text.size(), image.config.created, report);
}

// Whether what was asked for can be done, before anything is read.
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

// Of an image without IR no value is worse for being built here.
std::vector<spec::SpecializationPoint> points_of(const image::Bundle& bundle) {
  std::vector<spec::SpecializationPoint> points = bundle.points;
  if (bundle.configurations.empty())
    for (spec::SpecializationPoint& point : points)
      for (spec::Value& value : point.values)
        value.from_source = false;
  return points;
}

// What was asked for must be possible with the form of the configuration that was chosen.
Result<void> check_form(const Request& request, const Report& report) {
  if (!report.from_source)
    return {};
  if (request.lto)
    return make_error(ErrorKind::usage,
                      "--lto: " + report.selection.configuration.id() +
                          " is built from source, by its own build system",
                      "give the option to the application's build system, in the spec");
  const bool host =
      std::find(request.runtimes.begin(), request.runtimes.end(), "host") != request.runtimes.end();
  if (request.reuse && host)
    return make_error(ErrorKind::usage,
                      "--reuse: what is built with this machine's own compiler is not "
                      "the same elsewhere",
                      "leave out --reuse or --runtime host");
  return {};
}

// What is known of the deployed image before it is made.
struct Plan {
  int64_t time = 0;
  device::DevicePlan device;
  Inputs inputs;
  std::optional<oci::Reference> reusable; // where it is found by its inputs
};

// An assembler is looked for only where there is something for it.
Result<device::DevicePlan> device_plan(const Request& request, const image::Bundle& bundle,
                                       const spec::Configuration& wanted) {
  XAAS_TRY(const image::BundleConfiguration* configuration, find_configuration(bundle, wanted));
  XAAS_TRY(const image::Usage usage, image::usage_of(bundle, *configuration));
  const std::set<Digest> units = device::units_with_device_code(bundle, usage);
  const std::map<std::string, link::DeviceFile> files = device::remade_files(*configuration);
  std::optional<device::Assembler> assembler;
  if ((device::is_for_nvidia(bundle, units) || !files.empty()) && !request.no_gpu && request.assembler) {
    Result<device::Assembler> found = device::find_assembler(*request.assembler);
    if (found)
      assembler = *std::move(found);
    else if (!request.assembler->given.empty() || found.error().kind != ErrorKind::missing_tool)
      return std::move(found).error();
  }
  return device::plan_device_code(bundle, units, request.system.gpus, request.no_gpu, std::move(assembler),
                                  files);
}

Result<Plan> make_plan(const Request& request, const image::ApplicationImage& source, const Report& report) {
  Plan plan;
  if (request.time) {
    plan.time = *request.time;
  } else {
    XAAS_TRY(plan.time, image::parse_rfc3339(source.image().config().created));
  }
  if (!report.from_source) {
    XAAS_TRY(plan.device, device_plan(request, source.bundle(), report.selection.configuration));
  }
  plan.inputs = inputs_of(source, report.selection.configuration.id(), report.target, plan.device,
                          request.lto, report.from_source, plan.time);
  if (request.reuse)
    plan.reusable = reference_in(*request.reuse, plan.inputs);
  return plan;
}

// Whether the image was deployed before, and then, unless it is a dry run, is the output, too.
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
  report.reused = plan.reusable->text + "@" + found->digest().to_string();
  report.seconds.package = since(start);
  return true;
}

bool wants_files(const Request& request) {
  return request.sbom || request.attach_sbom;
}

// The image, also under the name by which it is found again, with what was asked for of it.
Result<void> write(const Request& request, const Plan& plan, const oci::NewImage& image,
                   const provenance::FileList& files, Report& report, Progress& progress) {
  XAAS_TRY(report.digest, registry::write_image(*request.output, image, request.access, progress));
  if (plan.reusable && is_in(*request.output, *request.reuse) && request.output->tag != plan.reusable->tag) {
    XAAS_TRY([[maybe_unused]] const Digest digest,
             registry::write_image(*plan.reusable, image, request.access, progress));
  }
  return wants_files(request) ? describe(request, image, files, report) : Result<void>();
}

Result<void> produce(const Request& request, const image::ApplicationImage& source, const Plan& plan,
                     Report& report, Progress& progress) {
  const Clock::time_point start = Clock::now();
  const image::Bundle& bundle = source.bundle();
  if (const std::vector<std::string> missing = missing_confinement(); !missing.empty())
    progress.note("workers that read the image are confined without " + join(missing, " and ") +
                  ", which this system does not have");
  XAAS_TRY(const image::BundleConfiguration* configuration,
           find_configuration(bundle, report.selection.configuration));
  XAAS_TRY(const image::Usage usage, image::usage_of(bundle, *configuration));
  const Forms forms = forms_of(bundle, *configuration, usage, request.lto);
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  XAAS_CHECK(check_space(space_needs(request, source, configuration->configuration.id(), usage)));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-deploy-"));
  const lower::ObjectCache* cache = request.objects ? &*request.objects : nullptr;
  Objects objects(work.path());
  if (cache) {
    XAAS_TRY(objects,
             known_objects(bundle, lowered_units(forms), plan.device, report.target, *cache, work.path()));
  }
  report.cached = objects.size();
  const image::Contents contents(work.path());
  const std::map<Digest, std::vector<device::DeviceLink>> linked = device::device_links(bundle, usage);
  for (const std::string& file : device::files_without_device_code(bundle, *configuration))
    progress.note("/" + file +
                  " has no device code: that of its objects is linked into programs and libraries only");
  std::set<Digest> wanted = contents_of(bundle, usage, forms, plan.device, objects);
  wanted.merge(device::modules_of(bundle, plan.device, linked));
  XAAS_CHECK(source.fetch(
      wanted, configuration->configuration.id(),
      [&](const Digest& digest, const std::string& content) { return contents.keep(digest, content); },
      progress));
  report.seconds.fetch = since(start);

  const Clock::time_point lowering = Clock::now();
  XAAS_TRY(device::DeviceImages device,
           device::make_device_images(
               bundle, plan.device, units_that_want_device_images(plan.device, lowered_units(forms), objects),
               contents, cache, request.jobs, progress));
  XAAS_TRY(const device::DeviceObjects device_objects,
           device::make_device_objects(bundle, plan.device, linked, contents, report.target, cache,
                                       work.path(), request.jobs, progress));
  const double device_seconds = since(lowering);
  XAAS_TRY(Assembly assembly, assemble(bundle, *configuration, usage, forms, contents, report.target,
                                       plan.device, device.fat_binaries, device_objects.objects,
                                       std::move(objects), cache, work.path(), request.jobs, progress));
  for (auto& [path, content] : device.files)
    assembly.contents[path] = std::move(content);
  report.lowered = assembly.lowered + device.lowered + device_objects.lowered;
  report.cached += device.cached + device_objects.cached;
  report.links = assembly.links + device_objects.links;
  report.native_objects = usage.native_objects;
  if (request.lto) {
    report.lto = Lto{forms.bitcode.size() - assembly.refused_bitcode, forms.without};
    if (assembly.refused_bitcode)
      report.lto->without["inline assembly with more than instructions, an ifunc, or -fshort-wchar"] =
          assembly.refused_bitcode;
  }
  report.seconds.lower = device_seconds + assembly.lower_seconds;
  report.seconds.link = assembly.link_seconds;

  const Clock::time_point packaging = Clock::now();
  provenance::FileList files;
  XAAS_TRY(const oci::NewImage image, package(source, *configuration, std::move(assembly), plan.inputs,
                                              plan.time, wants_files(request) ? &files : nullptr));
  XAAS_CHECK(write(request, plan, image, files, report, progress));
  report.seconds.package = since(packaging);
  return {};
}

Result<void> produce_from_source(const Request& request, const image::ApplicationImage& source,
                                 const Plan& plan, Report& report, Progress& progress) {
  const Clock::time_point start = Clock::now();
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  XAAS_CHECK(check_space(space_needs_from_source(request, source)));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-deploy-"));
  XAAS_TRY(SourceBuilt built, build_from_source(request, source, report.selection.configuration,
                                                report.target, plan.time, work.path(), progress));
  report.runtime = built.runtime;
  report.compiler = built.compilers.version;
  report.flags = built.compilers.flags;
  report.seconds.build = built.times.configure.wall + built.times.build.wall + built.times.install.wall;
  report.seconds.fetch = since(start) - report.seconds.build;
  report.host = host_choices(source.bundle(), &built.closure.files, request.system, request.library_path);
  const Clock::time_point packaging = Clock::now();
  provenance::FileList files;
  XAAS_TRY(const oci::NewImage image, package(source, std::move(built), plan.inputs, plan.time,
                                              wants_files(request) ? &files : nullptr));
  XAAS_CHECK(write(request, plan, image, files, report, progress));
  report.seconds.package = since(packaging);
  return {};
}

} // namespace

Result<Report> deploy(const Request& request, Progress& progress) {
  const Clock::time_point start = Clock::now();
  const std::string what = "deploying " + request.image.text;
  XAAS_CHECK(check_request(request, what));
  if (request.reuse)
    XAAS_CHECK(check_place(*request.reuse).in(what));
  if (request.output)
    XAAS_CHECK(
        registry::check_writable(*request.output, request.access).in("writing " + request.output->text));
  XAAS_TRY(auto opened,
           within(request.image.text,
                  registry::open_image(request.image, target::oci_architecture(request.system.arch),
                                       request.access)));
  Report report;
  if (request.verify_key) {
    XAAS_TRY(report.signature,
             provenance::check_signature(*opened, *request.verify_key, request.access).in(what));
  }
  XAAS_TRY(const image::ApplicationImage source,
           within(request.image.text, image::ApplicationImage::open(std::move(opened))));
  if (source.bundle().arch != request.system.arch)
    return make_error(ErrorKind::unsatisfied, what + ": the image is for " + source.bundle().arch +
                                                  ", this system is " + request.system.arch);

  report.image = request.output ? request.output->text : "";
  report.target = system::target_cpu(request.system);
  const std::vector<spec::Configuration> available = image::all_configurations(source.bundle());
  XAAS_TRY(const auto brought, within(request.image.text, brought_by(source.bundle())));
  XAAS_TRY(
      report.selection,
      select::select(points_of(source.bundle()), available, request.system, request.set, brought).in(what));
  const image::BundleConfiguration* const ir =
      image::find_ir(source.bundle(), report.selection.configuration);
  report.from_source = !ir;
  XAAS_CHECK(check_form(request, report).in(what));
  report.host =
      host_choices(source.bundle(), ir ? &ir->runtime : nullptr, request.system, request.library_path);
  if (request.selected)
    request.selected(report.selection, report.host);
  XAAS_TRY(const Plan plan, within(request.image.text, make_plan(request, source, report)));
  report.gpus = plan.device.gpus;
  report.has_device_code = plan.device.wants_device_code();
  report.gpu_code = {plan.device.code.begin(), plan.device.code.end()};
  bool done = request.dry_run;
  if (request.reuse) {
    XAAS_TRY(const bool reused, reuse(request, source, plan, report, progress));
    done |= reused;
  }
  if (!done)
    XAAS_CHECK(within(request.image.text, report.from_source
                                              ? produce_from_source(request, source, plan, report, progress)
                                              : produce(request, source, plan, report, progress)));
  report.seconds.total = since(start);
  return report;
}

} // namespace xaas::deploy
