// What unprivileged containers can be built on, without describing the whole machine.
#pragma once

#include <optional>
#include <string>

namespace xaas::system {

struct UserNamespaces {
  std::optional<bool> possible; // absent: not known
  std::string evidence;
};
// Whether this user can make user namespaces here: the switches of distributions and the kernel's limit,
// then an attempt in a child. Call it from a process with one thread.
UserNamespaces user_namespaces();

} // namespace xaas::system
