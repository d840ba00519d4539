// The contents of a directory tree at one time, to see what a build wrote where it should not.
#pragma once

#include <xaas/base/file.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xaas::project {

class TreeState {
public:
  struct Change {
    fs::path path; // relative to the root
    enum class Kind { added, changed, removed } kind = Kind::changed;
  };

  // Names and states of all entries below `root`, down to `depth` levels (0: all). Hidden directories
  // (version control, editors' indexes), the paths in `skip` and image layouts are left out. So are
  // unreadable entries, which a build cannot write either. If `root` does not exist, the state is empty.
  static TreeState read(const fs::path& root, const std::vector<fs::path>& skip = {}, unsigned depth = 0);

  // The entries that were added, changed or removed between this state and `later`, a later state of the same
  // root, sorted by path. Files that people and batch systems write during a build are left out: logs,
  // editors' files, and files that another process has open for writing.
  std::vector<Change> changes(const TreeState& later) const;

private:
  struct Entry {
    uint64_t device, inode, size, links;
    unsigned mode;
    int64_t modified, changed; // nanoseconds; `changed` reveals a write even if the time was set back
  };
  static bool differs(const Entry& left, const Entry& right);

  fs::path root_;
  std::map<fs::path, Entry> entries_;
};

// "src/version.h (added), src/a.c (changed) and 7 more".
std::string to_string(const std::vector<TreeState::Change>& changes);

} // namespace xaas::project
