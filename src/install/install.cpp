#include "binaries.h"
#include "commit.h"
#include "manifest.h"
#include "module_files.h"
#include "programs.h"
#include "removal.h"
#include "site_modules.h"
#include "wrappers.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/base/umask.h>
#include <xaas/deploy/target_tree.h>
#include <xaas/image/application_image.h>
#include <xaas/image/targets.h>
#include <xaas/image/warning.h>
#include <xaas/oci/layer.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/tree.h>
#include <xaas/runtimes/environment.h>
#include <xaas/runtimes/tree_paths.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::install {

namespace {

constexpr const char* staging_prefix = ".xaas-tmp-";
constexpr size_t shown = 3; // obstacles in a message

// Absolute, without `.` and `..`. Links are kept: the site's name for a directory outlives the file system
// behind it.
Result<fs::path> plain_prefix(const fs::path& given) {
  fs::path prefix = fs::absolute(given).lexically_normal();
  if (!prefix.has_filename())
    prefix = prefix.parent_path();
  const std::string text = prefix;
  if (prefix == "/")
    return make_error(ErrorKind::usage,
                      given.string() + ": is the root directory, not the prefix of an installation");
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return is_word_character(c) || std::string_view("/._+-@%=,~").find(c) != std::string_view::npos;
  });
  if (!plain)
    return make_error(ErrorKind::usage,
                      "the prefix " + given.string() +
                          ": search paths, scripts and module files need a path of letters, digits and "
                          "the characters ._+-@%=,~");
  return prefix;
}

std::string obstacles_text(const std::vector<Obstacle>& obstacles) {
  std::vector<std::string> texts;
  for (const Obstacle& obstacle : obstacles)
    texts.push_back(obstacle.file + " " + obstacle.reason);
  return image::few(texts, shown);
}

class Installation {
public:
  Installation(const Request& request, Progress& progress) : request_(request), progress_(progress) {}

  Result<Report> run() {
    XAAS_TRY(prefix_, plain_prefix(request_.prefix));
    XAAS_CHECK(check_prefix());
    XAAS_CHECK(open_images());
    XAAS_CHECK(name_module());
    XAAS_CHECK(check_modules());
    const UserUmask users;
    XAAS_CHECK(make_directories(prefix_.parent_path()));
    remove_abandoned(prefix_.parent_path(), staging_prefix);
    XAAS_TRY(const TemporaryDirectory staging,
             TemporaryDirectory::create(prefix_.parent_path(), staging_prefix));
    made_ = staging.path() / "installation";
    XAAS_CHECK(make_directories(made_ / "bin"));
    XAAS_CHECK(write_tree());
    XAAS_CHECK(own_files(tree()));
    XAAS_TRY(programs_, find_programs(tree(), images_, path_of(environment())));
    for (const auto& [name, path] : programs_.paths)
      report_.programs.push_back(name);
    add_notes(programs_.notes);
    XAAS_CHECK(choose_libraries());
    XAAS_CHECK(write_programs());
    XAAS_CHECK(write_modules());
    XAAS_CHECK(complete_manifest());
    XAAS_CHECK(commit());
    report_.image = request_.image.text;
    report_.prefix = prefix_;
    report_.module_directory =
        request_.modules ? fs::absolute(*request_.modules).lexically_normal() : prefix_ / "modulefiles";
    return std::move(report_);
  }

private:
  fs::path tree() const { return made_ / "rootfs"; }
  fs::path place() const { return prefix_ / "rootfs"; }
  const oci::Image& image() const { return *images_.front(); }

  Result<void> check_prefix() {
    std::error_code code;
    const fs::file_status status = fs::symlink_status(prefix_, code);
    if (!fs::exists(status))
      return {};
    if (fs::is_directory(status) && fs::is_empty(prefix_, code) && !code)
      return {};
    if (!request_.replace)
      return make_error(ErrorKind::usage, prefix_.string() + ": exists",
                        "`--replace` replaces an installation; another version goes to another prefix");
    if (!fs::is_directory(status))
      return make_error(ErrorKind::usage, prefix_.string() + ": exists and is not a directory");
    XAAS_TRY(old_, read_manifest(prefix_));
    replaces_ = true;
    return check_unchanged(prefix_);
  }

  // `where`: the old installation's directory.
  Result<void> check_unchanged(const fs::path& where) const {
    XAAS_TRY(const std::vector<fs::path> changed, changed_files(where, old_));
    if (changed.empty())
      return {};
    std::vector<std::string> names;
    for (const fs::path& path : changed)
      names.push_back(printable((prefix_ / path.lexically_relative(where)).string()));
    return make_error(ErrorKind::usage,
                      prefix_.string() +
                          ": has files that were added or changed: " + image::few(names, shown),
                      "move them away; the installation is replaced as a whole");
  }

  // All images for this architecture that the reference names.
  Result<void> open_images() {
    if (request_.image.transport == oci::Transport::rootfs ||
        request_.image.transport == oci::Transport::squashfs)
      return make_error(ErrorKind::usage, request_.image.text + ": is a file tree, not an image",
                        "an image (oci:DIR, docker://HOST/NAME) can be installed");
    const std::string architecture = target::oci_architecture(target::host_arch());
    size_t count = 1;
    for (size_t i = 0; i < count; ++i) {
      const oci::Chooser choose = [&](const std::vector<image::Annotations>& entries) -> Result<size_t> {
        count = entries.size();
        return std::min(i, count - 1);
      };
      XAAS_TRY(std::unique_ptr<oci::Image> image,
               registry::open_image(request_.image, architecture, request_.access, choose));
      const std::string kind = image::kind_of(*image);
      if (kind == "ir" || kind == "source")
        return make_error(ErrorKind::usage,
                          request_.image.text + ": is " + (kind == "ir" ? "an IR" : "a source") +
                              " image and has no programs yet",
                          "`xaas deploy` makes an image from it that can be installed");
      if (image->config().architecture != architecture)
        return make_error(ErrorKind::unsatisfied, request_.image.text + ": is for " +
                                                      printable(image->config().architecture) +
                                                      ", and this machine is " + architecture);
      if (kind != "deployed")
        return make_error(ErrorKind::usage, request_.image.text + ": is not an image that xaas deployed",
                          "`xaas run` runs any image");
      images_.push_back(std::move(image));
    }
    report_.digest = image().index_digest().value_or(image().digest());
    const target::Cpu cpu = target::host_cpu();
    if (const auto missing = image::lacking(image().manifest().annotations, cpu); !missing.empty())
      report_.notes.push_back("this machine (" + cpu.name + ") cannot run the programs; it lacks " +
                              image::few(missing, shown));
    return {};
  }

  Result<void> name_module() {
    report_.name =
        request_.name.empty() ? image::annotation_of(image(), image::annotation::title) : request_.name;
    report_.version = request_.version.empty() ? image::annotation_of(image(), image::annotation::version)
                                               : request_.version;
    if (report_.name.empty())
      report_.name = prefix_.parent_path().filename();
    if (report_.version.empty())
      report_.version = prefix_.filename();
    if (!is_module_name(report_.name) || !is_module_version(report_.version))
      return make_error(ErrorKind::usage,
                        "'" + printable(report_.name + "/" + report_.version) +
                            "' cannot be the name of a module",
                        "`--module NAME/VERSION` gives one of letters, digits and ._+-");
    return {};
  }

  std::vector<std::string> module_files() const {
    const std::string file = report_.name + "/" + report_.version;
    return {file, file + ".lua"};
  }

  Result<void> check_modules() {
    if (!request_.modules)
      return {};
    const fs::path directory = fs::absolute(*request_.modules).lexically_normal();
    if (!relative_under(directory, prefix_).empty())
      return make_error(ErrorKind::usage, "--modules " + directory.string() + ": lies in the prefix",
                        "the installation has its own module files there, in modulefiles");
    std::map<std::string, std::string> paths;
    for (const std::string& file : module_files())
      paths[directory / file];
    return SiteModules(prefix_, paths, old_.modules).check();
  }

  Result<void> write_tree() {
    XAAS_TRY(const oci::Reference to, oci::parse_reference("rootfs:" + tree().string()));
    if (images_.size() == 1)
      return registry::write_tree(image(), to, progress_);
    std::vector<deploy::TreeTarget> targets;
    std::set<std::string> names;
    for (std::unique_ptr<oci::Image>& each : images_) {
      std::string name = image::annotation_of(*each, image::annotation::cpu);
      if (!names.insert(name).second) {
        name += "-" + replaced(image::annotation_of(*each, image::annotation::gpu), ",", "+");
        names.insert(name);
      }
      report_.targets.push_back(name);
      targets.push_back({{name}, std::move(each)});
    }
    std::set<image::Warning> warnings;
    XAAS_TRY(const oci::NewImage joint, deploy::target_tree(targets, warnings));
    XAAS_CHECK(registry::write_image(to, joint, request_.access, progress_));
    for (const image::Warning& warning : warnings)
      report_.notes.push_back(warning.file + (warning.file.empty() ? "" : ": ") + warning.message);
    for (size_t i = 0; i < targets.size(); ++i)
      images_[i] = std::move(targets[i].image);
    return {};
  }

  // Annotations of the tree, which for several targets differ from those of each image.
  std::map<std::string, std::string> annotations() const {
    std::map<std::string, std::string> all = image().manifest().annotations;
    if (!report_.targets.empty())
      all[image::annotation::targets] = join(report_.targets, ",");
    return all;
  }

  std::map<std::string, std::string> environment() const { return variables_of(image().config().env); }

  run::ScriptRequest script_request(const std::string& program) const {
    run::ScriptRequest script;
    script.tree = tree();
    script.image = &image();
    script.program = run::behind_launcher(tree(), annotations(), program);
    script.runtimes = request_.runtimes;
    script.runtime_options = request_.runtime_options;
    script.mpi = request_.mpi;
    script.host = request_.host;
    return script;
  }

  Result<void> choose_libraries() {
    XAAS_TRY(libraries_, run::choose_libraries(script_request(programs_.main), run::this_host()));
    report_.host = libraries_.choices;
    report_.mpi_abi = libraries_.mpi_abi;
    report_.host_mpi = libraries_.mpi;
    add_notes(libraries_.notes);
    return {};
  }

  void add_notes(const std::vector<std::string>& notes) {
    report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
  }

  Result<void> write_programs() {
    progress_.start("preparing the programs", 0);
    XAAS_TRY(std::vector<File> files, files_below(tree()));
    if (has_base(images_))
      XAAS_CHECK(mark_base(tree(), target::host_arch(), images_, files));
    TreeOnHost on_host{.tree = tree(),
                       .place = place(),
                       .arch = target::host_arch(),
                       .environment = environment(),
                       .libraries = libraries_.binds,
                       .programs = {}};
    for (const auto& [name, path] : programs_.paths)
      on_host.programs.insert(find_in_tree(tree(), path).inside);
    XAAS_TRY(const Binaries binaries, Binaries::plan(on_host, files));
    report_.obstacles = binaries.impossible();
    if (!report_.obstacles.empty() && request_.container == Container::never)
      return make_error(ErrorKind::unsatisfied, "--container never: " + obstacles_text(report_.obstacles));
    report_.obstacles.insert(report_.obstacles.end(), binaries.doubtful().begin(), binaries.doubtful().end());
    add_notes(binaries.notes());
    const bool direct = request_.container == Container::never ||
                        (request_.container == Container::automatic && report_.obstacles.empty());
    return direct ? write_direct(binaries) : write_for_container();
  }

  Result<void> write_script(const Script& script) {
    constexpr unsigned executable = 0755;
    return write_file(made_ / "bin" / script.name, script_text(script), executable, false);
  }

  std::string origin() const { return request_.image.text + " (" + report_.digest.to_string() + ")"; }

  // The variables of the image that programs get on the host. The user's own stay, and LD_LIBRARY_PATH is in
  // the programs.
  std::vector<std::pair<std::string, std::string>> variables_on_host(const Binaries& binaries) {
    static const std::set<std::string> of_user = {"HOME", "USER", "LOGNAME", "SHELL", "TERM", "IFS",
                                                  "PWD",  "_",    "SHLVL",   "PATH",  "ENV",  "BASH_ENV"};
    std::vector<std::pair<std::string, std::string>> variables;
    for (const auto& [name, value] : environment())
      if (!runtimes::is_variable_name(name))
        report_.notes.push_back("the variable " + printable(name) +
                                " of the image is not set, because a shell cannot");
      else if (!of_user.contains(name) && !name.starts_with("LD_"))
        variables.emplace_back(name, binaries.on_host(value));
    return variables;
  }

  Result<void> write_direct(const Binaries& binaries) {
    XAAS_TRY(report_.texts, binaries.apply());
    const auto variables = variables_on_host(binaries);
    for (const auto& [name, path] : programs_.paths)
      XAAS_CHECK(write_script({.name = name,
                               .origin = origin(),
                               .program = place().string() + path,
                               .search_path = binaries.search_path(),
                               .variables = variables}));
    return {};
  }

  // Users work in directories of the machine, whose names below / differ from site to site.
  std::vector<run::Bind> directories_of_machine() const {
    static const std::set<std::string> of_system = {"bin", "boot", "dev", "etc", "lost+found", "proc",
                                                    "run", "sbin", "sys", "tmp", "usr",        "var"};
    std::vector<run::Bind> binds;
    const Result<std::vector<fs::path>> entries = list_directory("/");
    std::error_code code;
    for (const fs::path& entry : entries ? *entries : std::vector<fs::path>()) {
      const std::string name = entry.filename();
      const TreePlace there = find_in_tree(tree(), entry);
      const bool free = there.type == fs::file_type::not_found || !runtimes::has_files(there);
      if (!of_system.contains(name) && !name.starts_with("lib") && !name.starts_with(".") &&
          fs::is_directory(entry, code) && free)
        binds.push_back({.source = entry, .destination = entry, .optional = true});
    }
    return binds;
  }

  Result<void> write_for_container() {
    std::vector<run::Bind> binds = directories_of_machine();
    for (run::Bind bind : request_.binds) {
      std::erase_if(binds, [&](const run::Bind& each) { return each.destination == bind.destination; });
      bind.asked = true;
      binds.push_back(std::move(bind));
    }
    for (const auto& [name, path] : programs_.paths) {
      run::ScriptRequest request = script_request(path);
      request.program = path;
      request.binds = binds;
      Result<run::ScriptLines> script = run::script_lines(request, libraries_, run::this_host(), place());
      if (!script && !report_.obstacles.empty())
        return std::move(script).error().in("the programs need a container (" +
                                            obstacles_text(report_.obstacles) + ")");
      if (!script)
        return std::move(script).error();
      report_.runtime = script->runtime;
      XAAS_CHECK(write_script({.name = name, .origin = origin(), .lines = std::move(script->lines)}));
    }
    return {};
  }

  Module module() const {
    Module module{.name = report_.name,
                  .version = report_.version,
                  .license = image::annotation_of(image(), image::annotation::licenses),
                  .home = image::annotation_of(image(), image::annotation::source),
                  .origin = origin(),
                  .prefix = prefix_};
    module.paths = {{"PATH", prefix_ / "bin"}};
    std::error_code code;
    for (const char* manual : {"/usr/local/share/man", "/usr/share/man"})
      if (const TreePlace directory = find_in_tree(tree(), manual);
          directory.type == fs::file_type::directory && !fs::is_empty(directory.outside, code))
        module.paths.emplace_back("MANPATH", place().string() + directory.inside);
    return module;
  }

  Result<void> write_modules() {
    const Module described = module();
    for (const std::string& file : module_files()) {
      const std::string text = file.ends_with(".lua") ? lua_module(described) : tcl_module(described);
      const fs::path own = made_ / "modulefiles" / file;
      XAAS_CHECK(make_directories(own.parent_path()));
      XAAS_CHECK(write_file(own, text, 0644, false));
      report_.modules.push_back(prefix_ / "modulefiles" / file);
      if (request_.modules)
        modules_[fs::absolute(*request_.modules / file).lexically_normal()] = text;
    }
    return {};
  }

  // The old module files stay in the manifest until they are removed.
  Result<void> write_manifest(const fs::path& directory) {
    return write_file(directory / manifest_file, to_json(manifest_).dump(1) + "\n", 0644, false);
  }

  Result<void> complete_manifest() {
    manifest_.image = request_.image.text;
    manifest_.digest = report_.digest.to_string();
    manifest_.name = report_.name;
    manifest_.version = report_.version;
    manifest_.runtime = report_.runtime;
    manifest_.programs = report_.programs;
    manifest_.targets = report_.targets;
    manifest_.modules = old_.modules;
    for (const auto& [path, text] : modules_)
      manifest_.modules[path] = digest_of(text);
    XAAS_CHECK(list_files(made_, manifest_));
    return write_manifest(made_);
  }

  Result<void> commit() {
    progress_.start("writing " + prefix_.string(), 0);
    if (chmod(made_.c_str(), with_umask(0755)) != 0)
      return errno_error(errno, "writing " + prefix_.string());
    SiteModules site(prefix_, modules_, old_.modules);
    XAAS_CHECK(site.claim());
    XAAS_CHECK(replaces_ ? replace() : put_in_place(made_, prefix_));
    XAAS_CHECK(site.finish());
    for (const auto& [path, text] : modules_)
      report_.modules.emplace_back(path);
    if (replaces_ && !old_.modules.empty()) {
      for (const auto& [path, digest] : old_.modules)
        if (!modules_.contains(path))
          manifest_.modules.erase(path);
      XAAS_CHECK(write_manifest(prefix_));
    }
    progress_.finish();
    return {};
  }

  // What somebody added while this went on would be lost.
  Result<void> replace() {
    XAAS_CHECK(exchange(made_, prefix_));
    const Result<void> unchanged = check_unchanged(made_);
    if (unchanged)
      return {};
    XAAS_CHECK(exchange(made_, prefix_));
    return unchanged.error();
  }

  const Request& request_;
  Progress& progress_;
  fs::path prefix_, made_;
  bool replaces_ = false;
  Manifest old_, manifest_;
  std::vector<std::unique_ptr<oci::Image>> images_; // of several targets, the weakest first
  Programs programs_;
  run::HostAnswer libraries_;
  std::map<std::string, std::string> modules_; // outside the prefix: path, text
  Report report_;
};

} // namespace

Result<Report> install(const Request& request, Progress& progress) {
  return oci::in_operation(Installation(request, progress).run(), "installing", request.image.text);
}

Result<Removed> uninstall(const fs::path& given) {
  XAAS_TRY(const fs::path prefix, plain_prefix(given));
  XAAS_TRY(const Manifest manifest, read_manifest(prefix));
  Removed removed{.prefix = prefix};
  std::optional<Error> error;
  for (const auto& [module, digest] : manifest.modules) {
    const Result<bool> gone = remove_module(prefix, module, digest);
    if (!gone && !error)
      error = gone.error();
    if (gone && *gone)
      ++removed.files;
    else
      removed.kept.emplace_back(module);
  }
  XAAS_TRY(RemovedFiles files, remove_files(prefix, manifest));
  removed.files += files.files;
  if (files.error && !error)
    error = std::move(files.error);
  if (error) // the manifest stays, so that it can be repeated
    return *std::move(error);
  XAAS_TRY(const std::vector<File> left, files_below(prefix));
  for (const File& file : left)
    if (const bool above_kept = file.type == fs::file_type::directory && manifest.files.contains(file.path);
        file.path != manifest_file && !above_kept)
      removed.kept.push_back(prefix / file.path);
  std::error_code code;
  if (fs::remove(prefix / manifest_file, code))
    ++removed.files;
  if (code)
    return errno_error(code.value(), "removing " + (prefix / manifest_file).string());
  fs::remove(prefix, code); // only if it is empty
  return removed;
}

} // namespace xaas::install
