// LLVM bitcode is no input of a link, unless this program lowered it for LTO: lld would compile it, with all
// that inline assembly and options can name.
#pragma once

#include <string_view>

namespace xaas::link {

bool is_bitcode(std::string_view file);

} // namespace xaas::link
