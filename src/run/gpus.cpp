#include "gpus.h"

#include "host_libraries.h"

#include <xaas/base/text.h>

#include <glob.h>
#include <set>

namespace xaas::run {

namespace {

// The paths below `root` that match a pattern, relative to it.
std::vector<std::string> paths_matching(const fs::path& root, const std::string& pattern) {
  const std::string prefix = root == "/" ? "" : root.string();
  glob_t found{};
  std::vector<std::string> paths;
  if (glob((prefix + pattern).c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      paths.push_back(std::string(found.gl_pathv[i]).substr(prefix.size()));
  globfree(&found);
  return paths;
}

bool is_there(const fs::path& root, const std::vector<std::string>& paths) {
  std::error_code code;
  for (const std::string& path : paths)
    if (fs::exists(root / path.substr(1), code))
      return true;
  return false;
}

} // namespace

HostGpus find_gpus(const fs::path& root, const std::vector<std::string>& directories) {
  HostGpus gpus;
  std::set<std::string> known;
  for (const runtimes::GpuKind& kind : runtimes::Knowledge::get().gpus) {
    if (!is_there(root, kind.present))
      continue;
    gpus.kinds.push_back(&kind);
    if (!kind.cdi.empty() && is_there(root, kind.cdi_files)) {
      gpus.devices.push_back(kind.cdi);
    } else {
      for (const std::string& pattern : kind.devices)
        for (const std::string& device : paths_matching(root, pattern))
          if (known.insert(device).second)
            gpus.devices.push_back(device);
    }
    for (const std::string& pattern : kind.libraries)
      for (const std::string& directory : directories)
        for (const std::string& path : paths_matching(root, directory + "/" + pattern))
          if (const std::string name = fs::path(path).filename(); known.insert(name).second)
            gpus.libraries.push_back({root / path.substr(1), std::string(host_libraries) + "/" + name, true});
    for (const auto& [link, name] : kind.links)
      for (size_t i = 0, count = gpus.libraries.size(); i < count; ++i)
        if (gpus.libraries[i].source.filename() == name)
          gpus.libraries.push_back(
              {gpus.libraries[i].source, std::string(host_libraries) + "/" + link, true});
    for (const std::string& file : kind.files)
      if (is_there(root, {file}))
        gpus.files.push_back({root / file.substr(1), file, true});
  }
  return gpus;
}

} // namespace xaas::run
