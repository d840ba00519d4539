#include <xaas/base/space.h>
#include <xaas/base/text.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace xaas {

std::string bytes_for_people(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

Result<FileSystem> file_system_of(const fs::path& path) {
  std::error_code code;
  fs::path there = fs::absolute(path, code);
  while (!fs::exists(there, code) && there.has_relative_path())
    there = there.parent_path();
  struct stat status{};
  struct statvfs space{};
  if (stat(there.c_str(), &status) != 0 || statvfs(there.c_str(), &space) != 0)
    return errno_error(errno, "reading " + there.string());
  FileSystem found;
  found.id = status.st_dev;
  if (space.f_blocks == 0)
    found.free = UINT64_MAX;
  else
    found.free = (geteuid() == 0 ? space.f_bfree : space.f_bavail) * space.f_frsize;
  return found;
}

Result<void> check_space(const std::vector<SpaceNeed>& needs,
                         const std::function<Result<FileSystem>(const fs::path&)>& look) {
  struct Demand {
    fs::path where; // the first path on this file system
    uint64_t bytes = 0, free = 0;
    std::vector<std::string> parts;
  };
  std::map<uint64_t, Demand> demands;
  for (const SpaceNeed& need : needs) {
    const Result<FileSystem> system = look(need.where);
    if (!system || need.bytes == 0)
      continue;
    Demand& demand = demands[system->id];
    if (demand.parts.empty())
      demand.where = need.where;
    demand.free = system->free;
    demand.bytes += need.bytes;
    demand.parts.push_back(need.what + " " + bytes_for_people(need.bytes));
  }
  for (const auto& [id, demand] : demands)
    if (demand.bytes > demand.free)
      return make_error(ErrorKind::storage,
                        demand.where.string() + ": not enough space: about " +
                            bytes_for_people(demand.bytes) + " needed (" + join(demand.parts, ", ") + "), " +
                            bytes_for_people(demand.free) + " free",
                        "free some space there, or choose other places: the output, TMPDIR for temporary "
                        "files, XAAS_CACHE_DIR for the caches");
  return {};
}

} // namespace xaas
