#include "base.h"
#include "bundle_maker.h"
#include "describe.h"
#include "device_check.h"
#include "effects.h"
#include "equal_levels.h"
#include "forms.h"
#include "prepare.h"
#include "report.h"
#include "source_part.h"
#include "space.h"
#include "surroundings.h"
#include "warnings.h"

#include <xaas/base/directory.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/build/build.h>
#include <xaas/frontdoor/toolchains.h>
#include <xaas/harvest/harvest.h>
#include <xaas/image/application_image.h>
#include <xaas/image/coverage.h>
#include <xaas/image/dpkg.h>
#include <xaas/project/project.h>
#include <xaas/session/log.h>
#include <xaas/session/session.h>
#include <xaas/store/cache.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace xaas::build {

namespace {

// The tools of a build report a full disk only in their output.
bool ran_out_of_space(const fs::path& log) {
  const Result<std::string> text = read_file(log);
  if (!text)
    return false;
  const std::string_view end =
      std::string_view(*text).substr(text->size() - std::min<size_t>(text->size(), 16384));
  return end.find(std::strerror(ENOSPC)) != std::string_view::npos ||
         end.find(std::strerror(EDQUOT)) != std::string_view::npos;
}

// The application's name as part of a file name.
std::string directory_name(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_')
      c = '-';
  return name.substr(0, 40);
}

using Clock = std::chrono::steady_clock;

class Builder {
public:
  Builder(const Request& request, Progress& progress, const fs::path& work)
      : request_(request), progress_(progress), work_(work), content_(work / "store"),
        maker_(bundle_, content_, request.sysroot, request.library_path),
        surroundings_(request.source, request.application.image.prefix, own_paths(request_, work_),
                      content_) {}

  Result<Report> run() {
    XAAS_TRY(clang_, frontdoor::find_clang());
    XAAS_TRY(flang_, frontdoor::find_flang());
    cuda_ = frontdoor::find_cuda().value_or(fs::path());
    rocm_ = frontdoor::find_rocm();
    nasm_ = frontdoor::find_nasm();
    XAAS_TRY(bundle_.points, spec::all_points(request_.application, request_.arch, request_.isa));
    XAAS_TRY(const std::vector<spec::Configuration> configurations,
             spec::expand(request_.application, bundle_.points, request_.configurations,
                          request_.max_configurations));
    XAAS_CHECK(describe(request_, bundle_));
    bundle_.llvm = image::llvm_version();
    report_.revision = bundle_.revision;
    XAAS_CHECK(open_cache());
    const Forms forms = forms_of(bundle_.points, configurations);
    XAAS_CHECK(open_base());
    progress_.start("building " + request_.application.name, forms.ir.size());
    levels_.emplace(request_.application, request_.arch, bundle_.points, forms.ir);
    for (const spec::Configuration& configuration : forms.ir) {
      XAAS_CHECK(build_or_take(configuration)
                     .in("building " + request_.application.name + ": configuration " + configuration.id()));
      progress_.advance();
    }
    progress_.finish();
    if (!forms.source.empty())
      XAAS_CHECK(add_source_part(forms.source));
    if (base_)
      bundle_.base = base_->image->description();
    XAAS_CHECK(check_differences());
    if (request_.assembler)
      XAAS_CHECK(check_device_code(bundle_, content_, *request_.assembler, request_.jobs, progress_)
                     .in("checking device code of " + request_.application.name));
    if (request_.application.prepared && request_.write_image) {
      XAAS_TRY(report_.prepared, prepare_modules(bundle_, content_, request_.jobs,
                                                 request_.cache ? &*request_.cache : nullptr, progress_)
                                     .in("preparing the IR modules of " + request_.application.name));
    }
    if (request_.write_image)
      XAAS_CHECK(write());
    XAAS_CHECK(fill_report());
    report_.seconds = watch_.seconds();
    return std::move(report_);
  }

private:
  Result<void> build_or_take(const spec::Configuration& configuration) {
    const std::optional<size_t> same = levels_->origin_of(configuration);
    if (same && !request_.check_sharing) {
      take(configuration, *same);
      return {};
    }
    progress_.note("configuration " + configuration.id());
    XAAS_CHECK(build_in_own_directory(configuration));
    if (!same ||
        image::content_of(bundle_.configurations.back()) == image::content_of(bundle_.configurations[*same]))
      return {};
    const std::string origin = bundle_.configurations[*same].configuration.id();
    if (elsewhere_)
      return make_error(ErrorKind::failed,
                        "it is not the same as " + origin + ", but was not built in the same directory",
                        "another build used the directory; wait for it, or set TMPDIR to a new directory");
    return make_error(ErrorKind::failed,
                      "it is not the same as " + origin +
                          ", and would not have been built without --check-sharing",
                      "this is a fault of xaas; please report it, and build each level with a command of "
                      "its own (--isa) until it is mended");
  }

  // Adds a configuration whose build would be that of another one.
  void take(const spec::Configuration& configuration, size_t origin) {
    image::BundleConfiguration same = bundle_.configurations[origin];
    ConfigurationReport report;
    report.id = configuration.id();
    report.same_as = same.configuration.id();
    progress_.note("configuration " + report.id + ": the same as " + report.same_as);
    same.configuration = configuration;
    bundle_.configurations.push_back(std::move(same));
    report_.configurations.push_back(std::move(report));
  }

  // The path of the build directory may get into files, so it depends on the configuration alone, not on what
  // else is built in this run or at the same time. All ISA levels have the same, because a level may be taken
  // from another one.
  Result<void> build_in_own_directory(const spec::Configuration& configuration) {
    const std::string name = directory_name(request_.application.name) + "-" +
                             digest_of(levels_->id_without_level(configuration)).hex().substr(0, 12);
    XAAS_TRY(const TemporaryDirectory own,
             TemporaryDirectory::create_named(temporary_root(), "xaas-build-", name));
    if (own.path().filename() != "xaas-build-" + name) {
      elsewhere_ = true;
      progress_.note(
          (temporary_root() / ("xaas-build-" + name)).string() +
          " is in use or belongs to another machine: files that contain the path of the build directory "
          "differ from those of other builds");
    }
    return build_configuration(configuration, fs::weakly_canonical(own.path()));
  }

  // Without the user's cache, a temporary one still serves from one configuration to the next.
  Result<void> open_cache() {
    if (request_.cache) {
      cache_ = request_.cache->root();
      return {};
    }
    cache_ = work_ / "cache";
    const Result<store::Cache> own = store::Cache::open(cache_);
    return own ? Result<void>() : own.error();
  }

  Result<void> open_base() {
    const std::string& base = request_.application.image.base;
    if (base == image::no_base)
      return {};
    XAAS_TRY(base_, build::open_base(base, request_.arch, work_ / "base", request_.application.image.env,
                                     request_.access, progress_));
    maker_.set_base(*base_->image);
    bundle_.image.base = base_->name;
    return {};
  }

  Result<void> check_differences() const {
    if (differences_.empty())
      return {};
    return make_error(
               ErrorKind::failed,
               "sharing is not sound: " + std::to_string(differences_.size()) +
                   " compiles gave another result than the known one",
               "this is a fault of xaas; the next build does not use these results again. Please report "
               "it with the sources of these units")
        .with_output(join(differences_, "\n"));
  }

  Result<session::Session> make_session(const fs::path& directory, const spec::Configuration& configuration,
                                        const project::ConfigurationBuild& build) {
    session::Session session;
    session.directory = directory / "session";
    session.store = content_.root();
    session.arch = request_.arch;
    session.sysroot = request_.sysroot;
    if (const std::string* level = configuration.find("isa")) {
      session.level = *level;
      session.other_levels = levels_->to_compare(configuration);
    }
    session.gpus = build.gpus;
    session.clang = clang_;
    session.flang = flang_.value_or(fs::path());
    session.cuda = cuda_;
    session.rocm = rocm_;
    session.nasm = nasm_;
    session.strip_debug = request_.strip_debug;
    session.cache = cache_;
    if (request_.cache && request_.cache->shared()) {
      session.shared_cache = request_.cache->shared()->root();
      session.shared_cache_vouched = request_.cache->shared()->vouched_for();
    }
    session.check_sharing = request_.check_sharing;
    session.trace = trace::recording();
    session.prefixes = {{build.build, "build"}, {project::compiled_source(build), "."}};
    if (request_.sysroot.has_relative_path()) // not "/"
      session.prefixes.emplace_back(request_.sysroot, "");
    // The last prefix that matches applies, and one directory may contain the other.
    std::sort(session.prefixes.begin(), session.prefixes.end(),
              [](const auto& a, const auto& b) { return a.first.string().size() < b.first.string().size(); });
    session.roots = {fs::weakly_canonical(directory), fs::weakly_canonical(request_.source)};
    XAAS_CHECK(frontdoor::create_session(session, request_.program));
    return session;
  }

  Result<project::ConfigurationBuild> plan_build(const spec::Configuration& configuration,
                                                 const fs::path& directory) const {
    project::ConfigurationBuild build;
    build.gpus = request_.gpus.empty() ? request_.application.gpu : request_.gpus;
    build.application = &request_.application;
    build.arch = request_.arch;
    build.sysroot = request_.sysroot;
    XAAS_TRY(build.arguments, levels_->arguments_of(configuration));
    build.source = request_.source;
    build.build = directory / "build";
    build.destination = directory / "destination";
    build.log = directory / "log";
    build.copy = directory / "source";
    build.home = directory / "home";
    build.outputs = own_paths(request_, work_);
    build.jobs = request_.jobs;
    return build;
  }

  // Ends a build early that writes into its sources: after the step that did, because files that a step makes
  // there and removes again do no harm, or at once if that is wanted.
  void observe(project::ConfigurationBuild& build) {
    const fs::path compiled = project::compiled_source(build);
    steps_.clear();
    configured_ = fs::file_time_type::min();
    next_check_ = {};
    build.watch = [this, compiled]() -> Result<void> {
      if (request_.watch)
        XAAS_CHECK(request_.watch());
      return request_.until_first_write ? check_sources_now_and_then(compiled) : Result<void>();
    };
    build.succeeded = [this, compiled](const std::string& step) {
      steps_.push_back(step);
      if (step == "configure")
        configured_ = fs::file_time_type::clock::now();
      return surroundings_.check_sources(compiled);
    };
  }

  // A large tree takes long to read, so that at most a twentieth of the time goes into it.
  Result<void> check_sources_now_and_then(const fs::path& compiled) {
    const Clock::time_point start = Clock::now();
    if (start < next_check_)
      return {};
    XAAS_CHECK(surroundings_.check_sources(compiled));
    next_check_ = Clock::now() + 20 * (Clock::now() - start);
    return {};
  }

  // Tells a caller that learns from failures. `otherwise` is the cause unless the sources were written.
  Error reported(Error error, const project::ConfigurationBuild& build, FailedBuild::Cause otherwise) const {
    if (request_.failed && error.kind != ErrorKind::interrupted)
      request_.failed({build,
                       surroundings_.sources_written() ? FailedBuild::Cause::sources_written : otherwise,
                       steps_, configured_, error});
    return error;
  }

  Result<void> build_configuration(const spec::Configuration& configuration, const fs::path& directory) {
    const Stopwatch watch;
    XAAS_TRY(project::ConfigurationBuild build, plan_build(configuration, directory));
    // A compiler that compiles and links in one run leaves its objects in TMPDIR. They are part of this
    // build.
    const fs::path temporary = directory / "tmp";
    for (const fs::path& each : {build.build, build.destination, temporary})
      XAAS_CHECK(make_directories(each));
    XAAS_TRY(const session::Session session, make_session(directory, configuration, build));
    const fs::path tools = session.directory / "tools";
    build.tools = {tools / "clang",
                   tools / "clang++",
                   tools / "flang",
                   tools,
                   cuda_.empty() ? fs::path() : session.shadow_cuda(),
                   rocm_.root.empty() ? fs::path() : tools.parent_path() / "rocm"};
    observe(build);
    build.environment = {{"XAAS_SESSION", session.directory.string()}, {"TMPDIR", temporary.string()}};

    ConfigurationReport report;
    report.id = configuration.id();
    image::BundleConfiguration captured;
    captured.configuration = configuration;
    captured.arguments = build.arguments;
    trace::Span span("configuration", report.id);
    Result<std::vector<link::InstalledFile>> installed = run_build(build, session, report.steps);
    XAAS_CHECK(trace::add_from(session.spans(), {{"configuration", report.id}}));
    if (!installed)
      return failure(std::move(installed).error(), build.log, configuration);
    captured.installed = *std::move(installed);
    const Stopwatch bundling;
    trace::Span harvest("phase", "bundle");
    XAAS_CHECK(maker_.add(session, std::move(captured), build.destination, request_.application.runtime));
    harvest.end();
    report.steps.harvest += bundling.seconds();
    XAAS_CHECK(read_log(session, report));
    XAAS_CHECK(collect_warnings(build, session, bundle_.configurations.back()));
    XAAS_CHECK(levels_->note(session, configuration, bundle_.configurations.size() - 1));
    report.seconds = watch.seconds();
    report_.configurations.push_back(std::move(report));
    return {};
  }

  // Runs the project's build and traces what it installed. The log of the build is worth keeping with every
  // error.
  Result<std::vector<link::InstalledFile>> run_build(const project::ConfigurationBuild& build,
                                                     const session::Session& session, Steps& steps) {
    using Cause = FailedBuild::Cause;
    const Result<project::Built> built = project::build(build);
    if (!built)
      return reported(with_missing_flang(built.error(), session), build, cause_of_failure(build));
    if (Result<void> clean = surroundings_.check(*built, project::compiled_source(build), progress_); !clean)
      return reported(std::move(clean).error(), build, Cause::install);
    const Stopwatch harvesting;
    trace::Span span("phase", "harvest");
    Result<std::vector<link::InstalledFile>> found = harvest::harvest(session, build.destination);
    if (!found)
      return reported(std::move(found).error(), build, Cause::other);
    std::vector<link::InstalledFile> installed = *std::move(found);
    if (installed.empty())
      return reported(
          make_error(ErrorKind::failed, "the build installed nothing",
                     "give `build.install` in the application spec, or a build system with an install step"),
          build, Cause::install);
    steps = {built->times.configure, built->times.build, built->times.install, harvesting.seconds()};
    return installed;
  }

  Result<void> read_log(const session::Session& session, ConfigurationReport& report) {
    XAAS_TRY(const session::CompileLog log, session::read_compile_log(session));
    for (const auto& [unit, text] : log.texts)
      texts_[unit].insert(text);
    for (const std::string& difference : log.differences)
      differences_.push_back(report.id + ": " + difference);
    XAAS_TRY(report.differences, session::level_differences(session));
    report.compiled = log.compiled;
    report.reused = log.reused;
    return {};
  }

  Result<void> collect_warnings(const project::ConfigurationBuild& build, const session::Session& session,
                                const image::BundleConfiguration& configuration) {
    warnings_.add_findings(project::find_host_dependence(build));
    const fs::path source = fs::absolute(request_.source).lexically_normal();
    std::error_code code;
    std::vector<WarningCollector::Place> places = {{build.build.parent_path(), "build directory"},
                                                   {source, "sources"},
                                                   {fs::weakly_canonical(source, code), "sources"}};
    if (request_.sysroot.has_relative_path()) // not "/"
      places.push_back({request_.sysroot, "sysroot"});
    warnings_.add_installed(build.destination, configuration.installed, places);
    XAAS_TRY(const image::Usage usage, image::usage_of(bundle_, configuration));
    std::set<std::string> sources;
    for (const Digest& unit : usage.units)
      sources.insert(bundle_.units.at(unit).source);
    XAAS_TRY(const std::set<std::string> leaks, harvest::leaking_sources(session));
    warnings_.add_leaks(leaks, sources);
    XAAS_TRY(const auto vector_returns, harvest::vector_returns(session));
    warnings_.add_vector_returns(vector_returns, sources);
    return {};
  }

  // Of project::build(): all steps can succeed and install nothing.
  FailedBuild::Cause cause_of_failure(const project::ConfigurationBuild& build) const {
    const bool installs = build.application->build.install_target || build.application->build.install.empty();
    std::error_code code;
    const bool all_succeeded = !steps_.empty() && steps_.back() == (installs ? "install" : "build");
    return all_succeeded && fs::is_empty(build.destination, code) ? FailedBuild::Cause::install
                                                                  : FailedBuild::Cause::step;
  }

  // A build that found no working Fortran compiler may not need one. It did if its output mentions Fortran.
  static Error with_missing_flang(Error error, const session::Session& session) {
    if (error.kind != ErrorKind::failed || !frontdoor::missed_flang(session))
      return error;
    const bool speaks_of_it =
        error.output.find("ortran") != std::string::npos || error.output.find("flang") != std::string::npos;
    const Error missing = frontdoor::missing_flang();
    if (speaks_of_it) {
      error.kind = missing.kind;
      error.message += ": " + missing.message;
    }
    error.hint = missing.hint;
    return error;
  }

  Error failure(Error error, const fs::path& log, const spec::Configuration& configuration) {
    if (error.kind == ErrorKind::interrupted)
      return error;
    if (error.kind == ErrorKind::failed && ran_out_of_space(log)) {
      error.kind = ErrorKind::storage;
      error.message += ": " + std::string(std::strerror(ENOSPC)) + " (" + work_.string() + ")";
      error.hint = "free some space there, or choose another directory for temporary files (TMPDIR)";
    }
    if (const fs::path kept =
            project::keep_log(log, request_.logs, request_.application.name + "-" + configuration.id());
        !kept.empty())
      error.message += "; the log is " + kept.string();
    return error;
  }

  Result<void> add_source_part(const std::vector<spec::Configuration>& configurations) {
    XAAS_TRY(SourcePart part, make_source_part(request_, own_paths(request_, work_), work_, progress_));
    part.report.configurations = ids_of(configurations);
    report_.source = std::move(part.report);
    bundle_.source_build = {request_.application, configurations};
    bundle_.source_build->application.toolchain = part.toolchain;
    source_layers_ = std::move(part.layers);
    return {};
  }

  Result<void> write() {
    const Stopwatch watch;
    progress_.start("writing " + request_.output.text, 0);
    bundle_.packages = packages();
    const image::ContentProvider provider = [&](const Digest& digest) { return content_.get(digest); };
    XAAS_TRY(const oci::NewImage image,
             image::make_application_image(bundle_, provider, request_.time, image::most_groups,
                                           std::move(source_layers_),
                                           base_ ? std::move(base_->layers) : std::vector<oci::NewLayer>()));
    XAAS_TRY(report_.digest, registry::write_image(request_.output, image, request_.access, progress_));
    progress_.finish();
    report_.write = watch.seconds();
    return {};
  }

  // Of this machine and of the sysroot.
  std::vector<image::Package> packages() const {
    std::map<Digest, fs::path> own, others;
    for (const auto& [file, path] : maker_.places())
      if (const fs::path below = relative_under(path, request_.sysroot);
          request_.sysroot.empty() || below.empty())
        own.emplace(file, path);
      else
        others.emplace(file, "/" / below);
    std::vector<image::Package> packages = image::packages_of(own);
    for (image::Package& package : image::packages_of(others, request_.sysroot))
      packages.push_back(std::move(package));
    std::sort(packages.begin(), packages.end());
    return packages;
  }

  // A unit whose text is not known counts as one text.
  size_t count_texts() const {
    std::set<Digest> texts;
    for (const auto& [id, unit] : bundle_.units) {
      const auto known = texts_.find(id);
      if (known == texts_.end())
        texts.insert(id);
      else
        texts.insert(known->second.begin(), known->second.end());
    }
    return texts.size();
  }

  Result<void> fill_report() {
    XAAS_TRY(const image::Coverage coverage, image::coverage_of(bundle_));
    report_coverage(bundle_, coverage, progress_, report_);
    report_.preprocessed_texts = count_texts();
    report_.warnings = warnings_.finish(coverage, request_.arch);
    for (Warning& warning : points_without_effect(bundle_))
      report_.warnings.push_back(std::move(warning));
    std::sort(report_.warnings.begin(), report_.warnings.end());
    if (base_) {
      const std::set<std::string>& replaced = base_->image->replaced();
      report_.base = {base_->name, {}, {replaced.begin(), replaced.end()}};
      for (const auto& [name, versions] : base_->image->description().libraries)
        report_.base->libraries.push_back(name);
    }
    report_.loaders.assign(maker_.loaders().begin(), maker_.loaders().end());
    return {};
  }

  const Request& request_;
  Progress& progress_;
  fs::path work_;
  store::ContentStore content_;
  image::Bundle bundle_;
  BundleMaker maker_;
  std::optional<OpenedBase> base_;
  WarningCollector warnings_;
  fs::path clang_;
  std::optional<fs::path> flang_;
  fs::path cuda_; // the toolkit; may be empty
  session::Rocm rocm_;
  session::Nasm nasm_;
  fs::path cache_;
  std::optional<EqualLevels> levels_;
  bool elsewhere_ = false;                   // a build directory has another name than in other runs
  std::map<Digest, std::set<Digest>> texts_; // by unit; several texts can give the same unit
  std::vector<std::string> differences_;
  Surroundings surroundings_;
  std::vector<std::string> steps_; // of the current build that succeeded
  fs::file_time_type configured_;  // when its configure step had succeeded
  Clock::time_point next_check_;   // of its sources
  std::optional<image::SourceLayers> source_layers_;
  Report report_;
  Stopwatch watch_;
};

} // namespace

// Compilers and linkers follow an absolute link out of the sysroot, and then take libm.a where libm.so leads
// nowhere.
static Result<void> check_sysroot(const Request& request) {
  const fs::path& sysroot = request.sysroot;
  std::error_code code;
  if (!fs::is_directory(sysroot / "usr/include", code))
    return make_error(ErrorKind::not_found, "sysroot " + sysroot.string() + ": has no usr/include",
                      "a sysroot has the headers and libraries of a system in the directories that they have "
                      "there");
  if (sysroot == sysroot.root_path())
    return {};
  const std::string multiarch = request.arch + "-linux-gnu";
  for (const std::string& directory :
       {"lib/" + multiarch, "usr/lib/" + multiarch, std::string("usr/lib64"), std::string("usr/lib")}) {
    const Result<std::vector<fs::path>> entries = list_directory(sysroot / directory);
    if (!entries)
      continue;
    for (const fs::path& entry : *entries)
      if (fs::is_symlink(entry, code) && fs::read_symlink(entry, code).is_absolute())
        return make_error(ErrorKind::usage,
                          "sysroot " + sysroot.string() + ": " + entry.string() +
                              " is an absolute link, to " + fs::read_symlink(entry, code).string(),
                          "make the links in the sysroot relative");
  }
  return {};
}

Result<void> check(const Request& request) {
  std::error_code code;
  if (!fs::is_directory(request.source, code))
    return make_error(ErrorKind::not_found, "source tree " + request.source.string() + ": no such directory");
  if (target::isa_levels(request.arch).empty())
    return make_error(ErrorKind::usage, "architecture '" + request.arch + "' is not known",
                      "x86_64 and aarch64 are");
  if (!request.sysroot.empty())
    XAAS_CHECK(check_sysroot(request));
  if (!request.write_image)
    return {};
  if (request.output.transport == oci::Transport::rootfs ||
      request.output.transport == oci::Transport::squashfs)
    return make_error(ErrorKind::usage,
                      request.output.text + ": an IR image cannot be unpacked into a directory",
                      "oci:DIR or oci-archive:FILE; `xaas deploy -o rootfs:DIR` unpacks a deployed image");
  return registry::check_writable(request.output, request.access);
}

Result<Report> build_ir_image(const Request& request, Progress& progress) {
  XAAS_CHECK(check(request));
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  XAAS_CHECK(check_space(space_needs(request)).in("building " + request.application.name));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-build-"));
  return Builder(request, progress, fs::weakly_canonical(work.path())).run();
}

} // namespace xaas::build
