#include "binaries.h"
#include "commit.h"
#include "manifest.h"
#include "module_files.h"
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
#include <xaas/runtimes/knowledge.h>
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

std::string annotation_of(const oci::Image& image, const char* key) {
  const auto& all = image.manifest().annotations;
  const auto found = all.find(key);
  return found == all.end() ? std::string() : found->second;
}

// Absolute, without `.` and `..`. Links are kept: the site's name for a directory outlives the file system
// behind it.
Result<fs::path> plain_prefix(const fs::path& given) {
  fs::path prefix = fs::absolute(given).lexically_normal();
  if (!prefix.has_filename())
    prefix = prefix.parent_path();
  const std::string text = prefix;
  if (prefix == "/")
    return make_error(ErrorKind::usage, "--prefix " + given.string() + ": is the root directory");
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return is_word_character(c) || std::string_view("/._+-@%=,~").find(c) != std::string_view::npos;
  });
  if (!plain)
    return make_error(ErrorKind::usage,
                      "--prefix " + given.string() +
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
    XAAS_CHECK(find_programs());
    XAAS_CHECK(choose_libraries());
    XAAS_CHECK(write_programs());
    XAAS_CHECK(write_modules());
    XAAS_CHECK(write_manifest());
    XAAS_CHECK(commit());
    report_.image = request_.image.text;
    report_.prefix = prefix_;
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
    XAAS_TRY(const std::vector<fs::path> changed, changed_files(prefix_, old_));
    if (changed.empty())
      return {};
    std::vector<std::string> names(changed.begin(), changed.end());
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
      if (kind != "deployed")
        return make_error(ErrorKind::usage, request_.image.text + ": is not an image that xaas deployed",
                          "`xaas run` runs any image");
      images_.push_back(std::move(image));
    }
    report_.digest = image().index_digest().value_or(image().digest());
    return {};
  }

  Result<void> name_module() {
    report_.name = request_.name.empty() ? annotation_of(image(), image::annotation::title) : request_.name;
    report_.version =
        request_.version.empty() ? annotation_of(image(), image::annotation::version) : request_.version;
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

  Result<void> check_modules() const {
    if (!request_.modules)
      return {};
    std::error_code code;
    for (const std::string& file : module_files()) {
      const fs::path path = fs::absolute(*request_.modules / file).lexically_normal();
      if (fs::exists(fs::symlink_status(path, code)) && !old_.modules.contains(path))
        return make_error(ErrorKind::usage,
                          path.string() + ": exists, and does not belong to the installation in " +
                              prefix_.string(),
                          "`--module NAME/VERSION` gives the module another name");
    }
    return {};
  }

  Result<void> write_tree() {
    XAAS_TRY(const oci::Reference to, oci::parse_reference("rootfs:" + tree().string()));
    if (images_.size() == 1)
      return registry::write_tree(image(), to, progress_);
    std::vector<deploy::TreeTarget> targets;
    std::set<std::string> names;
    for (std::unique_ptr<oci::Image>& each : images_) {
      std::string name = annotation_of(*each, image::annotation::cpu);
      if (!names.insert(name).second) {
        name += "-" + replaced(annotation_of(*each, image::annotation::gpu), ",", "+");
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

  std::map<std::string, std::string> environment() const {
    std::map<std::string, std::string> variables;
    for (const std::string& entry : image().config().env)
      if (const size_t equals = entry.find('='); equals != std::string::npos && equals > 0)
        variables[entry.substr(0, equals)] = entry.substr(equals + 1);
    return variables;
  }

  std::vector<std::string> path_of_image() const {
    const std::map<std::string, std::string> variables = environment();
    const auto path = variables.find("PATH");
    return split(path == variables.end() ? runtimes::Knowledge::get().path : path->second, ':');
  }

  // The application's own programs in the directories of the image's PATH, and its entry point.
  Result<void> find_programs() {
    std::set<std::string> directories;
    for (const std::string& directory : path_of_image())
      directories.insert(find_in_tree(tree(), directory).inside);
    const auto add = [&](const std::string& path) {
      const TreePlace file = find_in_tree(tree(), path);
      const std::string name = fs::path(path).filename();
      if (file.type == fs::file_type::regular && access(file.outside.c_str(), X_OK) == 0 &&
          name.find(".so") == std::string::npos)
        programs_.emplace(name, path);
    };
    for (const std::unique_ptr<oci::Image>& each : images_)
      for (size_t i = 0; i < each->manifest().layers.size(); ++i) {
        const oci::Descriptor& layer = each->manifest().layers[i];
        if (image::layer_role(layer) != "application")
          continue;
        XAAS_TRY(const oci::BlobPtr blob, each->open_blob(layer));
        const auto look = [&](const oci::LayerEntry& entry, oci::LayerContent&) -> Result<void> {
          const std::string path = "/" + entry.path;
          const std::string above = fs::path(path).parent_path();
          if (directories.contains(find_in_tree(tree(), above).inside))
            add(path);
          return {};
        };
        XAAS_CHECK(
            oci::stream_layer(blob, layer.media_type, &each->config().diff_ids[i], oci::layer_limit, look));
      }
    if (!image().config().entrypoint.empty())
      add_entrypoint(image().config().entrypoint.front(), add);
    if (programs_.empty())
      return make_error(ErrorKind::usage, request_.image.text + ": the application has no programs on the "
                                                                "image's PATH and no entry point");
    for (const auto& [name, path] : programs_)
      report_.programs.push_back(name);
    return {};
  }

  void add_entrypoint(const std::string& entry, const std::function<void(const std::string&)>& add) {
    if (entry.starts_with("/")) {
      add(entry);
      main_ = entry;
      return;
    }
    for (const std::string& directory : path_of_image())
      if (const std::string path = directory + "/" + entry;
          find_in_tree(tree(), path).type == fs::file_type::regular) {
        add(path);
        main_ = path;
        return;
      }
  }

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
    const std::string& program = main_.empty() ? programs_.begin()->second : main_;
    XAAS_TRY(libraries_, run::choose_libraries(script_request(program), run::this_host()));
    report_.host = libraries_.choices;
    report_.mpi_abi = libraries_.mpi_abi;
    report_.host_mpi = libraries_.mpi;
    report_.notes.insert(report_.notes.end(), libraries_.notes.begin(), libraries_.notes.end());
    return {};
  }

  Result<void> write_programs() {
    progress_.start("preparing the programs", 0);
    XAAS_TRY(const std::vector<File> files, files_below(tree()));
    for (const File& file : files) // who installs must be able to change and remove it
      if (file.type == fs::file_type::directory && (file.mode & fs::perms::owner_write) == fs::perms::none) {
        std::error_code code;
        fs::permissions(tree() / file.path, fs::perms::owner_write, fs::perm_options::add, code);
      }
    XAAS_TRY(const Binaries binaries, Binaries::plan({.tree = tree(),
                                                      .place = place(),
                                                      .arch = target::host_arch(),
                                                      .environment = environment(),
                                                      .libraries = libraries_.binds},
                                                     files));
    report_.obstacles = binaries.impossible();
    if (!report_.obstacles.empty() && request_.container == Container::never)
      return make_error(ErrorKind::unsatisfied, "--container never: " + obstacles_text(report_.obstacles));
    report_.obstacles.insert(report_.obstacles.end(), binaries.doubtful().begin(), binaries.doubtful().end());
    const bool direct = request_.container == Container::never ||
                        (request_.container == Container::automatic && report_.obstacles.empty());
    return direct ? write_direct(binaries) : write_for_container();
  }

  Result<void> write_script(const Script& script) {
    constexpr unsigned executable = 0755;
    return write_file(made_ / "bin" / script.name, script_text(script), executable, false);
  }

  std::string origin() const { return request_.image.text + " (" + report_.digest.to_string() + ")"; }

  Result<void> write_direct(const Binaries& binaries) {
    XAAS_CHECK(binaries.apply());
    for (const auto& [name, value] : environment())
      if (name != "PATH" && name != "LD_LIBRARY_PATH")
        variables_.emplace_back(name, binaries.value_on_host(value));
    for (const auto& [name, path] : programs_)
      XAAS_CHECK(write_script({.name = name,
                               .origin = origin(),
                               .program = place().string() + path,
                               .search_path = binaries.search_path(),
                               .variables = variables_}));
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
      if (!of_system.contains(name) && !name.starts_with("lib") && !name.starts_with(".") &&
          fs::is_directory(entry, code) && fs::is_empty(there.outside, code) == !code)
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
    for (const auto& [name, path] : programs_) {
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
                  .license = annotation_of(image(), image::annotation::licenses),
                  .home = annotation_of(image(), image::annotation::source),
                  .origin = origin(),
                  .prefix = prefix_,
                  .variables = variables_};
    module.paths = {{"PATH", prefix_ / "bin"}};
    std::error_code code;
    for (const char* manual : {"/usr/local/share/man", "/usr/share/man"})
      if (const TreePlace directory = find_in_tree(tree(), manual);
          directory.type == fs::file_type::directory && !fs::is_empty(directory.outside, code))
        module.paths.emplace_back("MANPATH", place().string() + directory.inside);
    std::string root = to_upper(fs::path(report_.name).filename().string());
    std::replace_if(root.begin(), root.end(), [](char c) { return !is_word_character(c); }, '_');
    module.variables.emplace_back((is_digit(root.front()) ? "_" : "") + root + "_ROOT", prefix_);
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

  Result<void> write_manifest() {
    manifest_.image = request_.image.text;
    manifest_.digest = report_.digest.to_string();
    manifest_.name = report_.name;
    manifest_.version = report_.version;
    manifest_.runtime = report_.runtime;
    manifest_.programs = report_.programs;
    manifest_.targets = report_.targets;
    for (const auto& [path, text] : modules_)
      manifest_.modules[path] = digest_of(text);
    XAAS_CHECK(list_files(made_, manifest_));
    return write_file(made_ / manifest_file, to_json(manifest_).dump(1) + "\n", 0644, false);
  }

  Result<void> commit() {
    progress_.start("writing " + prefix_.string(), 0);
    const mode_t mode = with_umask(0755);
    for (const fs::path& directory : {made_, made_ / "bin", made_ / "modulefiles"})
      if (chmod(directory.c_str(), mode) != 0)
        return errno_error(errno, "writing " + prefix_.string());
    XAAS_CHECK(replaces_ ? exchange(made_, prefix_) : put_in_place(made_, prefix_));
    for (const auto& [path, text] : modules_) {
      XAAS_CHECK(make_directories(fs::path(path).parent_path()));
      XAAS_CHECK(write_file(path, text));
      report_.modules.emplace_back(path);
    }
    for (const auto& [path, digest] : old_.modules)
      if (!modules_.contains(path))
        remove_module(path, digest);
    progress_.finish();
    return {};
  }

public:
  // Removes a module file that is unchanged, and its directory if that is empty.
  static bool remove_module(const fs::path& path, const Digest& digest) {
    std::error_code code;
    if (fs::symlink_status(path, code).type() == fs::file_type::not_found)
      return true;
    const Result<Digest> present = digest_of_file(path);
    if (!present || *present != digest || !fs::remove(path, code))
      return false;
    fs::remove(path.parent_path(), code);
    return true;
  }

private:
  const Request& request_;
  Progress& progress_;
  fs::path prefix_, made_;
  bool replaces_ = false;
  Manifest old_, manifest_;
  std::vector<std::unique_ptr<oci::Image>> images_; // of several targets, the weakest first
  std::map<std::string, std::string> programs_;     // by name, their paths in the tree
  std::string main_;                                // of them, that of the entry point
  run::HostAnswer libraries_;
  std::vector<std::pair<std::string, std::string>> variables_; // that the programs get on the host
  std::map<std::string, std::string> modules_;                 // outside the prefix: path, text
  Report report_;
};

} // namespace

Result<Report> install(const Request& request, Progress& progress) {
  return oci::in_operation(Installation(request, progress).run(), "installing", request.image.text);
}

Result<Removed> uninstall(const fs::path& given) {
  XAAS_TRY(const fs::path prefix, plain_prefix(given));
  XAAS_TRY(const Manifest manifest, read_manifest(prefix));
  XAAS_TRY(const std::vector<fs::path> changed, changed_files(prefix, manifest));
  Removed removed{.prefix = prefix};
  std::error_code code;
  const std::set<fs::path> kept(changed.begin(), changed.end());
  for (const auto& [module, digest] : manifest.modules)
    if (Installation::remove_module(module, digest))
      ++removed.files;
    else
      removed.kept.emplace_back(module);
  // Backwards: what a directory contains comes before the directory.
  for (auto file = manifest.files.rbegin(); file != manifest.files.rend(); ++file) {
    const fs::path path = prefix / file->first;
    const bool directory = file->second.empty();
    if (kept.contains(path))
      continue;
    if (fs::remove(path, code) && !directory)
      ++removed.files;
    if (code && !directory)
      return errno_error(code.value(), "removing " + path.string());
  }
  // The manifest goes last, so that an interrupted removal can be repeated.
  if (fs::remove(prefix / manifest_file, code))
    ++removed.files;
  if (code)
    return errno_error(code.value(), "removing " + (prefix / manifest_file).string());
  fs::remove(prefix, code);
  for (const fs::path& path : kept)
    if (!fs::is_directory(fs::symlink_status(path, code)))
      removed.kept.push_back(path);
  return removed;
}

} // namespace xaas::install
