#include "surroundings.h"

#include <xaas/link/note.h>
#include <xaas/link/replay.h>

#include <algorithm>

namespace xaas::build {

using Changes = std::vector<project::TreeState::Change>;

Surroundings::Surroundings(const fs::path& source, fs::path prefix, std::vector<fs::path> own,
                           const store::ContentStore& content)
    : source_(source), prefix_(std::move(prefix)), own_(std::move(own)), content_(content),
      sources_(project::TreeState::read(source_, own_)) {}

bool Surroundings::sources_written() const {
  return !sources_.changes(project::TreeState::read(source_, own_)).empty();
}

Result<void> Surroundings::check(const project::Built& built, const fs::path& compiled_source,
                                 Progress& progress) const {
  XAAS_CHECK(check_sources(compiled_source));
  return check_prefix(built, progress);
}

Result<void> Surroundings::check_sources(const fs::path& compiled_source) const {
  const Changes written = sources_.changes(project::TreeState::read(source_, own_));
  if (written.empty())
    return {};
  const bool copied = compiled_source != source_;
  return make_error(
      ErrorKind::failed,
      "the sources in " + source_.string() + " were changed during the build: " + to_string(written),
      copied ? "a build may write only below its build directory; or were they edited meanwhile?"
             : "if the build changes them, `\"copy\": true` in `build` of the spec gives each "
               "configuration its own copy; restore the sources first");
}

// Whether a file is code of this build, by its origin notes. Another build of this machine may install there
// at the same time.
bool Surroundings::is_built_here(const fs::path& path) const {
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return false;
  const Result<std::string> content = read_file(path);
  if (!content)
    return false;
  const auto is_ours = [&](std::string_view elf) {
    const Result<std::vector<link::Note>> notes = link::read_notes(elf);
    return notes && std::any_of(notes->begin(), notes->end(),
                                [&](const link::Note& note) { return content_.has(note.origin); });
  };
  if (!link::is_archive(*content))
    return is_ours(*content);
  const Result<std::vector<link::ArchiveMember>> members = link::read_archive(path);
  return members && std::any_of(members->begin(), members->end(),
                                [&](const link::ArchiveMember& member) { return is_ours(member.content); });
}

Result<void> Surroundings::check_prefix(const project::Built& built, Progress& progress) const {
  Changes ours;
  for (const project::TreeState::Change& change : built.outside)
    if (is_built_here(prefix_ / change.path))
      ours.push_back(change);
  if (!ours.empty())
    return make_error(ErrorKind::failed,
                      "the build installed into " + prefix_.string() + " of this machine: " + to_string(ours),
                      "does its install step honor DESTDIR? else list the files in build.install");
  if (!built.outside.empty())
    progress.note("changed in " + prefix_.string() +
                  " of this machine meanwhile: " + to_string(built.outside));
  return {};
}

} // namespace xaas::build
