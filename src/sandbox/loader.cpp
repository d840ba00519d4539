#include <xaas/sandbox/loader.h>

#include <xaas/sandbox/tree_paths.h>

#include <xaas/base/directory.h>
#include <xaas/base/glob.h>
#include <xaas/base/text.h>
#include <xaas/link/note.h>

#include <algorithm>
#include <deque>
#include <elf.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::sandbox {

namespace {

// The bytes of a file. Libraries of an MPI are large, and little of them is read.
class Mapped {
public:
  explicit Mapped(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status{};
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<size_t>(status.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0)
      close(file);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (data_ != MAP_FAILED)
      munmap(data_, size_);
  }
  std::string_view bytes() const {
    return data_ == MAP_FAILED ? std::string_view()
                               : std::string_view(static_cast<const char*>(data_), size_);
  }

private:
  void* data_ = MAP_FAILED;
  size_t size_ = 0;
};

bool is_elf_for(std::string_view bytes, const std::string& arch) {
  if (!link::is_elf(bytes) || bytes.size() < sizeof(Elf64_Ehdr) || bytes[EI_CLASS] != ELFCLASS64 ||
      bytes[EI_DATA] != ELFDATA2LSB)
    return false;
  const int machine = static_cast<unsigned char>(bytes[offsetof(Elf64_Ehdr, e_machine)]) |
                      static_cast<unsigned char>(bytes[offsetof(Elf64_Ehdr, e_machine) + 1]) << 8;
  return machine == (arch == "aarch64" ? EM_AARCH64 : EM_X86_64);
}

std::string expanded(std::string directory, const std::string& origin, const std::string& arch) {
  const std::pair<std::string, std::string> variables[] = {
      {"ORIGIN", origin}, {"LIB", "lib/" + arch + "-linux-gnu"}, {"PLATFORM", arch}};
  for (const auto& [name, value] : variables)
    for (const std::string& form : {"${" + name + "}", "$" + name})
      for (size_t at = 0; (at = directory.find(form, at)) != std::string::npos; at += value.size())
        directory.replace(at, form.size(), value);
  return directory;
}

// ldconfig(8): directories, and `include` with patterns of file names.
void add_configured(const fs::path& tree, const std::string& file, std::vector<std::string>& directories,
                    int depth) {
  constexpr int deepest = 4;
  const TreePlace place = find_in_tree(tree, file);
  const Result<std::string> text = read_file(place.outside, uint64_t(1) << 20);
  if (place.type != fs::file_type::regular || !text || depth > deepest)
    return;
  for (const std::string& raw : split(*text, '\n')) {
    const std::string line = trim(raw.substr(0, raw.find('#')));
    if (line.starts_with("include ")) {
      const fs::path pattern = fs::path(place.inside).parent_path() / trim(line.substr(8));
      std::vector<std::string> included;
      // As for the loader, a directory that cannot be read has no such files.
      const auto entries = list_directory(find_in_tree(tree, pattern.parent_path()).outside);
      for (const fs::path& entry : entries ? *entries : std::vector<fs::path>())
        if (glob_match(pattern.filename().string(), entry.filename().string()))
          included.push_back(pattern.parent_path() / entry.filename());
      for (const std::string& each : included)
        add_configured(tree, each, directories, depth + 1);
    } else if (line.starts_with("/")) {
      directories.push_back(line);
    }
  }
}

} // namespace

std::vector<std::string> loader_directories(const fs::path& tree, const std::string& arch) {
  std::vector<std::string> directories;
  add_configured(tree, "/etc/ld.so.conf", directories, 0);
  for (const std::string root : {"/lib", "/usr/lib"})
    for (const std::string& suffix : {"/" + arch + "-linux-gnu", std::string("64"), std::string()})
      directories.push_back(root + suffix);
  return directories;
}

Loader::Loader(fs::path root, std::string arch, std::vector<std::string> path,
               std::vector<std::string> defaults, bool trusted)
    : root_(std::move(root)), arch_(std::move(arch)), path_(std::move(path)), defaults_(std::move(defaults)),
      trusted_(trusted) {}

Result<const Loader::Library*> Loader::read(const std::string& path) {
  const TreePlace place = find_in_tree(root_, path);
  const auto [found, fresh] = read_.try_emplace(place.inside);
  if (!fresh || place.type != fs::file_type::regular)
    return found->second.get();
  const Mapped file(place.outside);
  if (!is_elf_for(file.bytes(), arch_))
    return found->second.get();
  Result<link::Dynamic> dynamic =
      trusted_ ? link::read_dynamic(file.bytes()) : link::read_dynamic_in_worker(place.inside, file.bytes());
  if (!dynamic)
    return std::move(dynamic).error().in(place.outside.string());
  found->second = std::make_unique<Library>(Library{place.inside, *std::move(dynamic)});
  return found->second.get();
}

Result<link::Symbols> Loader::symbols(const Library& library) const {
  const Mapped file(find_in_tree(root_, library.path).outside);
  Result<link::Symbols> symbols =
      trusted_ ? link::read_symbols(file.bytes()) : link::read_symbols_in_worker(library.path, file.bytes());
  return symbols ? std::move(symbols) : std::move(symbols).error().in(library.path);
}

Result<const Loader::Library*> Loader::find(const std::string& name, const Library* by) {
  if (name.find('/') != std::string::npos)
    return read(name);
  std::vector<std::string> places;
  const auto add_own = [&] {
    for (const std::string& entry : by->dynamic.runpath)
      places.push_back(expanded(entry, fs::path(by->path).parent_path(), arch_));
  };
  if (by && by->dynamic.rpath_is_first)
    add_own();
  places.insert(places.end(), path_.begin(), path_.end());
  if (by && !by->dynamic.rpath_is_first)
    add_own();
  places.insert(places.end(), defaults_.begin(), defaults_.end());
  for (const std::string& place : places) {
    if (!place.starts_with("/"))
      continue;
    XAAS_TRY(const Library* const library, read(place + "/" + name));
    if (library)
      return library;
  }
  return static_cast<const Library*>(nullptr);
}

Result<Loader::Closure> Loader::closure(const std::vector<const Library*>& start,
                                        const std::set<std::string>& without) {
  Closure closure;
  std::deque<const Library*> pending(start.begin(), start.end());
  while (!pending.empty()) {
    const Library* const by = pending.front();
    pending.pop_front();
    for (const std::string& name : by->dynamic.needed) {
      if (without.count(name) || closure.libraries.count(name))
        continue;
      XAAS_TRY(const Library* const library, find(name, by));
      if (!library) {
        closure.missing.push_back(by->path + " needs " + name);
        continue;
      }
      closure.libraries[name] = library;
      pending.push_back(library);
    }
  }
  return closure;
}

} // namespace xaas::sandbox
