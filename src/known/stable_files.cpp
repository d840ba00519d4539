#include <xaas/known/stable_files.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <charconv>

namespace xaas::known {

namespace {

using llvm::vfs::File;
using llvm::vfs::Status;

class StableFile : public File {
public:
  StableFile(std::unique_ptr<File> file, llvm::sys::fs::UniqueID id) : file_(std::move(file)), id_(id) {}

  llvm::ErrorOr<Status> status() override {
    llvm::ErrorOr<Status> status = file_->status();
    return status ? llvm::ErrorOr<Status>(with_id(*status, id_)) : status;
  }
  llvm::ErrorOr<std::string> getName() override { return file_->getName(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t size,
                                                               bool terminated, bool is_volatile) override {
    return file_->getBuffer(name, size, terminated, is_volatile);
  }
  std::error_code close() override { return file_->close(); }

  static Status with_id(const Status& status, llvm::sys::fs::UniqueID id) {
    return {status.getName(),
            id,
            status.getLastModificationTime(),
            status.getUser(),
            status.getGroup(),
            status.getSize(),
            status.getType(),
            status.getPermissions()};
  }

private:
  std::unique_ptr<File> file_;
  llvm::sys::fs::UniqueID id_;
};

class StableFiles : public llvm::vfs::ProxyFileSystem {
public:
  StableFiles(const session::Session& session, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
      : ProxyFileSystem(std::move(files)), session_(session) {}

  llvm::ErrorOr<Status> status(const llvm::Twine& path) override {
    llvm::ErrorOr<Status> status = ProxyFileSystem::status(path);
    return status ? llvm::ErrorOr<Status>(StableFile::with_id(*status, id_of(path))) : status;
  }

  llvm::ErrorOr<std::unique_ptr<File>> openFileForRead(const llvm::Twine& path) override {
    llvm::ErrorOr<std::unique_ptr<File>> file = ProxyFileSystem::openFileForRead(path);
    if (!file)
      return file.getError();
    return std::make_unique<StableFile>(std::move(*file), id_of(path));
  }

private:
  llvm::sys::fs::UniqueID id_of(const llvm::Twine& path) {
    llvm::SmallString<256> real;
    if (getRealPath(path, real))
      path.toVector(real);
    const auto [known, added] = ids_.try_emplace(real);
    if (added) {
      const std::string digits = digest_of(name_of(real.str().str())).hex().substr(0, 16);
      std::from_chars(digits.data(), digits.data() + digits.size(), known->second, 16);
    }
    return {0, known->second};
  }

  // Files of the system keep their paths, which are the same on every machine with that system.
  std::string name_of(const fs::path& real) const {
    const bool ours =
        std::any_of(session_.prefixes.begin(), session_.prefixes.end(),
                    [&](const auto& prefix) { return !relative_under(real, prefix.first).empty(); });
    return ours ? portable_name(session_, real) : real.string();
  }

  const session::Session& session_;
  llvm::StringMap<uint64_t> ids_; // by real path
};

} // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
with_stable_identities(const session::Session& session,
                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  return llvm::makeIntrusiveRefCnt<StableFiles>(session, std::move(files));
}

} // namespace xaas::known
