#include "references.h"

#include <xaas/base/tree_path.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>

namespace xaas::run {

namespace {

std::string reference_in(const fs::path& tree, const std::vector<std::string>& directories,
                         const runtimes::Interface& interface) {
  for (const std::string& directory : directories)
    for (const std::string& name : interface.references)
      if (const TreePlace place = find_in_tree(tree, directory + "/" + name);
          place.type == fs::file_type::regular)
        return directory + "/" + name;
  return {};
}

fs::path better_in(const std::vector<fs::path>& directories, const runtimes::Interface& interface) {
  std::error_code code;
  for (const std::string& implementation : interface.implementations)
    for (const fs::path& directory : directories)
      if (fs::path file = directory / implementation; fs::exists(file, code))
        return file;
  return {};
}

} // namespace

std::vector<std::string> notes_of_references(const fs::path& tree, const std::vector<std::string>& of_image,
                                             const std::vector<fs::path>& of_host,
                                             const std::vector<image::PreferredOfHost>& preferred) {
  std::vector<std::string> notes;
  for (const runtimes::Interface& interface : runtimes::Knowledge::get().interfaces) {
    if (std::any_of(preferred.begin(), preferred.end(),
                    [&](const auto& each) { return each.what == interface.name; }))
      continue;
    const std::string reference = reference_in(tree, of_image, interface);
    const fs::path better = reference.empty() ? fs::path() : better_in(of_host, interface);
    if (!better.empty())
      notes.push_back(reference + " of the image may be the reference " + interface.name + "; `--host " +
                      interface.name + "` takes " + better.string() + " instead");
  }
  return notes;
}

} // namespace xaas::run
