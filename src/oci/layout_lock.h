#pragma once

#include <xaas/base/file.h>

#include <string>

namespace xaas::oci {

// The right to change a layout's index.json, without flock and hard links, which shared file systems may not
// have.
//
// The lock is a directory `.xaas-lock` that holds one file named after its owner. It is made ready under
// another name and renamed into place: rename succeeds only where no lock, or an empty one, is there. A dead
// owner's lock is broken by removing the file with that owner's name, so a waiter that was slow to act never
// breaks the lock of the next owner. (A lock file made with O_EXCL cannot be broken so: between looking at it
// and removing it, it may have become another's.) An owner is dead if it was on this host and its process is
// gone, or if its lock is older than 60 seconds: the work under the lock takes milliseconds.
class LayoutLock {
public:
  // Waits for up to two minutes; then a failed error that names the lock.
  static Result<LayoutLock> acquire(const fs::path& layout);
  LayoutLock(LayoutLock&& other) noexcept : file_(std::move(other.file_)) { other.file_.clear(); }
  LayoutLock& operator=(LayoutLock&&) = delete;
  ~LayoutLock();

  // Whether it still is ours: an owner that was stopped for a minute may have lost it.
  bool held() const;

private:
  explicit LayoutLock(fs::path file) : file_(std::move(file)) {}
  fs::path file_; // <layout>/.xaas-lock/<owner>
};

} // namespace xaas::oci
