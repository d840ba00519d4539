#include "programs.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>

#include <algorithm>
#include <set>

namespace xaas::run {

namespace {

bool is_executable(const TreePlace& place) {
  std::error_code code;
  const auto any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return place.type == fs::file_type::regular &&
         (fs::status(place.outside, code).permissions() & any) != fs::perms::none;
}

// The executable files of a directory, sorted.
std::set<std::string> programs_of_directory(const fs::path& tree, const TreePlace& directory) {
  std::set<std::string> names;
  std::error_code code;
  for (fs::directory_iterator it(directory.outside, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename();
    if (is_executable(find_in_tree(tree, directory.inside + "/" + name)))
      names.insert(name);
  }
  return names;
}

// Paths of the files that deploying linked (docs/image-format.md). A malformed annotation names none.
std::vector<std::string> linked_files(const std::map<std::string, std::string>& annotations) {
  std::vector<std::string> paths;
  const auto code = annotations.find("dev.xaas.code");
  if (code == annotations.end())
    return paths;
  if (const Result<Json> json = parse_json(code->second, "dev.xaas.code"); json && json->is_object())
    for (const auto& [path, unused] : json->items())
      paths.push_back(path);
  return paths;
}

} // namespace

std::vector<std::string> programs_in(const fs::path& tree, const std::string& path,
                                     const std::map<std::string, std::string>& annotations) {
  std::vector<std::string> names;
  std::set<std::string> directories;
  for (const std::string& directory : split(path, ':')) {
    const TreePlace place = find_in_tree(tree, directory);
    if (!directory.starts_with("/") || place.type != fs::file_type::directory ||
        !directories.insert(place.inside).second) // /bin can be a link to /usr/bin
      continue;
    for (const std::string& name : programs_of_directory(tree, place))
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  }
  for (const std::string& file : linked_files(annotations)) {
    const TreePlace place = find_in_tree(tree, file);
    const fs::path inside = place.inside;
    if (is_executable(place) && !directories.contains(inside.parent_path()) &&
        inside.filename().string().find(".so") == std::string::npos)
      names.push_back(place.inside);
  }
  return names;
}

std::string programs_text(const std::vector<std::string>& programs) {
  constexpr size_t shown = 12;
  if (programs.empty())
    return {};
  const size_t more = programs.size() > shown + 1 ? programs.size() - shown : 0;
  const auto end = programs.end() - static_cast<std::ptrdiff_t>(more);
  return "; its programs: " + join({programs.begin(), end}, ", ") +
         (more ? " and " + std::to_string(more) + " more" : "");
}

} // namespace xaas::run
