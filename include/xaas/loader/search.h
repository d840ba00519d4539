// The search of the dynamic loader for one library: ld.so(8); glibc, elf/dl-load.c (_dl_map_object).
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
  std::vector<std::string>
      hwcaps; // names below glibc-hwcaps in each directory that come first, the best one first
  std::vector<std::string> last; // searched where the loader itself would find nothing
};

// Of a machine or a tree.
Settings settings_for(const fs::path& root, const std::string& arch, std::vector<std::string> library_path);

// How a library was found.
enum class Way { started, given, by_path, rpath, library_path, runpath, system, last };

// A file that is loaded.
struct Object {
  const Library* library = nullptr;
  std::string place;          // the path by which it was found: its directory is $ORIGIN
  const Object* by = nullptr; // whose need it was; null: it was started
  Way way = Way::started;
};

struct Found {
  const Library* library = nullptr; // null: there is none
  std::string place;
  Way way = Way::started;
  std::string no_library; // the path of a file that ends the search; empty: none
};

// What `by` (null: nobody) gets by this name. Directories that are not absolute depend on where a program is
// started, and are passed over.
Result<Found> find_library(Root& root, const Settings& settings, const Object* by, const std::string& name);

// Replaces $ORIGIN, $LIB and $PLATFORM, also in braces.
std::string expanded(const std::string& text, const std::string& origin, const Settings& settings);

} // namespace xaas::loader
