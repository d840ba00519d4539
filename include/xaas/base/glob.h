// Patterns of names.
#pragma once

#include <string_view>

namespace xaas {

// Does `pattern`, in which each `*` stands for any characters, match all of `text`?
bool glob_match(std::string_view pattern, std::string_view text);

} // namespace xaas
