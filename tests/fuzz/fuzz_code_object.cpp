// AMD's code objects and bundles of them. An accepted bundle survives writing and reading.
#include "fuzz.h"

#include <xaas/device/code_object.h>

namespace {

using namespace xaas;
using namespace xaas::device;

void write_and_read(const std::string& arch, std::string_view bytes) {
  const Result<std::string> written = code_object_bundle({{arch, std::string(bytes)}});
  require(written || written.error().kind == ErrorKind::integrity || written.error().kind == ErrorKind::usage,
          "kind of error of writing");
  if (!written)
    return;
  const auto read = parse_code_object_bundle(*written);
  require(read && read->size() == 2, "what was written can be read");
  require(arch_of_entry(read->back().id) == arch, "its architecture");
  require(read->back().bytes == bytes, "its bytes");
}

void read_object(std::string_view bytes) {
  const Result<CodeObjectFacts> facts = read_code_object(bytes);
  require(facts || facts.error().kind == ErrorKind::integrity, "kind of error of a code object");
  if (facts)
    write_and_read(facts->arch, bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_object(input);
  const auto entries = parse_code_object_bundle(input);
  require(entries || entries.error().kind == ErrorKind::integrity, "kind of error of reading");
  if (!entries)
    return 0;
  size_t all = 0;
  for (const BundleEntry& entry : *entries) {
    all += entry.bytes.size();
    require(entry.bytes.empty() || (entry.bytes.data() >= input.data() &&
                                    entry.bytes.data() + entry.bytes.size() <= input.data() + input.size()),
            "bytes of the input");
    read_object(entry.bytes);
  }
  require(all <= size, "entries that do not overlap");
  return 0;
}
