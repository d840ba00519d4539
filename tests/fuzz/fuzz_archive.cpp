// Downloaded archives: tar, plain or compressed, and zip.
#include "fuzz.h"

#include <xaas/oci/archive.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  static const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path tree = directory.path() / "tree";
  const oci::BlobPtr blob = oci::blob_of({reinterpret_cast<const char*>(data), size});
  const auto unpacked = oci::unpack_archive(blob, tree, uint64_t(64) << 20);
  require(unpacked || unpacked.error().kind == ErrorKind::integrity, "kind of error");
  require(bool(unpacked) == fs::exists(tree), "a tree is there if it is whole");
  remove_tree(tree);
  require(fs::is_empty(directory.path()), "nothing else is left");
  return 0;
}
