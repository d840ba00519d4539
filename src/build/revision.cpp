#include "revision.h"
#include "git.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

namespace xaas::build {

namespace {

constexpr unsigned deepest_submodule = 8;

std::string only_line(const ProcessResult& result) {
  return result.exit_code == 0 ? trim(result.output) : std::string();
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<bool> is_dirty(const Git& git, const fs::path& directory, unsigned depth);

// Submodules are checked one by one, because git would use their configuration as it is.
Result<bool> has_dirty_submodule(const Git& git, const fs::path& directory, unsigned depth) {
  XAAS_TRY(const ProcessResult files, git.run({"ls-files", "--stage", "-z", "--", "."}));
  if (files.exit_code != 0)
    return make_error(ErrorKind::failed, "git ls-files in " + directory.string() + " failed", give_revision)
        .with_output(files.output);
  for (const std::string& line : split(files.output, '\0')) {
    const size_t tab = line.find('\t');
    if (!line.starts_with("160000 ") || tab == std::string::npos)
      continue;
    const fs::path below = directory / line.substr(tab + 1);
    std::error_code code;
    if (!fs::exists(below / ".git", code) || fs::is_symlink(below, code)) // not checked out
      continue;
    Git inner(below);
    XAAS_CHECK(inner.disarm());
    XAAS_TRY(const bool dirty, is_dirty(inner, below, depth + 1));
    if (dirty)
      return true;
  }
  return false;
}

Result<bool> is_dirty(const Git& git, const fs::path& directory, unsigned depth) {
  if (depth > deepest_submodule)
    return make_error(ErrorKind::failed, directory.string() + ": submodules are nested too deeply",
                      give_revision);
  XAAS_TRY(const ProcessResult status, git.run({"status", "--porcelain", "--untracked-files=no",
                                                "--no-renames", "--ignore-submodules=dirty", "--", "."}));
  if (status.exit_code != 0)
    return make_error(ErrorKind::failed, "git status in " + directory.string() + " failed", give_revision)
        .with_output(status.output);
  if (!trim(status.output).empty())
    return true;
  return has_dirty_submodule(git, directory, depth);
}

} // namespace

Result<std::string> read_revision(const fs::path& source) {
  if (!lies_in_repository(source) || !find_program("git"))
    return std::string();
  Git git(source);
  XAAS_TRY(const ProcessResult head, git.run({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}));
  const std::string commit = only_line(head);
  if (!is_commit(commit))
    return std::string();
  // Sources unpacked inside somebody's repository are not part of it.
  XAAS_TRY(const ProcessResult known, git.run({"ls-files", "-z", "--", "."}));
  if (known.exit_code != 0 || known.output.empty())
    return std::string();
  XAAS_CHECK(git.disarm());
  XAAS_TRY(const bool dirty, is_dirty(git, source, 0));
  return commit + (dirty ? "-dirty" : "");
}

} // namespace xaas::build
