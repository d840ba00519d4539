// What a build must leave unchanged: its sources, and the prefix on this machine.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/project/project.h>
#include <xaas/store/content_store.h>

#include <vector>

namespace xaas::build {

class Surroundings {
public:
  // Records the state before the first configuration. `own`: paths that we write ourselves.
  // `content` has the records of this build.
  Surroundings(const fs::path& source, fs::path prefix, std::vector<fs::path> own,
               const store::ContentStore& content);

  // True if the sources are no longer as they were.
  bool sources_written() const;

  // Call this after each configuration. A `failed` error if the sources were written, because later
  // configurations would be built from different sources, or if outputs of the build lie in the machine's
  // prefix instead of below DESTDIR. Other changes in the prefix are only noted.
  Result<void> check(const project::Built& built, const fs::path& compiled_source, Progress& progress) const;

  // The first part of check(), which can be called while a build runs.
  Result<void> check_sources(const fs::path& compiled_source) const;

private:
  bool is_built_here(const fs::path& path) const;
  Result<void> check_prefix(const project::Built& built, Progress& progress) const;

  fs::path source_, prefix_;
  std::vector<fs::path> own_;
  const store::ContentStore& content_;
  project::TreeState sources_;
};

} // namespace xaas::build
