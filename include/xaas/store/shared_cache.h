// A cache that somebody else fills and that is only read.
//
// What is read there becomes part of this user's programs, so it must be written by nobody who could not
// change those anyway: root, this user, the owner of this program. Where root itself has named the directory
// (in a site's settings), root vouches for whoever owns it, also for a group that fills it together; what
// everybody may write is never read. The rule holds for the directory, the one that it lies in, and each
// entry with its own directory, so that one careless chmod does not spoil it.
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
  // `root` is the directory of one cache, as Cache has it. not_found if it is not there; storage if it cannot
  // be believed. `owners` are believed (base/trust.h); `vouched_for`: root has named it.
  static Result<SharedCache> open(fs::path root, std::vector<uid_t> owners, bool vouched_for);
  // One that `open` accepted before, in another process; its owner is believed.
  static SharedCache at(fs::path root, bool vouched_for);

  const fs::path& root() const { return root_; }
  bool vouched_for() const { return vouched_for_; }
  // The value, if it is there whole and can be believed. Nothing is written, also no time of last use.
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
