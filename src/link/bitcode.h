// Detects LLVM bitcode, which a link refuses unless this program lowered it for LTO: lld would compile it,
// together with the files that inline assembly and options name.
#pragma once

#include <string_view>

namespace xaas::link {

bool is_bitcode(std::string_view file);

} // namespace xaas::link
