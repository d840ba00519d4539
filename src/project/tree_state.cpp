// Comparing the state of a tree before and after a build.
//
// A build that writes into its sources changes every later configuration, and one that installs past DESTDIR
// changes the machine. Both are found afterwards, from the file system's attributes of each file: this costs
// nothing during the build, needs no privileges, and works on every kernel. Rejected: making the sources
// read-only (root can still write, and it changes the sources, too); mount namespaces and Landlock (not on
// every machine: the same build would work here and fail there).
#include <xaas/base/text.h>
#include <xaas/project/tree_state.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

namespace xaas::project {

namespace {

using Identity = std::pair<uint64_t, uint64_t>; // device and inode

int64_t nanoseconds(const timespec& time) {
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// The output of jobs, and files that editors leave: "build.log", "slurm-7.out", "job.o123", "a.c~".
bool is_written_beside(const std::string& name) {
  for (const char* ending : {".log", ".out", ".err", "~", ".swp", ".swo"})
    if (ends_with(name, ending))
      return true;
  if (starts_with(name, ".#") || starts_with(name, ".nfs") || starts_with(name, ".xaas-"))
    return true;
  const size_t dot = name.rfind('.');
  return dot != std::string::npos && name.size() > dot + 2 &&
         (name[dot + 1] == 'o' || name[dot + 1] == 'e') &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 2, name.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

bool opened_for_writing(const fs::path& process, const std::string& descriptor) {
  const Result<std::string> info = read_file(process / "fdinfo" / descriptor);
  const size_t flags = info ? info->find("flags:") : std::string::npos;
  return flags != std::string::npos &&
         (std::strtoul(info->c_str() + flags + 6, nullptr, 8) & O_ACCMODE) != O_RDONLY;
}

// The files that processes have open for writing, as far as this user may see them.
std::set<Identity> being_written(const std::set<Identity>& files) {
  std::set<Identity> found;
  std::error_code code;
  for (fs::directory_iterator process("/proc", code), end; !code && process != end; process.increment(code)) {
    if (!std::isdigit(static_cast<unsigned char>(process->path().filename().string()[0])))
      continue;
    std::error_code inner;
    for (fs::directory_iterator fd(process->path() / "fd", inner); !inner && fd != end; fd.increment(inner)) {
      struct stat status{};
      if (stat(fd->path().c_str(), &status) == 0 && files.count({status.st_dev, status.st_ino}) &&
          opened_for_writing(process->path(), fd->path().filename().string()))
        found.insert({status.st_dev, status.st_ino});
    }
  }
  return found;
}

bool is_left_out(const fs::path& path, const struct stat& status, const std::vector<fs::path>& skip) {
  if (std::find(skip.begin(), skip.end(), path) != skip.end())
    return true;
  std::error_code code;
  return S_ISDIR(status.st_mode) &&
         (path.filename().string().starts_with(".") || path.filename() == "__pycache__" ||
          fs::exists(path / "oci-layout", code));
}

} // namespace

TreeState TreeState::read(const fs::path& root, const std::vector<fs::path>& skip, unsigned depth) {
  TreeState state;
  std::error_code code;
  state.root_ = fs::canonical(root, code);
  if (code)
    return state;
  std::vector<fs::path> left_out;
  for (const fs::path& path : skip)
    if (!path.empty())
      left_out.push_back(fs::weakly_canonical(path, code));
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(state.root_, options, code), end; !code && it != end;
       it.increment(code)) {
    struct stat status{};
    if (lstat(it->path().c_str(), &status) != 0)
      continue;
    if (is_left_out(it->path(), status, left_out)) {
      it.disable_recursion_pending();
      continue;
    }
    if (depth && static_cast<unsigned>(it.depth()) + 1 >= depth)
      it.disable_recursion_pending();
    state.entries_[it->path().lexically_relative(state.root_)] = {status.st_dev,
                                                                  status.st_ino,
                                                                  static_cast<uint64_t>(status.st_size),
                                                                  status.st_nlink,
                                                                  status.st_mode,
                                                                  nanoseconds(status.st_mtim),
                                                                  nanoseconds(status.st_ctim)};
  }
  return state;
}

bool TreeState::differs(const Entry& left, const Entry& right) {
  if (left.mode != right.mode)
    return true;
  if (S_ISDIR(left.mode)) // entries written there are compared themselves
    return false;
  if (left.device != right.device || left.inode != right.inode || left.size != right.size ||
      left.modified != right.modified)
    return true;
  return left.changed != right.changed && left.links == right.links; // a new hard link is not a change
}

std::vector<TreeState::Change> TreeState::changes(const TreeState& later) const {
  std::vector<Change> found;
  std::set<Identity> files;
  const auto note = [&](const fs::path& path, Change::Kind kind, const Entry& entry) {
    if (is_written_beside(path.filename().string()))
      return;
    found.push_back({path, kind});
    files.insert({entry.device, entry.inode});
  };
  for (const auto& [path, entry] : later.entries_) {
    const auto before = entries_.find(path);
    if (before == entries_.end())
      note(path, Change::Kind::added, entry);
    else if (differs(before->second, entry))
      note(path, Change::Kind::changed, entry);
  }
  for (const auto& [path, entry] : entries_)
    if (!later.entries_.count(path))
      note(path, Change::Kind::removed, entry);
  if (found.empty())
    return found;
  const std::set<Identity> others = being_written(files);
  std::erase_if(found, [&](const Change& change) {
    const auto entry = later.entries_.find(change.path);
    return entry != later.entries_.end() && others.count({entry->second.device, entry->second.inode});
  });
  std::sort(found.begin(), found.end(),
            [](const Change& left, const Change& right) { return left.path < right.path; });
  return found;
}

std::string to_string(const std::vector<TreeState::Change>& changes) {
  constexpr size_t shown = 5;
  std::vector<std::string> parts;
  for (size_t i = 0; i < changes.size() && i < shown; ++i) {
    const TreeState::Change::Kind kind = changes[i].kind;
    parts.push_back(changes[i].path.string() + (kind == TreeState::Change::Kind::added     ? " (added)"
                                                : kind == TreeState::Change::Kind::removed ? " (removed)"
                                                                                           : " (changed)"));
  }
  return join(parts, ", ") +
         (changes.size() > shown ? " and " + std::to_string(changes.size() - shown) + " more" : "");
}

} // namespace xaas::project
