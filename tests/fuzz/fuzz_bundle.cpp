// bundle.json: the records of an IR image. An accepted bundle survives writing and reading.
#include "fuzz.h"

#include <xaas/image/bundle.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto bundle = image::parse_bundle(text, "bundle");
  if (!bundle) {
    require(bundle.error().kind == ErrorKind::integrity || bundle.error().kind == ErrorKind::unsatisfied,
            "kind of error");
    return 0;
  }
  const std::string again = image::to_json(*bundle).dump();
  const auto parsed = image::parse_bundle(again, "bundle");
  require(static_cast<bool>(parsed), "what was written is read");
  require(image::to_json(*parsed).dump() == again, "and is the same");
  for (const auto& configuration : bundle->configurations)
    static_cast<void>(image::usage_of(*bundle, configuration));
  return 0;
}
