#pragma once

#include <xaas/base/file.h>

#include <string>

namespace xaas::oci {

// The lock for changing a layout's index.json. It needs neither flock nor hard links, which shared file
// systems may lack.
//
// The lock is a directory `.xaas-lock` with one file named after its owner. It is prepared under another name
// and renamed into place, which succeeds only if there is no lock or an empty one. A dead owner's lock is
// broken by removing the file with that owner's name, so a slow waiter never breaks the lock of the next
// owner. (A lock file created with O_EXCL cannot be broken safely: between examining and removing it, it may
// have changed hands.) An owner is dead if it ran on this host and its process is gone, or if its lock is
// older than 60 seconds; the work under the lock takes milliseconds.
class LayoutLock {
public:
  // Waits up to two minutes, then fails with an error that names the lock.
  static Result<LayoutLock> acquire(const fs::path& layout);
  LayoutLock(LayoutLock&& other) noexcept : file_(std::move(other.file_)) { other.file_.clear(); }
  LayoutLock& operator=(LayoutLock&&) = delete;
  ~LayoutLock();

  // Whether we still own the lock; an owner that was stopped for a minute may have lost it.
  bool held() const;

private:
  explicit LayoutLock(fs::path file) : file_(std::move(file)) {}
  fs::path file_; // <layout>/.xaas-lock/<owner>
};

} // namespace xaas::oci
