// Packed bitcode: what is packed is unpacked to the same bytes; damaged, it is an error or other bytes.
#include "fuzz.h"

#include <xaas/ir/packed.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Result<std::string> bitcode = ir::unpack(input);
  require(bitcode || bitcode.error().kind == ErrorKind::integrity, "kind of error");
  std::optional<std::string> packed = ir::pack(bitcode ? std::string_view(*bitcode) : input);
  if (!packed)
    return 0;
  const Result<std::string> again = ir::unpack(*packed);
  require(again && (bitcode ? *again == *bitcode : *again == input), "the same bytes");
  // The seeds are bitcode, so damage to the columns is made here: at places that depend on the input.
  size_t place = size;
  for (int i = 0; i < 8; ++i) {
    place = place * 6364136223846793005 + 1442695040888963407;
    std::string damaged = *packed;
    damaged[(place >> 20) % damaged.size()] = static_cast<char>(place >> 52);
    const Result<std::string> other = ir::unpack(damaged);
    require(other || other.error().kind == ErrorKind::integrity, "kind of error");
  }
  return 0;
}
