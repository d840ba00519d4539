// Packed bitcode: unpacking gives the bytes that were packed. Damaged or invented columns are an error, or
// other bytes within the limit.
#include "fuzz.h"

#include <xaas/ir/packed.h>

namespace xaas {

static Result<std::string> unpack_within(std::string_view packed, uint64_t limit) {
  Result<std::string> bitcode = ir::unpack(packed, limit);
  require(bitcode || bitcode.error().kind == ErrorKind::integrity, "kind of error");
  require(!bitcode || bitcode->size() <= 2 * limit + 64, "within the limit");
  return bitcode;
}

// Columns from the input's bytes: the first one says how many there are.
static std::string columns_of(std::string_view input) {
  const size_t count = 1 + static_cast<uint8_t>(input[0]) % 60, size = (input.size() - 1) / count;
  std::string packed = "XBC1" + std::string(1, static_cast<char>(count));
  for (size_t i = 0; i < count; ++i) {
    const size_t own = 2 * std::min(size, size_t(8000)) + i % 2;
    packed += static_cast<char>(own % 128 | 128);
    packed += static_cast<char>(own / 128);
  }
  return packed + std::string(input.substr(1, count * std::min(size, size_t(8000))));
}

} // namespace xaas

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Result<std::string> bitcode = unpack_within(input, 1 << 20);
  if (size > 0)
    static_cast<void>(unpack_within(columns_of(input), 1 << 16));
  const std::string_view original = bitcode ? std::string_view(*bitcode) : input;
  const std::optional<std::string> packed = ir::pack(original);
  if (!packed)
    return 0;
  const Result<std::string> again = unpack_within(*packed, original.size());
  require(again && *again == original, "the same bytes");
  // The seeds are bitcode, so damage to the columns is made here: at places that depend on the input.
  size_t place = size;
  for (int i = 0; i < 8; ++i) {
    place = place * 6364136223846793005 + 1442695040888963407;
    std::string damaged = *packed;
    damaged[(place >> 20) % damaged.size()] = static_cast<char>(place >> 52);
    static_cast<void>(unpack_within(damaged, original.size()));
  }
  return 0;
}
