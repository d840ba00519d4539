// Linker scripts: every way to name a file is recognized.
#include "fuzz.h"

#include "script.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(xaas::link::file_command(text));
  static_cast<void>(xaas::link::parse_library_script(text));
  return 0;
}
