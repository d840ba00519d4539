#include <xaas/known/places.h>

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::known {

namespace {

constexpr char mark = '\x01';

struct Place {
  std::string path, name; // name: "\x01<number>\x01"
  size_t number;
};

// Longer paths first, because one prefix may contain another; of equal ones, the last.
std::vector<Place> places_of(const session::Session& session) {
  std::vector<Place> places;
  for (size_t i = 0; i < session.prefixes.size(); ++i)
    places.push_back({session.prefixes[i].first.string(), mark + std::to_string(i) + mark, i});
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.path.size(), a.number) > std::pair(b.path.size(), b.number);
  });
  return places;
}

} // namespace

std::string without_places(const session::Session& session, std::string_view text) {
  std::string result(text);
  for (const Place& place : places_of(session))
    result = replaced(std::move(result), place.path, place.name);
  return result;
}

bool names_beside_places(std::string_view text) {
  constexpr std::string_view before = "=:;,\"'(<[ ", after = "/=:;,\"')>] ";
  bool inside = false;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    const size_t next = inside ? at + 1 : at - 1;
    if (next < text.size() && (inside ? after : before).find(text[next]) == std::string_view::npos)
      return true;
    inside = !inside;
  }
  return false;
}

bool is_clear_path(const session::Session& session, std::string_view path) {
  return name_without_place(session, path) == path_without_place(session, path);
}

std::string name_without_place(const session::Session& session, std::string_view name) {
  for (size_t i = session.prefixes.size(); i-- > 0;) // the last match wins
    if (const std::string prefix = session.prefixes[i].first.string(); name.starts_with(prefix))
      return mark + std::to_string(i) + mark + std::string(name.substr(prefix.size()));
  return std::string(name);
}

std::string path_without_place(const session::Session& session, std::string_view path) {
  for (const Place& place : places_of(session))
    if (path.starts_with(place.path) && (path.size() == place.path.size() || path[place.path.size()] == '/'))
      return place.name + std::string(path.substr(place.path.size()));
  return std::string(path);
}

std::string path_with_place(const session::Session& session, std::string_view path) {
  if (path.starts_with(mark))
    for (const Place& place : places_of(session))
      if (path.starts_with(place.name))
        return place.path + std::string(path.substr(place.name.size()));
  return std::string(path);
}

std::string with_places(const session::Session& session, std::string_view text) {
  std::string result(text);
  for (const Place& place : places_of(session))
    result = replaced(std::move(result), place.name, place.path);
  return result;
}

} // namespace xaas::known
