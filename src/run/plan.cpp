// From an image to a command line. Everything about the program is decided before the runtime.
#include "adapters.h"
#include "choose.h"
#include "choose_host.h"
#include "gpus.h"
#include "host_libraries.h"
#include "needs.h"
#include "programs.h"
#include "references.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/image/application_image.h>
#include <xaas/image/targets.h>
#include <xaas/launcher/launcher.h>
#include <xaas/loader/c_library.h>
#include <xaas/loader/loading.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/tree.h>
#include <xaas/runtimes/environment.h>
#include <xaas/runtimes/tree_paths.h>
#include <xaas/system/system.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <set>
#include <unistd.h>
#include <utility>

namespace xaas::run {

namespace {

std::string variable_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

class Planning {
public:
  Planning(const Request& request, const Host& host, Progress& progress)
      : request_(request), host_(host), progress_(progress) {}

  Result<Plan> run() {
    XAAS_CHECK(open_tree());
    XAAS_CHECK(choose_command());
    XAAS_CHECK(add_host_binds());
    add_rank_directories();
    XAAS_CHECK(choose_directory());
    XAAS_CHECK(add_user_binds());
    make_environment();
    XAAS_TRY(const std::string path, find_command());
    if (request_.gpus)
      add_gpus();
    XAAS_CHECK(choose_libraries(path));
    add_library_path();
    XAAS_CHECK(make_mount_points());
    XAAS_TRY(const Found found, choose_runtime(request_.runtimes, program_));
    plan_.runtime = found.runtime->name;
    for (const std::string& name : runtimes::Knowledge::get().rank_numbers)
      if (const std::string rank = variable_of(host_.environment, name); !rank.empty())
        plan_.first = plan_.first && rank == "0";
    if (launched_ && found.separate)
      separate_ranks();
    plan_.invocation = invocation_of(found, program_, request_.runtime_options, host_.environment);
    return std::move(plan_);
  }

private:
  Result<void> open_tree() {
    if (request_.image.transport == oci::Transport::rootfs)
      return open_directory();
    if (request_.image.transport == oci::Transport::squashfs)
      return open_squashfs();
    const target::Cpu cpu = target::host_cpu();
    const image::FindGpus gpus = [&] {
      return request_.gpus ? system::host_gpus() : std::vector<target::Gpu>();
    };
    const auto if_none_fits = request_.check ? image::IfNoneFits::fail : image::IfNoneFits::first;
    bool several = false;
    const oci::Chooser choose = [&](const std::vector<image::Annotations>& images) {
      several = images.size() > 1;
      return image::best_for(cpu, gpus, if_none_fits)(images);
    };
    XAAS_TRY(
        const std::unique_ptr<oci::Image> image,
        registry::open_image(request_.image, target::oci_architecture(cpu.arch), request_.access, choose));
    if (image::kind_of(*image) == "ir")
      return make_error(ErrorKind::usage, request_.image.text + ": is an IR image and has no programs yet",
                        "`xaas deploy` makes a runnable image from it");
    XAAS_CHECK(take(*image, cpu));
    XAAS_TRY(const TreeStore store, TreeStore::open(request_.trees));
    XAAS_TRY(plan_.use, store.get(*image, progress_));
    program_.tree = plan_.use->tree();
    if (several && launched_)
      plan_.rank_image = {request_.image.text, image->digest(), annotations_};
    return {};
  }

  Result<void> open_directory() {
    std::error_code code;
    program_.tree = fs::canonical(request_.image.path, code);
    if (code)
      return errno_error(code.value(), "reading " + request_.image.path.string());
    if (!fs::is_directory(program_.tree, code))
      return make_error(ErrorKind::usage, request_.image.text + ": not a directory");
    return read_description();
  }

  // The planning reads the tree, and not every runtime can mount the file, so it is unpacked like an image.
  Result<void> open_squashfs() {
    const fs::path& file = request_.image.path;
    XAAS_CHECK(oci::check_squashfs(file));
    XAAS_TRY(const Digest digest, digest_of_file(file).in("reading " + file.string()));
    XAAS_TRY(const TreeStore store, TreeStore::open(request_.trees));
    const auto make = [&](const fs::path& directory, Progress&) {
      return oci::unpack_squashfs(file, directory);
    };
    XAAS_TRY(plan_.use, store.get_made(digest, make, progress_));
    program_.tree = plan_.use->tree();
    return read_description();
  }

  // Trees of other tools have none.
  Result<void> read_description() {
    const TreePlace place = find_in_tree(program_.tree, std::string("/") + oci::tree_image_file);
    if (place.type != fs::file_type::regular)
      return {};
    constexpr uint64_t limit = uint64_t(8) << 20;
    XAAS_TRY(const std::string text, read_file(place.outside, limit));
    XAAS_TRY(const std::unique_ptr<oci::Image> image,
             oci::open_described(request_.image, text, place.inside));
    return take(*image, target::host_cpu());
  }

  // Checks the image, and takes what its tree does not tell.
  Result<void> take(const oci::Image& image, const target::Cpu& cpu) {
    if (request_.check) {
      if (const auto missing = image::lacking(image.manifest().annotations, cpu);
          request_.details && !missing.empty())
        progress_.note("this CPU (" + cpu.name + ") lacks " + join(missing, ", "));
      XAAS_CHECK(check_needs(image, cpu));
    }
    config_ = image.config();
    annotations_ = image.manifest().annotations;
    XAAS_TRY(preferred_, image::preferred_of_host(image));
    return {};
  }

  // OCI image specification, config.md: Entrypoint, with Cmd as its arguments.
  Result<void> choose_command() {
    std::vector<std::string> entrypoint = config_.entrypoint;
    if (request_.shell) {
      XAAS_TRY(const std::string shell, find_shell());
      entrypoint = {shell};
    } else if (request_.entrypoint) {
      entrypoint.clear();
      if (!request_.entrypoint->empty())
        entrypoint.push_back(*request_.entrypoint);
    }
    const bool own = request_.arguments.empty() && !request_.entrypoint && !request_.shell;
    program_.command = entrypoint;
    const std::vector<std::string>& arguments = own ? config_.cmd : request_.arguments;
    program_.command.insert(program_.command.end(), arguments.begin(), arguments.end());
    has_entrypoint_ = !entrypoint.empty();
    return {};
  }

  Result<std::string> find_shell() const {
    for (const char* shell : {"/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh"})
      if (find_in_tree(program_.tree, shell).type == fs::file_type::regular)
        return std::string(shell);
    return make_error(ErrorKind::not_found, "the image has no shell",
                      R"("runtime": ["/bin/sh"] in the application spec adds that of the build machine)");
  }

  Result<void> add_host_binds() {
    std::error_code code;
    for (Bind bind : binds_of_machine(program_.tree)) {
      const bool missing = find_in_tree(program_.tree, bind.destination).type == fs::file_type::not_found;
      if (std::exchange(bind.optional, false) && missing &&
          !runtimes::make_mount_point(program_.tree, bind.destination, fs::is_directory(bind.source, code)))
        plan_.notes.push_back("the tree has no " + bind.destination +
                              " and is read-only, so the program does not have it");
      else
        program_.binds.push_back(std::move(bind));
    }
    return {};
  }

  // Without them a rank does not find its launcher.
  void add_rank_directories() {
    std::error_code code;
    for (const std::string& name : runtimes::Knowledge::get().rank_directories) {
      const auto variable = host_.environment.find(name);
      if (variable == host_.environment.end() || !fs::path(variable->second).is_absolute() ||
          !fs::is_directory(variable->second, code))
        continue;
      const std::string path = fs::path(variable->second).lexically_normal();
      if (is_visible(path))
        continue;
      if (runtimes::make_mount_point(program_.tree, path, true))
        program_.binds.push_back({path, path, false});
      else
        plan_.notes.push_back("the tree has no " + path +
                              " and is read-only, so the program does not have it (" + name + ")");
    }
  }

  // The bind through which the program sees a path of the image; null: it sees the tree.
  const Bind* bind_of(const std::string& path) const {
    for (auto bind = program_.binds.rbegin(); bind != program_.binds.rend(); ++bind)
      if (runtimes::is_below(path, bind->destination))
        return &*bind;
    return nullptr;
  }

  // True if the program sees this host path under the same name.
  bool is_visible(const std::string& path) const {
    const std::string plain = fs::path(path).lexically_normal();
    const Bind* const bind = bind_of(plain);
    return bind && bind->source == bind->destination;
  }

  Result<void> choose_directory() {
    const std::string here = host_.directory;
    const TreePlace place = find_in_tree(program_.tree, here);
    const std::string of_image = config_.working_directory.empty() ? "/" : config_.working_directory;
    if (is_visible(here)) {
      program_.directory = here;
    } else if (place.inside == here && !runtimes::has_files(place)) {
      program_.binds.push_back({here, here, false});
      program_.directory = here;
    } else {
      program_.directory = find_in_tree(program_.tree, of_image).inside;
      if (request_.directory.empty() && here != "/")
        plan_.notes.push_back("the image has its own " + here + ", so the program starts in " +
                              program_.directory);
    }
    if (!request_.directory.empty())
      program_.directory = fs::path(request_.directory).lexically_normal();
    return {};
  }

  Result<void> add_user_binds() {
    for (const Bind& bind : request_.binds) {
      const auto same = [&](const Bind& each) { return each.destination == bind.destination; };
      if (bind.optional && std::any_of(program_.binds.begin(), program_.binds.end(), same))
        continue; // the working directory, for example
      std::erase_if(program_.binds, [&](const Bind& each) { return each.optional && same(each); });
      program_.binds.push_back(bind);
      program_.binds.back().asked = true;
    }
    for (Bind& bind : program_.binds) { // links of the image can lead into other directories
      const Bind* const above = bind_above(bind);
      if (!above)
        bind.destination = find_in_tree(program_.tree, bind.destination).inside;
    }
    return {};
  }

  // An earlier bind that contains the destination of this one.
  const Bind* bind_above(const Bind& bind) const {
    for (const Bind& each : program_.binds) {
      if (&each == &bind)
        break;
      if (each.destination != bind.destination && runtimes::is_below(bind.destination, each.destination))
        return &each;
    }
    return nullptr;
  }

  void make_environment() {
    program_.environment =
        runtimes::environment_of(host_.environment, config_.env, request_.environment,
                                 [this](const std::string& directory) { return is_visible(directory); });
    program_.environment["PWD"] = program_.directory;
    if (const auto chosen = host_.environment.find("XAAS_TARGET"); // for the tree's launchers
        chosen != host_.environment.end() && annotations_.contains(image::annotation::targets))
      program_.environment.try_emplace(chosen->first, chosen->second);
    const std::string descriptor =
        variable_of(program_.environment, runtimes::Knowledge::get().rank_descriptor);
    if (!descriptor.empty() && descriptor.find_first_not_of("0123456789") == std::string::npos &&
        descriptor.size() < 5)
      program_.descriptors = static_cast<unsigned>(std::max(0, std::stoi(descriptor) - 2));
  }

  // The host path that the program sees as `path`; empty: none.
  fs::path outside(const std::string& path) const {
    const TreePlace place = find_in_tree(program_.tree, path);
    if (const Bind* const bind = bind_of(place.inside)) {
      const fs::path rest = fs::path(place.inside).lexically_relative(bind->destination);
      return rest == "." ? bind->source : bind->source / rest;
    }
    return place.type == fs::file_type::not_found ? fs::path() : place.outside;
  }

  // The path of the command inside.
  Result<std::string> find_command() const {
    const std::string search = variable_of(program_.environment, "PATH");
    if (program_.command.empty())
      return no_program(ErrorKind::usage, "the image names no program to run", search);
    const std::string& name = program_.command.front();
    std::error_code code;
    const auto is_program = [&](const std::string& path) {
      const fs::path file = outside(path);
      return !file.empty() && fs::is_regular_file(file, code) && access(file.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos) {
      const std::string path =
          (fs::path(program_.directory) / name).lexically_normal(); // an absolute name replaces the directory
      if (is_program(path))
        return path;
      return no_program(ErrorKind::not_found, without_entrypoint() + "the image has no program " + path,
                        search);
    }
    for (const std::string& directory : split(search, ':'))
      if (const std::string path = directory + "/" + name; directory.starts_with("/") && is_program(path))
        return path;
    return no_program(
        ErrorKind::not_found,
        without_entrypoint() + "the image has no program " + name + " on its PATH (" + search + ")", search);
  }

  // Without an entry point, the first argument is the program, which may surprise.
  std::string without_entrypoint() const {
    return has_entrypoint_ || request_.entrypoint ? "" : "the image has no entry point, and ";
  }

  Error no_program(ErrorKind kind, const std::string& message, const std::string& search) const {
    const std::vector<std::string> programs = programs_in(program_.tree, search, annotations_);
    return make_error(kind, message + programs_text(programs),
                      "`xaas run " + request_.image.text + " PROGRAM -- ARG...` starts one of the programs");
  }

  void add_gpus() {
    const HostGpus gpus = find_gpus(host_.root, loader::directories_of("/", target::host_arch()).all());
    program_.gpus = gpus.kinds;
    program_.devices = gpus.devices;
    for (const std::vector<Bind>* binds : {&gpus.libraries, &gpus.files})
      program_.binds.insert(program_.binds.end(), binds->begin(), binds->end());
    if (!gpus.libraries.empty())
      note_unusable_driver(gpus.libraries);
  }

  // A driver whose library cannot be loaded looks like a machine without GPUs. Nothing of the image is read
  // but names.
  void note_unusable_driver(const std::vector<Bind>& libraries) {
    const std::string arch = target::host_arch();
    const std::vector<std::string> places = loader::directories_of(program_.tree, arch).all();
    const auto has = [&](std::string_view name) {
      std::error_code code;
      return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
        return fs::exists(outside(place + "/" + std::string(name)), code);
      });
    };
    if (!has("libc.so.6"))
      return;
    std::set<std::string> absent;
    for (const loader::CLibraryPart& part : loader::c_library_parts)
      if (part.in_every_image && !has(part.name))
        absent.emplace(part.name);
    if (absent.empty())
      return;
    loader::Loader host(host_.root, arch, {}, true);
    for (const Bind& bind : libraries) {
      const Result<const loader::Library*> library = host.read(bind.source);
      if (!library || !*library)
        continue; // the program will say why
      for (const std::string& name : (*library)->dynamic.needed)
        if (absent.contains(name)) {
          plan_.notes.push_back(
              "the image has no " + name + ", which the driver's " + bind.source.string() +
              " needs, so the program finds no GPU; images that this version builds have it");
          return;
        }
    }
  }

  // Decides about MPI and the other libraries of the host.
  Result<void> choose_libraries(const std::string& path) {
    const HostQuestion question{request_.mpi,
                                launched_,
                                request_.host,
                                preferred_,
                                split(variable_of(host_.environment, "LD_LIBRARY_PATH"), ':'),
                                request_.assume_launcher};
    const std::string arch = target::host_arch();
    if (!asks(question)) {
      if (!launched_ && !request_.host)
        note_references(question.library_path);
      return {};
    }
    loader::Loader image(program_.tree, arch,
                         split(variable_of(program_.environment, "LD_LIBRARY_PATH"), ':'), false);
    const loader::Library* program = nullptr;
    if (!bind_of(find_in_tree(program_.tree, path).inside)) {
      XAAS_TRY(program, image.read(behind_launcher(program_.tree, annotations_, path)));
    }
    XAAS_TRY(HostAnswer answer, choose_host(question, image, program));
    plan_.mpi_abi = answer.mpi_abi;
    plan_.host_mpi = answer.mpi;
    plan_.host = std::move(answer.choices);
    plan_.notes.insert(plan_.notes.end(), answer.notes.begin(), answer.notes.end());
    for (Bind& bind : answer.binds) // some are already bound with the GPU's driver
      if (std::none_of(program_.binds.begin(), program_.binds.end(),
                       [&](const Bind& known) { return known.destination == bind.destination; }))
        program_.binds.push_back(std::move(bind));
    return {};
  }

  void note_references(const std::vector<std::string>& library_path) {
    std::vector<std::string> of_image = split(variable_of(program_.environment, "LD_LIBRARY_PATH"), ':');
    for (const std::string& directory : loader::directories_of(program_.tree, target::host_arch()).all())
      of_image.push_back(directory);
    std::vector<fs::path> of_host(library_path.begin(), library_path.end());
    for (const std::string& directory : loader::directories_of("/", target::host_arch()).all())
      of_host.push_back(host_.root / fs::path(directory).relative_path());
    for (const std::string& note : notes_of_references(program_.tree, of_image, of_host, preferred_))
      plan_.notes.push_back(note);
  }

  // Variables for ranks that cannot access each other's memory.
  void separate_ranks() {
    std::vector<std::string> places = split(variable_of(program_.environment, "LD_LIBRARY_PATH"), ':');
    for (const std::string& place : loader::directories_of(program_.tree, target::host_arch()).all())
      places.push_back(place);
    std::error_code code;
    for (const runtimes::RankVariable& variable : runtimes::Knowledge::get().separate_ranks) {
      const auto has_library = [&](const std::string& place) {
        return place.starts_with("/") && !variable.library.empty() &&
               fs::exists(outside(place + "/" + variable.library), code);
      };
      const auto found = std::find_if(places.begin(), places.end(), has_library);
      if (found == places.end() || fs::exists(outside(*found + "/" + variable.part), code))
        program_.environment.try_emplace(variable.name, variable.value);
    }
  }

  void add_library_path() {
    if (std::none_of(program_.binds.begin(), program_.binds.end(),
                     [](const Bind& bind) { return runtimes::is_below(bind.destination, host_libraries); }))
      return;
    std::string& path = program_.environment["LD_LIBRARY_PATH"];
    path = path.empty() ? host_libraries : std::string(host_libraries) + ":" + path;
  }

  // The destination of a bind, which exists when this returns.
  Result<std::string> mount_point_of(const Bind& bind) const {
    std::error_code code;
    if (!bind_above(bind)) {
      Result<std::string> made =
          runtimes::make_mount_point(program_.tree, bind.destination, fs::is_directory(bind.source, code));
      if (!made)
        return std::move(made).error().with_hint("a read-only tree must already contain these mount points");
      return made;
    }
    if (!fs::exists(outside_above(bind), code)) // in a directory of the host, nothing is created
      return make_error(ErrorKind::not_found, "binding " + bind.source.string() + ": there is no " +
                                                  bind.destination +
                                                  ", and none can be made: it is below "
                                                  "a directory of this machine");
    return bind.destination;
  }

  Result<void> make_mount_points() {
    for (size_t i = 0; i < program_.binds.size();) {
      Bind& bind = program_.binds[i];
      Result<std::string> destination = mount_point_of(bind);
      if (destination) {
        bind.destination = *std::move(destination);
        ++i;
        continue;
      }
      if (!bind.optional)
        return std::move(destination).error();
      plan_.notes.push_back(destination.error().message + "; it is left out");
      program_.binds.erase(program_.binds.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const TreePlace start = find_in_tree(program_.tree, program_.directory);
    if (!bind_of(start.inside) && start.type != fs::file_type::directory)
      return make_error(ErrorKind::not_found, "the image has no directory " + program_.directory);
    return {};
  }

  fs::path outside_above(const Bind& bind) const {
    const Bind& above = *bind_above(bind);
    return above.source / fs::path(bind.destination).lexically_relative(above.destination);
  }

  // True if a launcher of MPI programs started this process, or the request says to assume so.
  bool is_launched() const {
    const std::vector<std::string>& variables = runtimes::Knowledge::get().rank_variables;
    return request_.assume_launcher ||
           std::any_of(variables.begin(), variables.end(),
                       [this](const std::string& name) { return host_.environment.count(name) > 0; });
  }

  const Request& request_;
  const Host& host_;
  Progress& progress_;
  oci::ImageConfig config_;
  std::map<std::string, std::string> annotations_;
  std::vector<image::PreferredOfHost> preferred_;
  Program program_;
  Plan plan_;
  bool launched_ = is_launched();
  bool has_entrypoint_ = false; // the command has one, the image's or that of the request
};

} // namespace

// All targets need the same libraries, up to their configurations.
std::string behind_launcher(const fs::path& tree, const std::map<std::string, std::string>& annotations,
                            const std::string& path) {
  const auto targets = annotations.find(image::annotation::targets);
  if (targets != annotations.end())
    for (const std::string& name : split(targets->second, ',')) {
      const std::string own =
          std::string("/") + launcher::targets_directory + "/" + name + find_in_tree(tree, path).inside;
      if (!name.empty() && find_in_tree(tree, own).type == fs::file_type::regular)
        return own;
    }
  return path;
}

Result<Plan> prepare(const Request& request, const Host& host, Progress& progress) {
  return oci::in_operation(Planning(request, host, progress).run(), "running", request.image.text);
}

} // namespace xaas::run
