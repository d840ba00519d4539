// Two file mode masks (umask(2)) for one process: installed files go into an image, so their modes must not
// depend on the user who builds; files written for the user follow the user's own mask.
#pragma once

#include <sys/types.h>

namespace xaas {

// Sets the mask to 022 for this process and those it starts, and remembers the previous one as the user's.
// Call it before creating the first UserUmask.
void use_common_umask();

// Restores the user's mask while an object of this class exists. Meanwhile no other thread may create files
// that are not for the user.
class UserUmask {
public:
  UserUmask();
  UserUmask(const UserUmask&) = delete;
  UserUmask& operator=(const UserUmask&) = delete;
  ~UserUmask();
};

// `mode` without the bits that the current mask clears.
mode_t with_umask(mode_t mode);

} // namespace xaas
