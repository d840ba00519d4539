#include <xaas/base/text.h>
#include <xaas/base/version.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace xaas {

namespace {

// The number at the start of a component, without leading zeros; "" for zero and for no number.
std::string leading_number(const std::string& component) {
  const size_t end = std::min(component.find_first_not_of("0123456789"), component.size());
  const size_t begin = std::min(component.find_first_not_of('0'), end);
  return component.substr(begin, end - begin);
}

} // namespace

bool version_less(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = split(a, '.'), right = split(b, '.');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string x = i < left.size() ? leading_number(left[i]) : "";
    const std::string y = i < right.size() ? leading_number(right[i]) : "";
    if (x.size() != y.size())
      return x.size() < y.size();
    if (x != y)
      return x < y;
  }
  return false;
}

std::optional<std::vector<unsigned>> version_numbers(const std::string& text, size_t least, size_t most) {
  constexpr size_t most_digits = 6;
  std::vector<unsigned> numbers;
  for (const std::string& part : split(text, '.')) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || part.size() > most_digits || error != std::errc() || end != part.data() + part.size())
      return std::nullopt;
    numbers.push_back(value);
  }
  if (numbers.size() < least || numbers.size() > most)
    return std::nullopt;
  return numbers;
}

bool version_text_less(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

} // namespace xaas
