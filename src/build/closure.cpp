#include "closure.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/link/dynamic.h>
#include <xaas/link/note.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <deque>
#include <map>
#include <sys/stat.h>

namespace xaas::build {

namespace {

using link::InstalledFile;

// Directories of /etc/ld.so.conf and what it includes, in order (ld.so(8)).
void add_configured(const fs::path& file, std::vector<fs::path>& directories, int depth = 0) {
  const Result<std::string> text = read_file(file);
  if (!text || depth > 4)
    return;
  for (const std::string& raw : split(*text, '\n')) {
    const std::string line = trim(raw.substr(0, raw.find('#')));
    if (line.starts_with("include ")) {
      const fs::path pattern = file.parent_path() / trim(line.substr(8));
      // As for the loader, a directory that cannot be read has no such files.
      const auto entries = list_directory(pattern.parent_path());
      for (const fs::path& each : entries ? *entries : std::vector<fs::path>())
        if (each.extension() == pattern.extension())
          add_configured(each, directories, depth + 1);
    } else if (line.starts_with("/")) {
      directories.push_back(line);
    }
  }
}

class Gatherer {
public:
  Gatherer(const ClosureInput& input, const store::ContentStore& content)
      : input_(input), content_(content), multiarch_(input.arch + "-linux-gnu") {}

  Result<Closure> gather() {
    for (const fs::path& library : input_.libraries)
      search_.push_back(library.parent_path());
    if (is_cross_build()) {
      for (const std::string& directory :
           {"/usr/" + multiarch_ + "/lib", "/lib/" + multiarch_, "/usr/lib/" + multiarch_})
        search_.emplace_back(directory);
    } else {
      add_configured("/etc/ld.so.conf", search_);
      for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
        search_.emplace_back(directory);
    }
    for (const fs::path& library : input_.libraries)
      XAAS_CHECK(add_library(library, library.filename().string(), "the link kit"));
    for (const auto& [name, needed_by] : input_.needed)
      pending_.emplace_back(name, needed_by);
    for (const std::string& extra : input_.extras)
      XAAS_CHECK(add_tree(extra));
    while (!pending_.empty()) {
      const auto [name, needed_by] = pending_.front();
      pending_.pop_front();
      XAAS_CHECK(find_library(name, needed_by));
    }
    for (const std::string& interpreter : input_.interpreters)
      XAAS_CHECK(add_file(place_of(interpreter), interpreter));
    // Libraries without a program name no place of it; the C library needs it all the same.
    if (input_.interpreters.empty() && !loader_.empty())
      XAAS_CHECK(add_file(loader_, usual_loader()));
    for (auto& [path, file] : files_)
      closure_.files.push_back(std::move(file));
    return std::move(closure_);
  }

private:
  bool is_cross_build() const { return input_.arch != target::host_arch(); }

  // Where a program interpreter of the application's architecture lies here.
  fs::path place_of(const fs::path& interpreter) const {
    std::error_code code;
    const fs::path beside = fs::path("/usr/" + multiarch_ + "/lib") / interpreter.filename();
    return is_cross_build() && fs::exists(beside, code) ? beside : interpreter;
  }

  // Where the psABI of the architecture puts the loader.
  fs::path usual_loader() const {
    return input_.arch == "x86_64" ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-" + input_.arch + ".so.1";
  }

  Result<void> find_library(const std::string& name, const std::string& needed_by) {
    if (done_.count(name))
      return {};
    for (const fs::path& directory : search_) {
      const fs::path candidate = directory / name;
      std::error_code code;
      if (fs::is_regular_file(candidate, code))
        return add_library(candidate, name, needed_by);
    }
    return make_error(ErrorKind::failed,
                      "the run-time library " + name + ", which " + needed_by +
                          " needs, is not on this machine",
                      "install it, or link without it");
  }

  Result<void> add_library(const fs::path& path, const std::string& name, const std::string& needed_by) {
    XAAS_TRY(const std::string content, read_file(path));
    if (!link::is_elf(content))
      return make_error(ErrorKind::failed,
                        path.string() + ", which " + needed_by + " needs, is not an ELF file");
    XAAS_TRY(const link::Dynamic dynamic, link::read_dynamic(content).in(path.string()));
    const std::string installed = dynamic.soname.empty() ? name : dynamic.soname;
    if (!done_.insert(installed).second)
      return {};
    done_.insert(name);
    // The loader has its own place, by which programs name it; a library is found by its soname in the
    // directory that the loader searches by itself, wherever it lay here.
    if (installed.starts_with("ld-linux")) {
      loader_ = path;
      return {};
    }
    XAAS_CHECK(put(path, library_directory() / installed, content, 0644));
    if (dynamic.imports_dlopen && !installed.starts_with("libc.so"))
      closure_.loaders.insert(installed);
    for (const std::string& needed : dynamic.needed)
      pending_.emplace_back(needed, installed);
    // glibc loads it by name when a thread is cancelled or ends by pthread_exit; nothing names it.
    if (installed == "libc.so.6")
      pending_.emplace_back("libgcc_s.so.1", "libc.so.6 (threads)");
    return {};
  }

  // Debian's and Fedora's loaders search different directories by themselves; /usr/lib64 where there is no
  // multiarch one.
  fs::path library_directory() const {
    std::error_code code;
    const fs::path multiarch = "usr/lib/" + multiarch_;
    const bool is_there = fs::exists(fs::path("/") / multiarch / "libc.so.6", code) ||
                          fs::exists("/usr/" + multiarch_ + "/lib/libc.so.6", code);
    return is_there ? multiarch : "usr/lib64";
  }

  Result<void> add_file(const fs::path& from, const fs::path& to) {
    XAAS_TRY(const std::string content, read_file(from));
    struct stat status{};
    if (stat(from.c_str(), &status) != 0)
      return errno_error(errno, "reading " + from.string());
    if (link::is_elf(content)) {
      XAAS_TRY(const link::Dynamic dynamic, link::read_dynamic(content).in(from.string()));
      for (const std::string& needed : dynamic.needed)
        pending_.emplace_back(needed, from.string());
    }
    return put(from, to.relative_path(), content, status.st_mode & 0777);
  }

  Result<void> add_tree(const fs::path& path) {
    std::error_code code;
    if (fs::is_symlink(path, code)) {
      InstalledFile file;
      file.kind = InstalledFile::Kind::symlink;
      file.path = path.relative_path().lexically_normal().string();
      file.mode = 0777;
      file.destination = fs::read_symlink(path, code).string();
      files_[file.path] = file;
      const fs::path destination = fs::weakly_canonical(path, code);
      return code ? errno_error(code.value(), "reading " + path.string()) : add_tree(destination);
    }
    if (!fs::is_directory(path, code))
      return add_file(path, path).in("run-time file of the application spec");
    auto entry = fs::directory_iterator(path, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code))
      XAAS_CHECK(add_tree(entry->path()));
    if (code)
      return errno_error(code.value(), "reading " + path.string());
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
  std::string multiarch_; // Debian's name of the architecture, of directories
  std::vector<fs::path> search_;
  fs::path loader_; // of the C library, if one was met
  std::deque<std::pair<std::string, std::string>> pending_;
  std::set<std::string> done_;
  std::map<std::string, InstalledFile> files_;
  Closure closure_;
};

} // namespace

Result<Closure> gather_closure(const ClosureInput& input, const store::ContentStore& content) {
  return Gatherer(input, content).gather();
}

} // namespace xaas::build
