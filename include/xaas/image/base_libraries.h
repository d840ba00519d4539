// Which libraries an application takes from its base image.
#pragma once

#include <xaas/image/base_image.h>

#include <xaas/base/result.h>
#include <xaas/loader/loading.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::image {

// A file of the application, or a library that comes with it.
struct Dependent {
  std::string path;
  const loader::Dynamic* dynamic = nullptr;
  std::set<std::string> symbols; // that it needs
};

// The libraries of the closure, as this machine has them.
struct MachineLibraries {
  std::map<std::string, const loader::Library*> by_name;
  std::function<Result<loader::Symbols>(const loader::Library&)> symbols; // reads them
  std::vector<std::string> loader_directories; // that their loader searches by default
};

struct BaseChoice {
  std::set<std::string> brought; // names of the closure that come with the application
  std::set<std::string> taken;   // of the base; with all parts of its C library if it is used
  // The places of brought libraries that the base has, too: the paths, relative to the root, at which the
  // loader finds the base's.
  std::map<std::string, std::string> places;
  bool c_library = false; // the base's is used
  // The directory of the base's C library, relative to its root, if it is used. The base's loader searches
  // it.
  std::string directory;
};

// The application takes a library from the base only if that has every symbol version, and every symbol, that
// the application's files need of this machine's library, and everything that it needs itself. The parts of
// the C library, with the loader, are taken together or not at all. `aliases`: other names by which files
// need libraries of the closure. Notes the libraries that are taken.
//
// A library that comes with the application replaces one of the same name, because the loader searches
// directories in one order for all programs. failed if this machine's library lacks a version or symbol of
// the base's, whose own programs may need it, if the base has another copy that its loader prefers on some
// CPUs or by the RUNPATH of an application's file, or as for BaseImage::replace_loader().
Result<BaseChoice> choose_libraries(BaseImage& base, const std::vector<Dependent>& files,
                                    const std::set<std::string>& interpreters,
                                    const MachineLibraries& closure,
                                    const std::map<std::string, std::string>& aliases);

// Whether a file that the spec names, with a path relative to the root, is a part of the C library, of which
// the application uses the base's: its own would not fit. failed if the base does not have the part.
Result<bool> has_part(BaseImage& base, const std::string& path);

// The error for a C library that cannot replace the base's, because `where` has no such part.
Error missing_part(const std::string& of_base, const std::string& part, const std::string& where);

} // namespace xaas::image
