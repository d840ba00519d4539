// Asking git about sources.
//
// The sources are untrusted, and so may be the repository that contains them. Its configuration can name
// programs that git runs (a file-system monitor, hooks, filters of file contents), and reading objects that
// are missing in a partial clone opens connections. So git gets no environment and no configuration of the
// user or the machine, and every key of the repository that names a program is set to nothing. Rejected:
// reading `.git` without git, because telling whether a file was changed needs the index, packed objects and
// the conversion of line ends.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::build {

// The hint of errors that git causes.
inline constexpr const char* give_revision = "give `revision` in the application spec";

// git in one directory.
class Git {
public:
  // `repository` replaces the repository that contains the directory.
  explicit Git(fs::path directory, const fs::path& repository = {});

  Result<ProcessResult> run(const std::vector<std::string>& arguments) const;

  // Repositories name their filters freely. Reading the configuration runs nothing.
  Result<void> disarm();

private:
  fs::path directory_;
  std::vector<std::string> options_;
};

// Whether there is a repository to ask. Runs nothing.
bool lies_in_repository(const fs::path& source);

} // namespace xaas::build
