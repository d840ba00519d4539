// What a run of the preprocessor asks the file system, and the answers.
#pragma once

#include "definitions.h"

#include <xaas/base/digest.h>
#include <xaas/session/session.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::known {

// Numbers for files. Two paths of one file (symbolic and hard links) matter for `#pragma once`, #import and
// the order of directories.
class FileNumbers {
public:
  // The answer as far as the preprocessor can tell: its error; or its type, which earlier file it is, and the
  // size of a regular one, which only `__has_embed` looks at.
  std::string describe(const llvm::ErrorOr<llvm::vfs::Status>& status, bool with_size = true);

private:
  std::map<llvm::sys::fs::UniqueID, size_t> numbers_;
};

struct FileAnswer {
  std::string path;              // as asked
  std::string status;            // FileNumbers
  std::optional<Digest> content; // of a file that was read
  // If there are any: `content` is the digest without the lines that define these, and `status` has no size.
  std::set<std::string> unread;
};

std::string without_size(const std::string& status);

// The same files. They must not change while they are recorded (files_read_once()).
class RecordedFiles : public llvm::vfs::ProxyFileSystem {
public:
  RecordedFiles(const session::Session& session, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override;
  bool exists(const llvm::Twine& path) override;
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override;
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& path, std::error_code& code) override;
  std::error_code getRealPath(const llvm::Twine& path, llvm::SmallVectorImpl<char>& real) override;
  std::error_code setCurrentWorkingDirectory(const llvm::Twine& path) override;

  // Later questions are not recorded.
  void stop() { recording_ = false; }
  // In the order of the first question for each path.
  const std::vector<FileAnswer>& answers() const { return answers_; }
  // False if the run asked more than answers() can show, or if a file contains the path of a directory of the
  // build: the same content does not mean the same directory in another build.
  bool complete() const { return complete_; }
  // By path; files in directories of the build.
  const std::map<std::string, DefinitionFile>& definitions() const { return definitions_; }

private:
  FileAnswer* note(llvm::StringRef path, const llvm::ErrorOr<llvm::vfs::Status>& status);

  std::vector<std::string> places_; // directories of the build
  bool recording_ = true, complete_ = true;
  FileNumbers numbers_;
  std::vector<FileAnswer> answers_;
  llvm::StringMap<size_t> by_path_; // in answers_
  std::map<std::string, DefinitionFile> definitions_;
};

// Asks again. Remembers digests, because several records ask for the same files.
class FileCheck {
public:
  explicit FileCheck(llvm::vfs::FileSystem& files) : files_(files) {}
  // The next answers are those of another record.
  void start() { numbers_ = FileNumbers(); }
  bool is_same(const FileAnswer& answer);

private:
  llvm::vfs::FileSystem& files_;
  FileNumbers numbers_;
  llvm::StringMap<std::optional<Digest>> contents_;
  llvm::StringMap<std::optional<DefinitionFile>> definitions_;
};

} // namespace xaas::known
