// What an installation reads of images and of itself: ELF files that get other paths, texts, and manifests.
#include "fuzz.h"

#include "manifest.h"
#include "named_paths.h"
#include "relocate.h"

#include <xaas/loader/dynamic.h>

namespace {

using namespace xaas;
using namespace xaas::install;

void check_relocation(std::string_view elf) {
  const OwnPaths paths{.interpreter = "", .rpath = {"/apps/solver/1.2/rootfs/usr/lib", "$ORIGIN/../lib"}};
  const Result<std::string> made = relocate(elf, paths);
  require(made || made.error().kind == ErrorKind::integrity || made.error().kind == ErrorKind::unsatisfied,
          "kind of error");
  const Result<loader::Dynamic> before = loader::read_dynamic(elf);
  if (!made || !before)
    return;
  constexpr size_t most = size_t(4) << 20;
  require(made->size() < elf.size() + most, "size");
  const Result<loader::Dynamic> after = loader::read_dynamic(*made);
  require(!after || (after->runpath == paths.rpath && after->needed == before->needed &&
                     after->soname == before->soname),
          "the same file with other paths");
}

void check_text(const std::string& text) {
  const File table{.path = "usr/local/share/solver/table", .size = 1};
  static const NamedPaths names({table}, [](const std::string&) { return false; });
  const std::string below = names.below("/p", text);
  require(below.size() >= text.size() && (below.size() - text.size()) % 2 == 0, "only the prefix is added");
  if (names.in(text).empty())
    return;
  require(text.find('/') != std::string::npos, "a path");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (loader::is_elf(text))
    check_relocation(text);
  check_text(text);
  const Result<Manifest> manifest = parse_manifest(text, "install.json");
  require(manifest || manifest.error().kind == ErrorKind::integrity ||
              manifest.error().kind == ErrorKind::unsatisfied,
          "kind of error");
  if (manifest)
    for (const auto& [path, content] : manifest->files)
      require(!path.starts_with("/") && path.find("..") == std::string::npos, "a path below the prefix");
  return 0;
}
