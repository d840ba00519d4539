// What a schema cannot say about an application spec.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::spec {

// Checks names, references between points, features, install paths and what only one build system takes.
// Brings install paths, the prefix and the runtime paths into normal form and, with a build system of its
// own, drops the word "target" from `install`, which is the default. `name` stands in front of the pointer in
// every error.
Result<void> check(Application& application, const std::string& name);

// Every architecture that we know ISA levels of.
const std::vector<std::string>& architectures();

// True if `name` is an ISA level of any architecture.
bool is_level(const std::string& name);

} // namespace xaas::spec
