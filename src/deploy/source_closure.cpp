#include "source_closure.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/image/base_libraries.h>
#include <xaas/image/dpkg.h>
#include <xaas/link/note.h>
#include <xaas/loader/c_library.h>
#include <xaas/loader/loading.h>

#include <algorithm>
#include <sys/stat.h>

namespace xaas::deploy {

namespace {

using FileKind = link::InstalledFile::Kind;
using loader::Library;

// The image has no ld.so.cache: glibc's loader finds libraries in these directories by default, and in those
// that a file's own RPATH names.
bool is_found_again(const loader::Object& object, const std::string& directory, const std::string& arch) {
  const std::vector<std::string> defaults = loader::default_directories(arch);
  if (std::find(defaults.begin(), defaults.end(), directory) != defaults.end())
    return true;
  return (object.way == loader::Way::rpath || object.way == loader::Way::runpath) &&
         fs::path(object.place).parent_path().lexically_normal() == fs::path(directory);
}

class Gatherer {
public:
  Gatherer(const fs::path& tree, const std::string& arch, const std::vector<std::string>& path,
           image::BaseImage* base)
      : tree_(tree), arch_(arch), base_(base), loader_(tree, arch, path, tree == "/") {}

  Result<SourceClosure> run(const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                            const std::vector<std::string>& runtime) {
    for (const auto& [path, content] : assembly.contents)
      if (loader::is_elf_for(content, arch_)) // code for another machine counts as data
        XAAS_CHECK(add_installed(path, content));
    name_installed(installed);
    for (const std::string& extra : runtime)
      XAAS_CHECK(add_tree(extra, 0)); // before the closure, because a plugin needs libraries, too
    for (const bool programs : {true, false})
      for (const Library* start : start_)
        if (programs != start->dynamic.interpreter.empty() && !reached_.contains(start))
          XAAS_CHECK(add_closure(*start));
    XAAS_CHECK(check_missing());
    if (base_)
      XAAS_CHECK(leave_to_base());
    XAAS_CHECK(put_libraries());
    XAAS_CHECK(complete_c_library());
    for (auto& [path, file] : files_)
      closure_.files.push_back(std::move(file));
    if (base_)
      XAAS_CHECK(place_on_base());
    closure_.packages = image::packages_of(of_packages_, tree_);
    return std::move(closure_);
  }

private:
  Result<void> add_installed(const std::string& path, const std::string& content) {
    XAAS_TRY(loader::Dynamic dynamic, loader::read_dynamic_in_worker("/" + path, content));
    const auto& library = installed_["/" + path] =
        std::make_unique<Library>(Library{"/" + path, std::move(dynamic)});
    contents_["/" + path] = &content;
    start_.push_back(library.get());
    served_.insert(library.get());
    return {};
  }

  // An installed library serves other installed files that need it by name; the image finds it wherever it is
  // installed.
  void name_installed(const std::vector<link::InstalledFile>& installed) {
    for (const link::InstalledFile& file : installed) {
      const fs::path path = "/" + file.path;
      const fs::path real =
          file.kind == FileKind::symlink ? (path.parent_path() / file.destination).lexically_normal() : path;
      const auto found = installed_.find(real);
      own_.emplace(path.filename(), found == installed_.end() ? nullptr : found->second.get());
    }
  }

  // What one program loads, or one library on behalf of an unknown program, which finds everything that the
  // programs here have loaded.
  Result<void> add_closure(const Library& start) {
    const std::string& interpreter = start.dynamic.interpreter;
    if (!interpreter.empty() && !own_.contains(fs::path(interpreter).filename())) {
      interpreters_.emplace(interpreter, start.path);
      if (!base_)
        XAAS_CHECK(add_file(interpreter, start.path)); // first: it is the better error
    }
    XAAS_TRY(const loader::Loading loading, loader_.load({{&start}, own_, served_, true}));
    for (const auto& object : loading.objects)
      reached_.insert(object->library);
    for (const loader::Missing& missing : loading.missing)
      if (!missing.by_name && (!interpreter.empty() || !loaded_.contains(missing.name)))
        missing_.insert(to_string(missing));
    for (const auto& [name, object] : loading.needed) {
      loaded_.insert(name);
      const Library& library = *object->library;
      const auto own = installed_.find(library.path);
      if (name.starts_with("ld-linux") || (own != installed_.end() && own->second.get() == &library))
        continue; // the loader keeps its path, because programs name it
      const std::string directory = fs::path(library.path).parent_path();
      chosen_.try_emplace(name, Chosen{&library, directory, is_found_again(*object, directory, arch_)});
    }
    return {};
  }

  // Keeps the libraries that the base image lacks.
  Result<void> leave_to_base() {
    std::vector<image::Dependent> files;
    for (const auto& [path, library] : installed_) {
      XAAS_TRY(const loader::Symbols symbols, loader::read_symbols_in_worker(path, *contents_.at(path)));
      files.push_back({path, &library->dynamic, symbols.needed});
    }
    for (const Library* start : start_)
      if (!served_.contains(start)) {
        XAAS_TRY(const loader::Symbols symbols, loader_.symbols(*start));
        files.push_back({start->path, &start->dynamic, symbols.needed});
      }
    image::MachineLibraries closure;
    for (const auto& [name, chosen] : chosen_)
      closure.by_name[name] = chosen.library;
    const TreePlace loader = find_in_tree(tree_, interpreters_.empty() ? "" : interpreters_.begin()->first);
    XAAS_TRY(const std::string bytes, loader.type == fs::file_type::regular
                                          ? read_file(loader.outside)
                                          : Result<std::string>(std::string()));
    closure.loader_directories = loader::default_directories_of(bytes, arch_);
    closure.symbols = [this](const Library& library) { return loader_.symbols(library); };
    std::set<std::string> interpreters;
    for (const auto& [interpreter, by] : interpreters_)
      interpreters.insert(interpreter);
    XAAS_TRY(choice_, image::choose_libraries(*base_, files, interpreters, closure, {}));
    std::erase_if(chosen_, [&](const auto& each) { return !choice_->brought.contains(each.first); });
    closure_.base_libraries.assign(choice_->taken.begin(), choice_->taken.end());
    for (auto file = files_.begin(); choice_->c_library && file != files_.end();) {
      XAAS_TRY(const bool of_base, image::has_part(*base_, file->first));
      file = of_base ? files_.erase(file) : std::next(file);
    }
    return {};
  }

  Result<void> put_libraries() {
    const bool own_c_library = !choice_ || !choice_->c_library;
    if (base_ && own_c_library)
      for (const auto& [interpreter, by] : interpreters_)
        XAAS_CHECK(add_file(interpreter, by));
    for (const auto& [name, chosen] : chosen_) {
      if (name == "libc.so.6")
        libc_directory_ = chosen.directory;
      // Found under the needed name, which may be a link in the tree.
      const std::string file_name = fs::path(name).filename();
      std::string path = chosen.directory + "/" + file_name;
      bool found = chosen.found_again;
      if (choice_ && choice_->places.contains(name)) {
        path = "/" + choice_->places.at(name);
        base_->note_replaced(name);
        found = true;
      } else if (choice_ && choice_->c_library && found) {
        path = "/" + choice_->directory + "/" + file_name; // the base's loader searches others by default
      }
      XAAS_CHECK(put(path, find_in_tree(tree_, chosen.library->path).outside));
      if (!found)
        closure_.library_directories.insert(chosen.directory);
    }
    return {};
  }

  // The paths of the base.
  Result<void> place_on_base() {
    XAAS_TRY(const auto paths, base_->place_files(closure_.files));
    std::map<std::string, fs::path> places;
    for (const auto& [path, placed] : paths)
      places[placed] = closure_.places.at(path);
    closure_.places = std::move(places);
    return {};
  }

  // Libraries of a host, such as its GPU driver's and its MPI, need parts of the C library that the
  // application itself does not.
  Result<void> complete_c_library() {
    if (libc_directory_.empty())
      return {};
    for (const loader::CLibraryPart& part : loader::c_library_parts) {
      const std::string path = (libc_directory_ / part.name).string();
      const TreePlace place = find_in_tree(tree_, path);
      loader::Found of_base;
      if (base_) {
        XAAS_TRY(of_base, base_->find(std::string(part.name)));
      }
      if (of_base.library && place.type != fs::file_type::regular)
        return image::missing_part(of_base.library->path, std::string(part.name), "the toolchain");
      if (of_base.library)
        XAAS_CHECK(put(of_base.place, place.outside));
      else if (part.in_every_image && place.type == fs::file_type::regular)
        XAAS_CHECK(put(path, place.outside));
    }
    return {};
  }

  Result<void> check_missing() const {
    if (missing_.empty())
      return {};
    return make_error(ErrorKind::failed,
                      *missing_.begin() + ", which is neither in the toolchain nor installed",
                      "add the package that has it to the spec's `toolchain`")
        .with_output(join({missing_.begin(), missing_.end()}, "\n"));
  }

  Result<void> add_file(const std::string& path, const std::string& needed_by) {
    const TreePlace place = find_in_tree(tree_, path);
    if (place.type != fs::file_type::regular)
      return make_error(ErrorKind::failed,
                        needed_by + " needs " + path + ", which the toolchain does not have");
    return put(path, place.outside);
  }

  // Adds a file or directory that the spec names, and the targets of links.
  Result<void> add_tree(const std::string& path, int depth) {
    constexpr int deepest = 64;
    const TreePlace place = find_in_tree(tree_, path);
    if (depth > deepest)
      return make_error(ErrorKind::failed, path + ": directories are nested too deeply");
    if (place.type == fs::file_type::regular) {
      XAAS_TRY(const Library* const plugin, loader_.read(path));
      if (plugin)
        start_.push_back(plugin);
      return put(path, place.outside);
    }
    if (place.type != fs::file_type::directory)
      return make_error(ErrorKind::failed,
                        path + ", which the spec names in `runtime`, is not in the toolchain");
    XAAS_TRY(const std::vector<fs::path> entries, list_directory(place.outside));
    for (const fs::path& entry : entries)
      XAAS_CHECK(add_tree(path + "/" + entry.filename().string(), depth + 1));
    return {};
  }

  Result<void> put(const std::string& path, const fs::path& from) {
    link::InstalledFile file;
    file.path = fs::path(path).relative_path().lexically_normal();
    if (const auto known = closure_.places.find(file.path);
        known != closure_.places.end() && known->second == from)
      return {};
    struct stat status{};
    if (stat(from.c_str(), &status) != 0)
      return errno_error(errno, "reading " + from.string());
    file.mode = status.st_mode & 0111 ? 0755 : 0644;
    XAAS_TRY(const std::string content, read_file(from));
    file.digest = digest_of(content);
    file.native = link::is_elf(content);
    of_packages_.emplace(file.digest, "/" + relative_under(from, tree_).string());
    closure_.places[file.path] = from;
    files_[file.path] = std::move(file);
    return {};
  }

  struct Chosen {
    const Library* library;
    std::string directory;
    bool found_again; // by the loader of the image, in this directory
  };

  fs::path tree_;
  std::string arch_;
  image::BaseImage* base_;
  loader::Loader loader_;
  std::map<std::string, std::unique_ptr<Library>> installed_; // by path
  std::map<std::string, const Library*> own_;                 // by name
  std::map<std::string, const std::string*> contents_;        // of the installed ones
  std::vector<const Library*> start_;
  std::map<std::string, std::string> interpreters_; // with a program that names it
  std::map<std::string, Chosen> chosen_;            // by the name that files need
  std::optional<image::BaseChoice> choice_;         // with a base image
  std::set<const Library*> served_;                 // the installed ones that were handled already
  std::set<const Library*> reached_;                // from what was started
  std::set<std::string> loaded_;                    // names
  std::set<std::string> missing_;                   // for messages
  fs::path libc_directory_;                         // in the tree
  std::map<std::string, link::InstalledFile> files_;
  std::map<Digest, fs::path> of_packages_;
  SourceClosure closure_;
};

} // namespace

Result<SourceClosure> close_over(const fs::path& tree, const std::string& arch,
                                 const std::vector<std::string>& path,
                                 const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                                 const std::vector<std::string>& runtime, image::BaseImage* base) {
  return Gatherer(tree, arch, path, base).run(installed, assembly, runtime);
}

} // namespace xaas::deploy
