#include "source_closure.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/image/dpkg.h>
#include <xaas/link/dynamic.h>
#include <xaas/link/note.h>
#include <xaas/sandbox/loader.h>
#include <xaas/sandbox/tree_paths.h>
#include <xaas/system/loader.h>

#include <algorithm>
#include <sys/stat.h>

namespace xaas::deploy {

namespace {

using FileKind = link::InstalledFile::Kind;
using sandbox::Loader;

std::vector<std::string> directories_of(const fs::path& tree, const std::string& arch) {
  return tree == "/" ? system::loader_directories(arch) : sandbox::loader_directories(tree, arch);
}

// glibc's loader searches these without being told, and there is no ld.so.cache in the image.
bool is_searched_by_itself(const std::string& directory, const std::string& arch) {
  for (const std::string root : {"/lib", "/usr/lib"})
    for (const std::string& suffix : {"/" + arch + "-linux-gnu", std::string("64"), std::string()})
      if (directory == root + suffix)
        return true;
  return false;
}

class Gatherer {
public:
  Gatherer(const fs::path& tree, const std::string& arch, const std::vector<std::string>& path)
      : tree_(tree), arch_(arch), loader_(tree, arch, path, directories_of(tree, arch), tree == "/") {}

  Result<SourceClosure> run(const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                            const std::vector<std::string>& runtime) {
    std::set<std::string> own;
    for (const link::InstalledFile& file : installed)
      own.insert(fs::path(file.path).filename());
    for (const auto& [path, content] : assembly.contents)
      if (link::is_elf(content))
        XAAS_CHECK(add_needs(path, content, own));
    for (const std::string& extra : runtime)
      XAAS_CHECK(add_tree(extra, 0)); // before the closure: a plugin needs libraries, too
    XAAS_CHECK(add_closure(own));
    for (auto& [path, file] : files_)
      closure_.files.push_back(std::move(file));
    closure_.packages = image::packages_of(of_packages_, tree_);
    return std::move(closure_);
  }

private:
  Result<void> add_needs(const std::string& path, const std::string& content,
                         const std::set<std::string>& own) {
    XAAS_TRY(const link::Dynamic dynamic, link::read_dynamic_in_worker("/" + path, content));
    installed_.push_back(std::make_unique<Loader::Library>(Loader::Library{"/" + path, dynamic}));
    start_.push_back(installed_.back().get());
    if (!dynamic.interpreter.empty() && !own.contains(fs::path(dynamic.interpreter).filename()))
      XAAS_CHECK(add_file(dynamic.interpreter, "/" + path));
    return {};
  }

  Result<void> add_closure(const std::set<std::string>& own) {
    XAAS_TRY(Loader::Closure found, loader_.closure(start_, own));
    // glibc loads it by name when a thread is cancelled or ends by pthread_exit; nothing names it.
    if (found.libraries.contains("libc.so.6") && !found.libraries.contains("libgcc_s.so.1")) {
      XAAS_TRY(const Loader::Library* const threads, loader_.find("libgcc_s.so.1", nullptr));
      if (threads)
        found.libraries["libgcc_s.so.1"] = threads;
    }
    if (!found.missing.empty())
      return make_error(ErrorKind::failed,
                        found.missing.front() + ", which is neither in the toolchain nor installed",
                        "add the package that has it to the spec's `toolchain`")
          .with_output(join(found.missing, "\n"));
    for (const auto& [name, library] : found.libraries) {
      if (name.starts_with("ld-linux"))
        continue; // it has its own place, by which programs name it
      const std::string directory = fs::path(library->path).parent_path();
      // Found under the name that is needed, which in the tree may be that of a link.
      const std::string path = directory + "/" + name;
      XAAS_CHECK(put(path, sandbox::find_in_tree(tree_, library->path).outside));
      if (!is_searched_by_itself(directory, arch_))
        closure_.library_directories.insert(directory);
    }
    return {};
  }

  Result<void> add_file(const std::string& path, const std::string& needed_by) {
    const sandbox::TreePlace place = sandbox::find_in_tree(tree_, path);
    if (place.type != fs::file_type::regular)
      return make_error(ErrorKind::failed,
                        needed_by + " needs " + path + ", which the toolchain does not have");
    return put(path, place.outside);
  }

  // A file or directory that the spec names, with what links lead to.
  Result<void> add_tree(const std::string& path, int depth) {
    constexpr int deepest = 64;
    const sandbox::TreePlace place = sandbox::find_in_tree(tree_, path);
    if (depth > deepest)
      return make_error(ErrorKind::failed, path + ": directories are nested too deeply");
    if (place.type == fs::file_type::regular) {
      XAAS_TRY(const Loader::Library* const plugin, loader_.read(path));
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

  fs::path tree_;
  std::string arch_;
  Loader loader_;
  std::vector<std::unique_ptr<Loader::Library>> installed_;
  std::vector<const Loader::Library*> start_;
  std::map<std::string, link::InstalledFile> files_;
  std::map<Digest, fs::path> of_packages_;
  SourceClosure closure_;
};

} // namespace

Result<SourceClosure> close_over(const fs::path& tree, const std::string& arch,
                                 const std::vector<std::string>& path,
                                 const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                                 const std::vector<std::string>& runtime) {
  return Gatherer(tree, arch, path).run(installed, assembly, runtime);
}

} // namespace xaas::deploy
