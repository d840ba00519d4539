// Dotted version numbers, such as 2.34 or 550.54.14. Debian's versions have an order of their own (epochs,
// tildes); nothing here compares them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace xaas {

// Compares component by component, each by the number at its start: 2.4 is less than 2.34, and 1, 1.0 and
// 1.0rc2 are equal. Numbers may have any length.
bool version_less(const std::string& a, const std::string& b);

// The numbers of a version with `least` to `most` components; nothing if any component is something else.
std::optional<std::vector<unsigned>> version_numbers(const std::string& text, size_t least, size_t most);

// Compares texts in which version numbers occur anywhere, such as "4.1.5-GCC-13.2.0" and "/opt/rocm-6.2.0":
// runs of digits as numbers, and everything else as text.
bool version_text_less(const std::string& a, const std::string& b);

} // namespace xaas
