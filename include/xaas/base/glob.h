// Name patterns.
#pragma once

#include <string_view>

namespace xaas {

// Whether `pattern`, in which each `*` matches any characters, matches the whole of `text`.
bool glob_match(std::string_view pattern, std::string_view text);

} // namespace xaas
