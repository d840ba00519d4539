// git, asked about sources.
//
// The sources come from strangers, and so may the repository in which they lie: its configuration can name
// programs that git runs (a file-system monitor, hooks, filters of file contents), and reading what is
// missing in a partial clone opens connections. So git sees no environment and no configuration of the user's
// or the machine's, and of the repository's every key that names a program is set to nothing. Rejected:
// reading `.git` without git. Whether a file was changed needs the index, packed objects and the conversion
// of line ends.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::build {

// git in one directory.
class Git {
public:
  // `repository`: instead of the one in which the directory lies.
  explicit Git(fs::path directory, const fs::path& repository = {});

  Result<ProcessResult> run(const std::vector<std::string>& arguments) const;

  // Filters have names of the repository's choosing. Reading the configuration runs nothing.
  Result<void> disarm();

private:
  fs::path directory_;
  std::vector<std::string> options_;
};

// Whether there is a repository to ask about, without running anything.
bool lies_in_repository(const fs::path& source);

} // namespace xaas::build
