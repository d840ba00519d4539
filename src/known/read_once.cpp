#include <xaas/known/read_once.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <memory>

namespace xaas::known {

namespace {

using llvm::vfs::Status;

// The content and status of a file or a pipe, owned by the file system.
struct Kept {
  Status status;
  std::unique_ptr<llvm::MemoryBuffer> content;
};

class KeptFile : public llvm::vfs::File {
public:
  explicit KeptFile(const Kept& kept) : kept_(kept) {}

  llvm::ErrorOr<Status> status() override { return kept_.status; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t, bool,
                                                               bool) override {
    llvm::SmallString<256> storage;
    return llvm::MemoryBuffer::getMemBuffer(kept_.content->getBuffer(), name.toStringRef(storage));
  }
  std::error_code close() override { return {}; }

private:
  const Kept& kept_;
};

class ReadOnce : public llvm::vfs::ProxyFileSystem {
public:
  ReadOnce() : ProxyFileSystem(llvm::vfs::createPhysicalFileSystem()) {}

  llvm::ErrorOr<Status> status(const llvm::Twine& path) override {
    llvm::SmallString<256> storage;
    const llvm::StringRef name = path.toStringRef(storage);
    if (const auto kept = files_.find(name); kept != files_.end())
      return kept->second->status;
    const auto [known, added] = status_.try_emplace(name, std::errc::no_such_file_or_directory);
    if (added)
      known->second = ProxyFileSystem::status(name);
    return known->second;
  }

  bool exists(const llvm::Twine& path) override {
    const llvm::ErrorOr<Status> known = status(path);
    return known && known->exists();
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    llvm::SmallString<256> storage;
    const llvm::StringRef name = path.toStringRef(storage);
    if (const auto kept = files_.find(name); kept != files_.end())
      return std::make_unique<KeptFile>(*kept->second);
    if (const auto known = status_.find(name); known != status_.end() && !known->second)
      return known->second.getError();
    auto file = ProxyFileSystem::openFileForRead(name);
    if (!file) {
      status_.try_emplace(name, file.getError());
      return file;
    }
    const llvm::ErrorOr<Status> status = (*file)->status();
    if (!status)
      return status.getError();
    if (status->isDirectory())
      return file;
    // A pipe has no size before its end.
    constexpr bool terminated = true, copied = true;
    const int64_t size = status->isRegularFile() ? static_cast<int64_t>(status->getSize()) : -1;
    auto content = (*file)->getBuffer(name, size, terminated, copied);
    if (!content)
      return content.getError();
    auto kept = std::make_unique<Kept>(
        Kept{Status::copyWithNewSize(*status, (*content)->getBufferSize()), std::move(*content)});
    return std::make_unique<KeptFile>(*files_.try_emplace(name, std::move(kept)).first->second);
  }

private:
  llvm::StringMap<std::unique_ptr<Kept>> files_; // by the path as requested
  llvm::StringMap<llvm::ErrorOr<Status>> status_;
};

} // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_read_once() {
  return llvm::makeIntrusiveRefCnt<ReadOnce>();
}

} // namespace xaas::known
