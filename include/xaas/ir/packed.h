// Packed bitcode: how images store modules. Bitcode is a stream of bits, so that compressors, which look for
// equal bytes, halve it at best. Packed, it is smaller by half once more when it is compressed;
// src/ir/packed.cpp has the reasons and the format.
#pragma once

#include <xaas/base/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xaas::ir {

// The packed form of a bitcode file, a function of its bytes alone. Nothing if `bitcode` is none, or is
// written in a way from which unpack() would not make the same bytes.
std::optional<std::string> pack(std::string_view bitcode);

bool is_packed(std::string_view bytes);

// The bytes that pack() was given. Damaged or untrusted bytes are an integrity error, or give bitcode with
// another digest. More than about `limit` bytes are an error, too; time and memory are proportional to
// `packed` and `limit`.
Result<std::string> unpack(std::string_view packed, uint64_t limit);

} // namespace xaas::ir
