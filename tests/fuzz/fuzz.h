// The function that every target defines, for libFuzzer and for driver.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace xaas {

// As an assertion, also where assertions are off.
inline void require(bool holds, const char* what) {
  if (holds)
    return;
  std::fprintf(stderr, "not true: %s\n", what);
  std::abort();
}

} // namespace xaas
