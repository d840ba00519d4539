// Symbols of link inputs, read in a worker as in `xaas deploy`: names or an error, even if the worker
// crashes.
#include "fuzz.h"

#include <xaas/link/needs.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  static const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path file = directory.path() / "input";
  require(bool(write_file(file, {reinterpret_cast<const char*>(data), size}, 0600, false)), "a file");
  const auto names = link::names_wanted_by({{file, "libfuzz.a"}});
  require(names || names.error().kind == ErrorKind::integrity || names.error().kind == ErrorKind::failed,
          "kind of error");
  return 0;
}
