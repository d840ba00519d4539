#include "installed_toolkit.h"

#include <xaas/base/process.h>

#include <charconv>
#include <cstdlib>

namespace xaas::frontdoor {

std::vector<fs::path> toolkit_places(std::initializer_list<const char*> variables, const char* program,
                                     std::initializer_list<const char*> defaults) {
  std::vector<fs::path> places;
  for (const char* variable : variables)
    if (const char* path = std::getenv(variable); path && fs::path(path).is_absolute())
      places.emplace_back(path);
  if (const std::optional<fs::path> found = find_program(program))
    places.push_back(fs::weakly_canonical(*found).parent_path().parent_path());
  places.insert(places.end(), defaults.begin(), defaults.end());
  return places;
}

std::optional<int64_t> defined_number(const fs::path& header, const std::string& name) {
  const Result<std::string> text = read_file(header);
  const std::string words = "#define " + name + " ";
  const size_t at = text ? text->find(words) : std::string::npos;
  int64_t number = 0;
  if (at == std::string::npos ||
      std::from_chars(text->data() + at + words.size(), text->data() + text->size(), number).ec !=
          std::errc())
    return std::nullopt;
  return number;
}

} // namespace xaas::frontdoor
