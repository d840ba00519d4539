// A read-only cache that someone else fills.
//
// Its content becomes part of this user's programs, so only users who could change those anyway may write to
// it: root, this user, and the owner of this program. If root itself named the directory (in a site's
// settings), root vouches for its owner, and for a group that fills it together. Nothing world-writable is
// ever read. The rule applies to the directory, to its parent, and to each entry and its directory, so that
// one careless chmod does not compromise it.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xaas::store {

class SharedCache {
public:
  // `root` is the directory of one cache, as for Cache. not_found if it is missing, storage if it cannot be
  // trusted. `owners` are trusted (base/trust.h); `vouched_for`: root has named the directory.
  static Result<SharedCache> open(fs::path root, std::vector<uid_t> owners, bool vouched_for);
  // For a directory that open() has accepted in another process; trusts its owner.
  static SharedCache at(fs::path root, bool vouched_for);

  const fs::path& root() const { return root_; }
  bool vouched_for() const { return vouched_for_; }
  // The value, if there is an undamaged entry that can be trusted. Writes nothing, not even a time of last
  // use.
  std::optional<std::string> get(const Digest& key) const;

private:
  SharedCache(fs::path root, std::vector<uid_t> owners, bool vouched_for)
      : root_(std::move(root)), owners_(std::move(owners)), vouched_for_(vouched_for) {}
  bool believed(int descriptor) const;
  fs::path root_;
  std::vector<uid_t> owners_;
  bool vouched_for_ = false;
};

} // namespace xaas::store
