// Build arguments: the option that one sets, and its value.
#pragma once

#include <xaas/spec/application.h>

#include <optional>
#include <string>

namespace xaas::spec {

struct Argument {
  std::string option; // "SIMD" of -DSIMD=AVX2, "enable-avx2" of --disable-avx2
  std::string value;  // "ON" and "OFF" of --enable-x and --disable-x
};

// nullopt: the build system accepts no argument of this form.
std::optional<Argument> parse_argument(BuildSystem system, const std::string& text);

} // namespace xaas::spec
