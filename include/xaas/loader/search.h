// The dynamic loader's search for one library. Sources: ld.so(8); glibc, elf/dl-load.c (_dl_map_object).
#pragma once

#include <xaas/loader/directories.h>
#include <xaas/loader/root.h>

#include <string>
#include <vector>

namespace xaas::loader {

struct Settings {
  std::string arch;
  std::vector<std::string> library_path; // LD_LIBRARY_PATH
  Directories directories;
  std::vector<std::string> hwcaps; // subdirectories of glibc-hwcaps to search first, best one first
  std::vector<std::string> last;   // searched if the loader itself would find nothing
};

// The settings of a machine or a tree.
Settings settings_for(const fs::path& root, const std::string& arch, std::vector<std::string> library_path);

// How a library was found.
enum class Way { started, given, by_path, rpath, library_path, runpath, system, last };

// A loaded file.
struct Object {
  const Library* library = nullptr;
  std::string place;          // the path by which it was found; its directory is $ORIGIN
  const Object* by = nullptr; // the file that needs it; null: it was started
  Way way = Way::started;
};

struct Found {
  const Library* library = nullptr; // null: not found
  std::string place;
  Way way = Way::started;
  std::string no_library; // the path of a file that ended the search; empty: none
};

// What `by` (null: nobody) gets for this name. Skips relative directories, because they depend on where a
// program is started.
Result<Found> find_library(Root& root, const Settings& settings, const Object* by, const std::string& name);

// Expands $ORIGIN, $LIB and $PLATFORM, with or without braces.
std::string expanded(const std::string& text, const std::string& origin, const Settings& settings);

} // namespace xaas::loader
