#include "recorded_files.h"

#include <xaas/base/text.h>

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace xaas::known {

using llvm::vfs::File;
using llvm::vfs::Status;

namespace {

std::optional<std::string_view> content_of(File& file, llvm::StringRef path,
                                           std::unique_ptr<llvm::MemoryBuffer>& buffer) {
  auto read = file.getBuffer(path);
  if (!read)
    return std::nullopt;
  buffer = std::move(*read);
  return std::string_view(buffer->getBuffer());
}

// True if the text contains the absolute path, and not as the end of another one (`x/src` for `/src`).
bool contains_path(std::string_view text, const std::string& path) {
  for (size_t at = text.find(path); at != std::string_view::npos; at = text.find(path, at + 1))
    if (at == 0 || !(is_word_character(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '/'))
      return true;
  return false;
}

} // namespace

constexpr std::string_view size_follows = "-size-";

std::string FileNumbers::describe(const llvm::ErrorOr<Status>& status, bool with_size) {
  if (!status)
    return "error-" + std::to_string(status.getError().value());
  const auto [known, added] = numbers_.try_emplace(status->getUniqueID(), numbers_.size());
  std::string text =
      "type-" + std::to_string(static_cast<int>(status->getType())) + "-" + std::to_string(known->second);
  if (with_size && status->isRegularFile())
    text.append(size_follows) += std::to_string(status->getSize());
  return text;
}

std::string without_size(const std::string& status) {
  return status.substr(0, status.find(size_follows));
}

RecordedFiles::RecordedFiles(const session::Session& session,
                             llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
    : ProxyFileSystem(std::move(files)) {
  for (const auto& [place, name] : session.prefixes)
    places_.push_back(place.string());
}

llvm::ErrorOr<Status> RecordedFiles::status(const llvm::Twine& path) {
  llvm::ErrorOr<Status> status = ProxyFileSystem::status(path);
  llvm::SmallString<256> storage;
  note(path.toStringRef(storage), status);
  return status;
}

bool RecordedFiles::exists(const llvm::Twine& path) {
  const llvm::ErrorOr<Status> known = status(path);
  return known && known->exists();
}

llvm::ErrorOr<std::unique_ptr<File>> RecordedFiles::openFileForRead(const llvm::Twine& path) {
  auto file = ProxyFileSystem::openFileForRead(path);
  if (!recording_)
    return file;
  llvm::SmallString<256> storage;
  const llvm::StringRef name = path.toStringRef(storage);
  if (!file) {
    note(name, file.getError());
    return file;
  }
  const llvm::ErrorOr<Status> status = (*file)->status();
  FileAnswer* answer = note(name, status);
  if (status && status->getType() == llvm::sys::fs::file_type::directory_file)
    return file; // which cannot be read
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  const std::optional<std::string_view> content =
      status && status->isRegularFile() ? content_of(**file, name, buffer) : std::nullopt;
  complete_ &= answer && content;
  if (!complete_ || answer->content)
    return file;
  answer->content = digest_of(*content);
  for (const std::string& place : places_)
    complete_ &= !contains_path(*content, place);
  const auto is_below = [&](const std::string& place) { return name.starts_with(place + "/"); };
  if (!llvm::sys::path::is_absolute(name) || std::any_of(places_.begin(), places_.end(), is_below))
    if (std::optional<DefinitionFile> definitions = DefinitionFile::read(*content))
      definitions_.emplace(name, *std::move(definitions));
  return file;
}

llvm::vfs::directory_iterator RecordedFiles::dir_begin(const llvm::Twine& path, std::error_code& code) {
  complete_ &= !recording_;
  return ProxyFileSystem::dir_begin(path, code);
}

std::error_code RecordedFiles::getRealPath(const llvm::Twine& path, llvm::SmallVectorImpl<char>& real) {
  complete_ &= !recording_;
  return ProxyFileSystem::getRealPath(path, real);
}

std::error_code RecordedFiles::setCurrentWorkingDirectory(const llvm::Twine& path) {
  complete_ &= !recording_;
  return ProxyFileSystem::setCurrentWorkingDirectory(path);
}

// Null if the answer is another than before.
FileAnswer* RecordedFiles::note(llvm::StringRef path, const llvm::ErrorOr<Status>& status) {
  if (!recording_)
    return nullptr;
  const std::string description = numbers_.describe(status);
  const auto [known, added] = by_path_.try_emplace(path, answers_.size());
  if (added) {
    answers_.push_back({path.str(), description, std::nullopt, {}});
    complete_ &= path.find_first_of("\n\x01") == llvm::StringRef::npos;
  }
  FileAnswer& answer = answers_[known->second];
  if (answer.status == description)
    return &answer;
  complete_ = false;
  return nullptr;
}

bool FileCheck::is_same(const FileAnswer& answer) {
  if (!answer.content)
    return numbers_.describe(files_.status(answer.path)) == answer.status;
  auto file = files_.openFileForRead(answer.path);
  if (!file || numbers_.describe((*file)->status(), answer.unread.empty()) != answer.status)
    return false;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (!answer.unread.empty()) {
    const auto [known, added] = definitions_.try_emplace(answer.path);
    if (added)
      if (const std::optional<std::string_view> text = content_of(**file, answer.path, buffer))
        known->second = DefinitionFile::read(*text);
    return known->second && known->second->without(answer.unread) == answer.content;
  }
  const auto [known, added] = contents_.try_emplace(answer.path);
  if (added)
    if (const std::optional<std::string_view> content = content_of(**file, answer.path, buffer))
      known->second = digest_of(*content);
  return known->second == answer.content;
}

} // namespace xaas::known
