// The output of a build is untrusted: a link in its directories may lead anywhere on this machine, so nothing
// is read through a link.
#include "source_build.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/link/note.h>
#include <xaas/run/tree_store.h>

#include <algorithm>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace xaas::deploy {

namespace {

using FileKind = link::InstalledFile::Kind;

// The format of the trees, including what unpacking does to layers.
constexpr const char* tree_format = "source image 2";

// The limits of a step are settings. An error about one names its setting.
Error with_setting(Error error) {
  static const std::vector<std::pair<std::string, std::string>> settings = {
      {"raise the limit on processes", "build_processes"},
      {"raise the limit on memory", "build_memory"},
      {"raise the limit on disk", "build_disk"},
      {"raise the limit on idle", "build_idle_seconds"},
      {"raise the limit on time", "build_seconds"}};
  for (const auto& [hint, setting] : settings)
    if (error.hint.starts_with(hint))
      error.hint += " (the setting " + setting + ")";
  // The kernel stops processes that fork faster than we check, at a multiple of the limit.
  for (const char* words : {"Cannot fork", "fork: ", "vfork: ", "Resource temporarily unavailable"})
    if (error.hint.empty() && error.output.find(words) != std::string::npos)
      error.hint =
          "it may have had too many processes: raise the limit on them (the setting build_processes), "
          "or build with fewer jobs";
  return error;
}

// Identifies an image's layers of these roles by the digests of their bytes, which are checked. The digests
// in the config (diff_ids) are unchecked, and would let one image replace another in the stores.
std::string layers_text(const image::ApplicationImage& source, const std::vector<std::string>& roles) {
  std::string text = tree_format;
  for (const std::string& role : roles) {
    text += " " + role;
    for (const size_t index : source.layers_with_role(role))
      text += " " + source.image().manifest().layers[index].digest.to_string();
  }
  return text;
}

// The layers with this role, as a tree.
Result<run::TreeUse> tree_of(const run::TreeStore& store, const image::ApplicationImage& source,
                             const std::string& role, Progress& progress) {
  const std::vector<size_t> indices = source.layers_with_role(role);
  if (indices.empty())
    return make_error(ErrorKind::integrity,
                      source.image().reference().text + ": has no layer with role " + role);
  const auto open = [&](Progress& reading) { return oci::open_layers(source.image(), indices, reading); };
  return store.get(digest_of(layers_text(source, {role})), open, progress);
}

class SourceBuilder {
public:
  SourceBuilder(const Request& request, const image::ApplicationImage& source,
                const spec::Configuration& configuration, const target::Cpu& cpu, int64_t time,
                const fs::path& work, Progress& progress)
      : request_(request), source_(source), application_(source.bundle().source_build->application),
        configuration_(configuration), cpu_(cpu), time_(time), work_(fs::weakly_canonical(work)),
        progress_(progress) {}

  Result<SourceBuilt> run() {
    XAAS_CHECK(check_machine());
    XAAS_TRY(enclose::Enclosure enclosure,
             enclose::choose_builder(request_.runtimes, request_.runtime_options));
    built_.runtime = enclosure.runtime;
    for (const std::string& missing : enclosure.missing)
      progress_.note("building with " + enclosure.runtime + ": " + missing);
    XAAS_TRY(const run::TreeStore store, run::TreeStore::open(request_.trees));
    XAAS_TRY(const run::TreeUse sources, tree_of(store, source_, "source", progress_));
    std::optional<run::TreeUse> toolchain;
    if (enclosure.runtime != "host") {
      XAAS_TRY(toolchain, tree_of(store, source_, "base", progress_));
      enclosure.tree = toolchain->tree();
    }
    // Resolved through the tree's own links: the tree is untrusted, and its links may lead anywhere.
    const TreePlace sources_place = find_in_tree(sources.tree(), inside::source);
    if (sources_place.type != fs::file_type::directory)
      return make_error(ErrorKind::integrity,
                        source_.image().reference().text + ": its source layer has no " + inside::source);
    XAAS_CHECK(add_mounts(enclosure, sources_place.outside));
    XAAS_CHECK(enclose::make_build_mount_points(enclosure));
    const EnclosedPlace place(std::move(enclosure), application_.toolchain.path);
    XAAS_TRY(built_.compilers,
             make_compilers(place, application_.toolchain, cpu_, work_ / "tools").in("toolchain"));
    XAAS_CHECK(build(place, sources_place.outside));
    XAAS_CHECK(take_installed());
    const fs::path root = place.is_host() ? fs::path("/") : toolchain->tree();
    std::unique_ptr<image::BaseImage> base;
    std::optional<run::TreeUse> base_tree;
    if (source_.bundle().base) {
      XAAS_TRY(base_tree, tree_of(store, source_, image::base_role, progress_));
      XAAS_TRY(base, read_base(base_tree->tree()));
      XAAS_CHECK(place_installed(*base));
    }
    XAAS_TRY(built_.closure, close_over(root, source_.bundle().arch, {}, built_.configuration.installed,
                                        built_.assembly, application_.runtime, base.get()));
    if (base) {
      built_.base = base->description();
      if (const std::set<std::string>& replaced = base->replaced(); !replaced.empty())
        progress_.note("libraries of the base image that those of the toolchain replace: " +
                       join({replaced.begin(), replaced.end()}, " "));
    }
    built_.configuration.runtime = built_.closure.files;
    built_.configuration.base_libraries = built_.closure.base_libraries;
    return std::move(built_);
  }

private:
  // Configure checks run programs that are compiled for the target.
  Result<void> check_machine() {
    if (source_.bundle().arch != target::host_arch())
      return make_error(ErrorKind::unsatisfied,
                        "the image is for " + source_.bundle().arch +
                            ", so its sources must be built on a machine of that kind");
    const std::vector<std::string> lacks =
        target::missing_features(cpu_.features, target::host_cpu().features);
    if (!lacks.empty())
      progress_.note("this machine lacks " + join(lacks, " ") + " of " + cpu_.name +
                     ": programs that the build itself runs may fail");
    return {};
  }

  // A build trusts what earlier builds wrote into a compiler cache. So each application has its own, because
  // an untrusted application could plant code for another one.
  Result<void> add_mounts(enclose::Enclosure& enclosure, const fs::path& sources) {
    enclosure.limits = request_.limits;
    enclosure.mounts.push_back({sources, inside::source, false});
    for (const char* name : {inside::build, inside::copy, inside::destination, inside::home}) {
      const fs::path directory = work_ / fs::path(name).filename();
      XAAS_CHECK(make_directories(directory));
      enclosure.mounts.push_back({directory, name, true});
    }
    XAAS_CHECK(make_directories(work_ / "tools"));
    enclosure.mounts.push_back({work_ / "tools", inside::tools, false});
    if (request_.compiler_cache) {
      const fs::path own =
          *request_.compiler_cache / digest_of(layers_text(source_, {"base", "source"})).hex();
      XAAS_CHECK(make_directories(own));
      std::error_code code;
      fs::last_write_time(own, fs::file_time_type::clock::now(), code); // old ones are removed by this time
      enclosure.mounts.push_back({own, inside::compiler_cache, true});
    }
    return {};
  }

  Result<void> build(const EnclosedPlace& place, const fs::path& sources) {
    project::ConfigurationBuild build;
    build.application = &application_;
    build.arch = source_.bundle().arch;
    build.arguments = spec::arguments_of(application_, configuration_, cpu_);
    build.source = sources;
    build.build = work_ / "build";
    build.copy = work_ / "copy";
    build.destination = work_ / "destination";
    build.home = work_ / "home";
    build.log = work_ / "log";
    build.tools = built_.compilers.tools;
    build.place = &place;
    build.jobs = request_.jobs;
    build.environment = {{"SOURCE_DATE_EPOCH", std::to_string(time_)}};
    if (request_.compiler_cache && built_.compilers.cached)
      build.environment.insert({{"CCACHE_DIR", inside::compiler_cache}, {"CCACHE_MAXSIZE", "2G"}});
    else
      build.environment.insert({{"CCACHE_DISABLE", "1"}});
    progress_.start("building " + configuration_.id() + " with " + built_.compilers.version, 0);
    Result<project::Built> result = project::build(build);
    progress_.finish();
    if (!result) {
      Error error = with_setting(std::move(result).error());
      if (error.kind != ErrorKind::interrupted)
        if (const fs::path kept = keep_log(build.log); !kept.empty())
          error.message += "; the log is " + kept.string();
      return error;
    }
    built_.times = result->times;
    return {};
  }

  Result<std::unique_ptr<image::BaseImage>> read_base(const fs::path& tree) const {
    XAAS_TRY(const oci::Layers layers,
             oci::open_layers(source_.image(), source_.layers_with_role(image::base_role), no_progress()));
    image::Base base = *source_.bundle().base;
    base.libraries.clear(); // those of configurations with IR
    base.directories.clear();
    return image::BaseImage::read(std::move(base), layers, tree, source_.bundle().arch,
                                  source_.bundle().image.env)
        .in(source_.image().reference().text);
  }

  // The paths of the base.
  Result<void> place_installed(image::BaseImage& base) {
    XAAS_TRY(const auto paths, base.place_files(built_.configuration.installed));
    std::map<std::string, std::string> contents;
    std::map<std::string, CodeOrigin> origins;
    for (const auto& [path, placed] : paths) {
      if (auto content = built_.assembly.contents.extract(path))
        contents[placed] = std::move(content.mapped());
      if (auto origin = built_.assembly.origins.extract(path))
        origins[placed] = std::move(origin.mapped());
    }
    built_.assembly.contents = std::move(contents);
    built_.assembly.origins = std::move(origins);
    return {};
  }

  fs::path keep_log(const fs::path& log) const {
    return project::keep_log(log, request_.logs, source_.bundle().name + "-" + configuration_.id());
  }

  Result<void> take_installed() {
    built_.configuration.configuration = configuration_;
    const fs::path destination = work_ / "destination";
    std::error_code code;
    fs::recursive_directory_iterator it(destination, code), end;
    for (; !code && it != end; it.increment(code))
      XAAS_CHECK(take(it->path(), it->path().lexically_relative(destination)));
    if (code)
      return errno_error(code.value(), "reading what was installed");
    std::vector<link::InstalledFile>& files = built_.configuration.installed;
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return {};
  }

  Result<void> take(const fs::path& from, const fs::path& path) {
    struct stat status{};
    if (lstat(from.c_str(), &status) != 0)
      return errno_error(errno, "reading /" + path.string());
    link::InstalledFile file;
    file.path = path;
    file.mode = status.st_mode & 0777;
    if (S_ISLNK(status.st_mode)) {
      std::error_code code;
      file.kind = FileKind::symlink;
      file.destination = fs::read_symlink(from, code);
    } else if (S_ISDIR(status.st_mode)) {
      file.kind = FileKind::directory;
    } else if (!S_ISREG(status.st_mode)) {
      return make_error(ErrorKind::failed, "/" + file.path + ": the build installed a special file");
    } else if (status.st_mode & (S_ISUID | S_ISGID)) {
      return make_error(ErrorKind::failed,
                        "/" + file.path +
                            ": is installed with the rights of its owner or group "
                            "(set-user-ID or set-group-ID)",
                        "images have no such programs; install it with an ordinary mode");
    } else {
      XAAS_TRY(std::string content, read_file(from));
      file.digest = digest_of(content);
      file.native = link::is_elf(content) || link::is_archive(content);
      if (link::is_elf(content))
        built_.assembly.origins[file.path].native = true;
      built_.assembly.contents[file.path] = std::move(content);
    }
    built_.configuration.installed.push_back(std::move(file));
    return {};
  }

  const Request& request_;
  const image::ApplicationImage& source_;
  const spec::Application& application_;
  const spec::Configuration& configuration_;
  const target::Cpu& cpu_;
  int64_t time_;
  fs::path work_;
  Progress& progress_;
  SourceBuilt built_;
};

} // namespace

Result<SourceBuilt> build_from_source(const Request& request, const image::ApplicationImage& source,
                                      const spec::Configuration& configuration, const target::Cpu& cpu,
                                      int64_t time, const fs::path& work, Progress& progress) {
  return SourceBuilder(request, source, configuration, cpu, time, work, progress).run();
}

} // namespace xaas::deploy
