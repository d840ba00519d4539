#include "mounts.h"
#include "names.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::system {

namespace {

// Decodes escapes such as "\040", a space.
std::string unescape(const std::string& text) {
  const auto octal = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  return result;
}

} // namespace

std::vector<std::string> remote_mounts(const std::string& mountinfo) {
  const std::vector<std::string>& remote = Names::get().network_file_systems;
  std::vector<std::string> points;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || dash == words.end() || dash + 1 == words.end() || words[4] == "/")
      continue; // the root cannot be skipped
    const std::string& type = dash[1];
    if (std::any_of(remote.begin(), remote.end(),
                    [&](const std::string& known) { return type == known || type.starts_with(known + "."); }))
      points.push_back(unescape(words[4]));
  }
  return points;
}

std::optional<std::string> place_of(const std::string& path, const std::vector<std::string>& places) {
  constexpr int most_links = 40; // as in Linux
  std::string current;
  std::vector<std::string> rest = split(path, '/');
  std::reverse(rest.begin(), rest.end());
  for (int links = 0; !rest.empty() && links < most_links;) {
    const std::string part = rest.back();
    rest.pop_back();
    if (part.empty() || part == ".")
      continue;
    if (part == "..") {
      current = fs::path(current).parent_path().string();
      continue;
    }
    current += (current.ends_with("/") ? "" : "/") + part;
    if (std::find(places.begin(), places.end(), current) != places.end())
      return current;
    std::error_code code;
    const fs::path target = fs::read_symlink(current, code); // on a local file system
    if (code)
      continue;
    ++links;
    current = target.is_absolute() ? "" : fs::path(current).parent_path().string();
    std::vector<std::string> parts = split(target.string(), '/');
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
  }
  return std::nullopt;
}

} // namespace xaas::system
