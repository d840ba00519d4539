// What lies around a build and must stay as it is: its sources, and the prefix of this machine.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/project/project.h>

#include <vector>

namespace xaas::build {

class Surroundings {
public:
  // As they are before the first configuration. `own`: what we write ourselves.
  Surroundings(const fs::path& source, fs::path prefix, std::vector<fs::path> own);

  // After a configuration: a failed error if the sources were written, because the configurations after it
  // would be built from others, or if what was built lies in the machine's prefix instead of below DESTDIR.
  // Whatever else changed in the prefix meanwhile is noted.
  Result<void> check(const project::Built& built, const fs::path& compiled_source, Progress& progress) const;

private:
  Result<void> check_prefix(const project::Built& built, Progress& progress) const;

  fs::path source_, prefix_;
  std::vector<fs::path> own_;
  project::TreeState sources_;
};

} // namespace xaas::build
