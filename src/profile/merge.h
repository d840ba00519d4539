// Profiles as read, before they are merged.
#pragma once

#include <xaas/profile/profile.h>

namespace xaas::profile {

struct File {
  fs::path path; // for messages
  std::string content;
  Digest digest;
};

// As read_profile(). There is at least one.
Result<Profile> merge(std::vector<File> files);

} // namespace xaas::profile
