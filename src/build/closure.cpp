#include "closure.h"

#include <xaas/base/directory.h>
#include <xaas/base/tree_path.h>
#include <xaas/image/base_libraries.h>
#include <xaas/loader/c_library.h>
#include <xaas/loader/loading.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <map>
#include <sys/stat.h>

namespace xaas::build {

namespace {

using link::InstalledFile;
using loader::Library;

// Whether one library has every symbol version of the other, so that it can replace it.
bool covers(const Library& library, const Library& other) {
  const std::vector<std::string>& versions = library.dynamic.versions;
  return !other.dynamic.versions.empty() &&
         std::all_of(other.dynamic.versions.begin(), other.dynamic.versions.end(),
                     [&](const std::string& each) {
                       return std::find(versions.begin(), versions.end(), each) != versions.end();
                     });
}

class Gatherer {
public:
  Gatherer(const ClosureInput& input, const store::ContentStore& content)
      : input_(input), content_(content), multiarch_(input.arch + "-linux-gnu"),
        loader_({"/", input.arch, true, {input.sysroot, directories_of_links()}}, settings()) {}

  Result<Closure> gather() {
    XAAS_CHECK(name_linked());
    for (const std::string& extra : input_.extras)
      XAAS_CHECK(add_tree(extra));
    for (const bool programs : {true, false})
      for (const Library* start : start_)
        if (programs != start->dynamic.interpreter.empty() && !reached_.contains(start))
          XAAS_CHECK(add_loading(*start));
    if (input_.base)
      XAAS_CHECK(leave_to_base());
    XAAS_CHECK(complete_c_library());
    for (const auto& [name, chosen] : chosen_)
      XAAS_CHECK(put_library(name, *chosen.library));
    XAAS_CHECK(add_loaders());
    for (auto& [path, file] : files_)
      closure_.files.push_back(std::move(file));
    if (input_.base) {
      XAAS_TRY([[maybe_unused]] const auto paths, input_.base->place_files(closure_.files));
    }
    return std::move(closure_);
  }

private:
  // For the architecture's cross packages on this machine.
  bool is_cross_build() const { return input_.sysroot.empty() && input_.arch != target::host_arch(); }

  loader::Settings settings() const {
    loader::Settings settings = loader::settings_for(top(), input_.arch, input_.library_path);
    if (!input_.sysroot.empty())
      settings.library_path.clear();
    if (is_cross_build()) {
      settings.directories.cache = {};
      settings.directories.configured = {};
      settings.directories.defaults = {"/usr/" + multiarch_ + "/lib", "/lib/" + multiarch_,
                                       "/usr/lib/" + multiarch_};
    }
    const std::set<std::string> beside = directories_of_links();
    settings.last.assign(beside.begin(), beside.end());
    return settings;
  }

  std::set<std::string> directories_of_links() const {
    std::set<std::string> directories;
    for (const Linked& linked : input_.linked)
      for (const auto& [name, path] : linked.libraries)
        directories.insert(path.parent_path());
    return directories;
  }

  // The path on this machine of a program interpreter for the application's architecture.
  fs::path place_of(const fs::path& interpreter) const {
    std::error_code code;
    const fs::path beside = fs::path("/usr/" + multiarch_ + "/lib") / interpreter.filename();
    return is_cross_build() && fs::exists(beside, code) ? beside : on_machine(interpreter);
  }

  fs::path top() const { return input_.sysroot.empty() ? "/" : input_.sysroot; }

  // The place on this machine of a path in the sysroot, if there is one, whose links lead to files of the
  // sysroot.
  fs::path on_machine(const fs::path& path) const {
    return input_.sysroot.empty() ? path : find_in_tree(input_.sysroot, path).outside;
  }

  // The loader that comes along with the C library.
  Result<std::string> loader_bytes() const {
    const fs::path loader =
        place_of(interpreters_.empty() ? loader::loader_path(input_.arch) : *interpreters_.begin());
    std::error_code code;
    return fs::exists(loader, code) ? read_file(loader) : Result<std::string>(std::string());
  }

  // The application's own files find each other by name, wherever they are.
  Result<void> name_linked() {
    for (const std::string& name : input_.installed)
      own_.emplace(name, nullptr);
    for (const Linked& linked : input_.linked) {
      linked_.push_back(std::make_unique<Library>(Library{linked.path, linked.dynamic}));
      start_.push_back(linked_.back().get());
      served_.insert(linked_.back().get());
      own_files_.emplace(linked_.back().get(), &linked);
      const std::string& soname = linked.dynamic.soname;
      if (linked.dynamic.interpreter.empty())
        own_[soname.empty() ? fs::path(linked.path).filename().string() : soname] = linked_.back().get();
      else
        interpreters_.insert(linked.dynamic.interpreter);
    }
    return {};
  }

  // What one program loads, or one library on behalf of an unknown program, which finds everything that the
  // programs here have loaded.
  Result<void> add_loading(const Library& start) {
    loader::Start what{{&start}, own_, served_, true};
    if (const auto linked = own_files_.find(&start); linked != own_files_.end())
      XAAS_CHECK(add_libraries(*linked->second, what.given));
    XAAS_TRY(const loader::Loading loading, loader_.load(what));
    for (const auto& object : loading.objects)
      reached_.insert(object->library);
    for (const loader::Missing& missing : loading.missing)
      if (!start.dynamic.interpreter.empty() || !loaded_.contains(missing.name))
        return not_there(missing);
    for (const auto& [name, object] : loading.needed) {
      loaded_.insert(name);
      if (!own_files_.contains(object->library))
        XAAS_CHECK(choose(name, *object));
    }
    return {};
  }

  // A program or library loads the libraries that its link read, wherever they lie. The libraries that the
  // application's shared libraries read are also loaded by any program that loads these.
  Result<void> add_libraries(const Linked& linked, std::map<std::string, const Library*>& given) {
    std::vector<const Linked*> pending = {&linked};
    std::set<const Linked*> seen = {&linked};
    for (size_t next = 0; next < pending.size(); ++next) {
      for (const auto& [name, path] : pending[next]->libraries) {
        XAAS_TRY(const Library* const library, loader_.read(path));
        if (!library)
          return make_error(ErrorKind::failed, path.string() + ", which " + pending[next]->path +
                                                   " needs, is not a library for " + input_.arch);
        given.emplace(name, library);
      }
      for (const std::string& name : pending[next]->dynamic.needed)
        if (const auto own = own_.find(name); own != own_.end() && own->second)
          if (const Linked* const other = own_files_.at(own->second); seen.insert(other).second)
            pending.push_back(other);
    }
    return {};
  }

  static Error not_there(const loader::Missing& missing) {
    const std::string by = missing.by->library->path;
    if (!missing.no_library.empty())
      return make_error(ErrorKind::failed, "the run-time library " + missing.name + ", which " + by +
                                               " needs, is found in " + missing.no_library +
                                               ", which is not a library");
    return make_error(ErrorKind::failed,
                      "the run-time library " + missing.name + ", which " + by +
                          (missing.by_name ? " (threads)" : "") + " needs, is not on this machine",
                      "install it, or link without it");
  }

  struct Chosen {
    const Library* library;
    std::string by; // who needs it
  };

  // The image has one library for each name.
  Result<void> choose(const std::string& name, const loader::Object& object) {
    const Library* const library = object.library;
    const std::string by = object.by ? object.by->library->path : std::string("the link");
    const std::string& soname = library->dynamic.soname;
    const std::string installed = soname.empty() || name.find('/') != std::string::npos ? name : soname;
    if (name != installed)
      aliases_.emplace(name, installed);
    const auto [known, added] = chosen_.try_emplace(installed, Chosen{library, by});
    Chosen& chosen = known->second;
    if (added || chosen.library == library || covers(*chosen.library, *library))
      return {};
    if (covers(*library, *chosen.library)) {
      chosen = {library, by};
      return {};
    }
    XAAS_TRY(const std::string one, read_file(chosen.library->path));
    XAAS_TRY(const std::string other, read_file(library->path));
    if (one == other)
      return {};
    return make_error(ErrorKind::failed,
                      chosen.by + " loads " + chosen.library->path + " and " + by + " loads " +
                          library->path + " as " + installed + ", and an image has one library for each name",
                      "link both with the same library");
  }

  // Keeps the libraries that the base image lacks.
  Result<void> leave_to_base() {
    std::vector<image::Dependent> files;
    for (const Linked& linked : input_.linked)
      files.push_back({linked.path, &linked.dynamic, linked.symbols});
    for (const Library* start : start_)
      if (!own_files_.contains(start)) {
        XAAS_TRY(const loader::Symbols symbols, loader_.symbols(*start));
        files.push_back({start->path, &start->dynamic, symbols.needed});
      }
    image::MachineLibraries closure;
    for (const auto& [name, chosen] : chosen_)
      closure.by_name[name] = chosen.library;
    XAAS_TRY(const std::string loader, loader_bytes());
    closure.loader_directories = loader::default_directories_of(loader, input_.arch);
    closure.symbols = [this](const Library& library) { return loader_.symbols(library); };
    XAAS_TRY(choice_, image::choose_libraries(*input_.base, files, interpreters_, closure, aliases_));
    std::erase_if(chosen_, [&](const auto& each) { return !choice_->brought.contains(each.first); });
    closure_.base_libraries.assign(choice_->taken.begin(), choice_->taken.end());
    for (auto file = files_.begin(); choice_->c_library && file != files_.end();) {
      XAAS_TRY(const bool of_base, image::has_part(*input_.base, file->first));
      file = of_base ? files_.erase(file) : std::next(file);
    }
    return {};
  }

  // Libraries of a host, such as its GPU driver's and its MPI, need parts of the C library that the
  // application itself does not. A base image has parts of its own, which fit only its own C library.
  Result<void> complete_c_library() {
    const auto libc = chosen_.find("libc.so.6");
    if (libc == chosen_.end())
      return {};
    const fs::path directory = fs::path(libc->second.library->path).parent_path();
    for (const loader::CLibraryPart& part : loader::c_library_parts) {
      loader::Found of_base;
      if (input_.base) {
        XAAS_TRY(of_base, input_.base->find(std::string(part.name)));
      }
      if (!part.in_every_image && !of_base.library)
        continue;
      XAAS_TRY(const Library* const library, loader_.read(directory / part.name));
      if (!library && of_base.library)
        return image::missing_part(of_base.library->path, std::string(part.name), "this machine");
      if (!library)
        continue;
      chosen_.try_emplace(std::string(part.name), Chosen{library, libc->second.by});
      if (of_base.library)
        choice_->places.try_emplace(std::string(part.name), fs::path(of_base.place).relative_path());
    }
    return {};
  }

  // The loader keeps its path, because programs name it. A library is found by its soname in a directory that
  // the loader searches by default, wherever it was here.
  Result<void> put_library(const std::string& name, const Library& library) {
    const bool replaces = choice_ && choice_->places.contains(name);
    if (replaces)
      input_.base->note_replaced(name);
    if (name.starts_with("ld-linux")) {
      libc_loader_ = library.path;
      return replaces ? add_file(library.path, "/" + choice_->places.at(name)) : Result<void>();
    }
    XAAS_TRY(const std::string content, read_file(library.path));
    const bool has_place = name.find('/') != std::string::npos;
    XAAS_CHECK(put(library.path,
                   replaces    ? fs::path(choice_->places.at(name))
                   : has_place ? fs::path(name).relative_path()
                               : library_directory() / name,
                   content, 0644));
    if (library.dynamic.imports_dlopen && !name.starts_with("libc.so"))
      closure_.loaders.insert(name);
    for (const auto& [alias, of] : aliases_)
      if (of == name)
        add_link(library_directory() / alias, name);
    return {};
  }

  Result<void> add_loaders() {
    if (choice_ && choice_->c_library)
      return {};
    for (const std::string& interpreter : interpreters_)
      XAAS_CHECK(add_file(place_of(interpreter), interpreter));
    // Libraries without a program name no path for the loader, but the C library needs it all the same.
    if (interpreters_.empty() && !libc_loader_.empty())
      XAAS_CHECK(add_file(libc_loader_, loader::loader_path(input_.arch)));
    return {};
  }

  // Debian's and Fedora's loaders search different directories by default; /usr/lib64 is used where there is
  // no multiarch directory.
  fs::path library_directory() const {
    if (choice_ && choice_->c_library)
      return choice_->directory;
    std::error_code code;
    const fs::path multiarch = "usr/lib/" + multiarch_;
    const bool is_there =
        fs::exists(on_machine("/" / multiarch / "libc.so.6"), code) ||
        fs::exists(on_machine("/lib/" + multiarch_ + "/libc.so.6"), code) || // without merged /usr
        (is_cross_build() && fs::exists("/usr/" + multiarch_ + "/lib/libc.so.6", code));
    return is_there ? multiarch : "usr/lib64";
  }

  Result<void> add_file(const fs::path& from, const fs::path& to) {
    XAAS_TRY(const std::string content, read_file(from));
    struct stat status{};
    if (stat(from.c_str(), &status) != 0)
      return errno_error(errno, "reading " + from.string());
    return put(from, to.relative_path(), content, status.st_mode & 0777);
  }

  void add_link(const fs::path& path, const std::string& destination) {
    InstalledFile file;
    file.kind = InstalledFile::Kind::symlink;
    file.path = path.relative_path().lexically_normal().string();
    file.mode = 0777;
    file.destination = destination;
    files_[file.path] = file;
  }

  // `path` is that of the image, and of the machine or the sysroot.
  Result<void> add_tree(const fs::path& path) {
    std::error_code code;
    const TreePlace above = find_in_tree(top(), path.parent_path());
    const fs::path here = above.outside / path.filename();
    if (fs::is_symlink(here, code)) {
      fs::path destination = fs::read_symlink(here, code);
      const fs::path next = (above.inside / destination).lexically_normal(); // it can be another link
      // /bin is a link to /usr/bin here, and a directory in the image.
      if (destination.is_relative() && above.inside != path.parent_path())
        destination = next.lexically_relative(path.parent_path());
      add_link(path, destination.string());
      if (const fs::file_type type = find_in_tree(top(), path).type;
          type == fs::file_type::not_found || type == fs::file_type::unknown) // nothing at its end, or a loop
        return make_error(ErrorKind::not_found, "reading " + here.string() + ": its link leads nowhere");
      return add_tree(next);
    }
    if (!fs::is_directory(here, code)) {
      XAAS_CHECK(add_file(here, path).in("run-time file of the application spec"));
      XAAS_TRY(const Library* const plugin, loader_.read(here));
      if (plugin)
        start_.push_back(plugin);
      return {};
    }
    XAAS_TRY(const std::vector<fs::path> entries, list_directory(here));
    for (const fs::path& entry : entries)
      XAAS_CHECK(add_tree(path / entry.filename()));
    return {};
  }

  Result<void> put(const fs::path& from, const fs::path& path, const std::string& content, unsigned mode) {
    InstalledFile file;
    file.path = path.lexically_normal().string();
    file.mode = mode & 0111 ? 0755 : 0644;
    XAAS_TRY(file.digest, content_.put(content));
    files_[file.path] = file;
    const auto place = closure_.places.try_emplace(file.digest, from).first;
    place->second = std::min(place->second, from);
    return {};
  }

  const ClosureInput& input_;
  const store::ContentStore& content_;
  std::optional<image::BaseChoice> choice_; // with a base image
  std::string multiarch_;                   // Debian's name for the architecture, in names of directories
  loader::Loader loader_;
  std::vector<std::unique_ptr<Library>> linked_;
  std::map<const Library*, const Linked*> own_files_;
  std::map<std::string, const Library*> own_; // the application's own libraries, by name
  std::set<const Library*> served_;           // those of `own_` that were handled already
  std::vector<const Library*> start_;
  std::set<const Library*> reached_;           // from what was started
  std::set<std::string> loaded_;               // names
  std::set<std::string> interpreters_;         // of programs; absolute paths
  std::map<std::string, Chosen> chosen_;       // by the name in the image
  std::map<std::string, std::string> aliases_; // other names that files use, and what they stand for
  fs::path libc_loader_;                       // of the C library, if there is one
  std::map<std::string, InstalledFile> files_;
  Closure closure_;
};

} // namespace

Result<Closure> gather_closure(const ClosureInput& input, const store::ContentStore& content) {
  return Gatherer(input, content).gather();
}

} // namespace xaas::build
