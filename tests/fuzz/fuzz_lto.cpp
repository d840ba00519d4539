// Bitcode that a link with LTO reads: the result is an output or an error, even if the linker process
// crashes.
#include "fuzz.h"

#include <xaas/link/replay.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  static const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path path = directory.path() / "unit.o";
  require(static_cast<bool>(
              write_file(path, std::string(reinterpret_cast<const char*>(data), size), 0600, false)),
          "room for the input");
  const link::LinkRecord record{
      link::OutputKind::shared,
      "lib.so",
      {{link::LinkItem::Kind::input, "", "", {link::FileRef::Kind::unit, digest_of("unit"), "unit.o"}}}};
  link::ReplayOptions options;
  options.arch = "x86_64";
  options.lto_level = 2;
  options.cpu_seconds = 5;
  const auto linked =
      link::replay(record, [&](const link::FileRef&) -> Result<fs::path> { return path; }, options);
  require(linked || linked.error().kind == ErrorKind::integrity || linked.error().kind == ErrorKind::failed,
          "kind of error");
  require(linked || linked.error().message.find("lib.so") != std::string::npos, "the error names the link");
  return 0;
}
