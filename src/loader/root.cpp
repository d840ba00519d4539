#include <xaas/loader/root.h>

#include <xaas/base/tree_path.h>

#include <llvm/BinaryFormat/ELF.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::loader {

namespace {

// The bytes of a file, mapped because MPI libraries are large and little of them is read.
class Mapped {
public:
  explicit Mapped(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status{};
    is_open_ = file >= 0;
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
  bool is_open() const { return is_open_; }
  std::string_view bytes() const {
    return data_ == MAP_FAILED ? std::string_view()
                               : std::string_view(static_cast<const char*>(data_), size_);
  }

private:
  bool is_open_ = false;
  void* data_ = MAP_FAILED;
  size_t size_ = 0;
};

Candidate::Kind kind_of(const Mapped& file, const std::string& arch) {
  const std::string_view bytes = file.bytes();
  if (!file.is_open())
    return Candidate::Kind::none;
  if (!is_elf(bytes))
    return Candidate::Kind::no_library;
  if (!is_elf_for(bytes, arch))
    return Candidate::Kind::other_machine;
  const unsigned char type = static_cast<unsigned char>(bytes[offsetof(llvm::ELF::Elf64_Ehdr, e_type)]);
  return type == llvm::ELF::ET_DYN || type == llvm::ELF::ET_EXEC ? Candidate::Kind::library
                                                                 : Candidate::Kind::no_library;
}

} // namespace

Result<Candidate> DirectoryRoot::look(const std::string& path) {
  if (sysroot_.directory.empty() || !relative_under(path, sysroot_.directory).empty() ||
      sysroot_.others.contains(fs::path(path).parent_path()))
    return look_in_root(path);
  return look_in_root(find_in_tree(sysroot_.directory, path).outside);
}

Result<Candidate> DirectoryRoot::look_in_root(const std::string& path) {
  const TreePlace place = find_in_tree(root_, path);
  const auto [found, fresh] = entries_.try_emplace(place.inside);
  Entry& entry = found->second;
  if (fresh && place.type == fs::file_type::regular) {
    const Mapped file(place.outside);
    entry.kind = kind_of(file, arch_);
    if (entry.kind == Candidate::Kind::library) {
      Result<Dynamic> dynamic =
          trusted_ ? read_dynamic(file.bytes()) : read_dynamic_in_worker(place.inside, file.bytes());
      if (!dynamic) {
        entries_.erase(found);
        return std::move(dynamic).error().in(place.outside.string());
      }
      entry.library = std::make_unique<Library>(Library{place.inside, *std::move(dynamic)});
    }
  }
  return Candidate{entry.kind, entry.library.get()};
}

Result<const Library*> DirectoryRoot::read(const std::string& path) {
  XAAS_TRY(const Candidate candidate, look_in_root(path));
  return candidate.library;
}

Result<Symbols> DirectoryRoot::symbols(const Library& library) const {
  const Mapped file(find_in_tree(root_, library.path).outside);
  Result<Symbols> symbols =
      trusted_ ? read_symbols(file.bytes()) : read_symbols_in_worker(library.path, file.bytes());
  return symbols ? std::move(symbols) : std::move(symbols).error().in(library.path);
}

} // namespace xaas::loader
