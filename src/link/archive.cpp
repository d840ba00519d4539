#include <xaas/base/worker.h>
#include <xaas/link/note.h>
#include <xaas/link/replay.h>

#include "bitcode.h"

#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

namespace xaas::link {

bool is_bitcode(std::string_view file) {
  return file.substr(0, 4) == "BC\xc0\xde" || file.substr(0, 4) == "\xde\xc0\x17\x0b";
}

namespace {

Result<std::vector<ArchiveMember>> members_of(const ArchiveRecord& record, const FileProvider& provider,
                                              bool for_lto) {
  std::vector<ArchiveMember> members;
  for (const ArchiveRecord::Member& member : record.members) {
    XAAS_TRY(const fs::path path, provider(member.file).in("archive member " + member.name));
    XAAS_TRY(std::string content, read_file(path));
    if (is_bitcode(content) && !(for_lto && member.file.kind == FileRef::Kind::unit))
      return make_error(ErrorKind::integrity,
                        "archive member " + member.name + ": LLVM bitcode, expected machine code");
    members.push_back({member.name, std::move(content)});
  }
  return members;
}

Result<std::string> archive_of(const std::vector<ArchiveMember>& members, llvm::SymtabWritingMode symbols) {
  std::vector<llvm::NewArchiveMember> parts;
  for (const ArchiveMember& member : members)
    parts.emplace_back(llvm::MemoryBufferRef(member.content, member.name));
  auto archive = llvm::writeArchiveToBuffer(
      parts, symbols, llvm::object::Archive::K_GNU, /*Deterministic=*/true,
      /*Thin=*/false, [](llvm::Error warning) { llvm::consumeError(std::move(warning)); });
  if (!archive)
    return make_error(ErrorKind::integrity, "writing an archive: " + llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}

} // namespace

Result<std::string> write_archive(const ArchiveRecord& record, const FileProvider& provider) {
  XAAS_TRY(const std::vector<ArchiveMember> members, members_of(record, provider, false));
  return archive_of(members, llvm::SymtabWritingMode::NormalSymtab);
}

Result<std::string> write_archive_in_worker(const ArchiveRecord& record, const FileProvider& provider) {
  XAAS_TRY(const std::vector<ArchiveMember> members, members_of(record, provider, false));
  const std::string what =
      "an archive of " + (members.empty() ? "nothing" : members.front().name) + " and others";
  return run_worker(what, [&] { return archive_of(members, llvm::SymtabWritingMode::NormalSymtab); });
}

Result<std::string> write_lto_archive(const ArchiveRecord& record, const FileProvider& provider) {
  XAAS_TRY(const std::vector<ArchiveMember> members, members_of(record, provider, true));
  return archive_of(members, llvm::SymtabWritingMode::NoSymtab);
}

Result<std::vector<ArchiveMember>> read_archive(const fs::path& path) {
  XAAS_TRY(const std::string content, read_file(path));
  const std::string name = path.string(); // members of a thin archive are relative to it
  const auto damaged = [&](llvm::Error error) {
    return make_error(ErrorKind::integrity, name + ": " + llvm::toString(std::move(error)));
  };
  auto archive = llvm::object::Archive::create(llvm::MemoryBufferRef(content, name));
  if (!archive)
    return damaged(archive.takeError());
  std::vector<ArchiveMember> members;
  llvm::Error error = llvm::Error::success();
  std::optional<Error> failure;
  for (const llvm::object::Archive::Child& child : (*archive)->children(error)) {
    auto member = child.getName();
    if (!member) {
      failure = damaged(member.takeError());
      break;
    }
    auto bytes = child.getBuffer();
    if (!bytes) {
      failure = damaged(bytes.takeError()).in("member " + member->str());
      break;
    }
    members.push_back({fs::path(member->str()).filename(), bytes->str()});
  }
  if (error) {
    Error iteration = damaged(std::move(error));
    return failure ? *std::move(failure) : std::move(iteration);
  }
  if (failure)
    return *std::move(failure);
  return members;
}

} // namespace xaas::link
