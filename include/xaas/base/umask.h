// The mask of modes (umask(2)) is the process's, and two masks are wanted: the modes of what a build installs
// go into an image and must not depend on the user who builds; files for the user have the modes that the
// user wants.
#pragma once

#include <sys/types.h>

namespace xaas {

// From now on the mask is 022, for this process and those that it starts; the one before is the user's. To be
// called before the first UserUmask.
void use_common_umask();

// As long as there is one the mask is the user's again. No other thread may make files meanwhile that are not
// the user's.
class UserUmask {
public:
  UserUmask();
  UserUmask(const UserUmask&) = delete;
  UserUmask& operator=(const UserUmask&) = delete;
  ~UserUmask();
};

// `mode` without what the mask forbids.
mode_t with_umask(mode_t mode);

} // namespace xaas
