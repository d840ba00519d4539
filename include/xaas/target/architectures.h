// The architectures that applications can be built and deployed for.
#pragma once

#include <string>
#include <vector>

namespace xaas::target {

// LLVM's names: "x86_64", "aarch64".
std::vector<std::string> architectures();

} // namespace xaas::target
