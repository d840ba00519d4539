// Checks of an application spec that a schema cannot express.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::spec {

// Checks names, references between points, features, install paths and members that only one build system
// accepts. Normalizes the install paths, the prefix and the runtime paths, and drops the default "target"
// from `install`. `name` precedes the pointer in every error.
Result<void> check(Application& application, const std::string& name);

// The architectures that have ISA levels.
const std::vector<std::string>& architectures();

// True if `name` is an ISA level of any architecture.
bool is_level(const std::string& name);

} // namespace xaas::spec
