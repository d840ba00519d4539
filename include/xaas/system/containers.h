// Support for unprivileged containers, without describing the whole machine.
#pragma once

#include <optional>
#include <string>

namespace xaas::system {

struct UserNamespaces {
  std::optional<bool> possible; // absent: unknown
  std::string evidence;
};
// Whether this user can create user namespaces here: checks the switches of distributions and the kernel's
// limit, then tries in a child. Call it from a process with one thread.
UserNamespaces user_namespaces();

} // namespace xaas::system
