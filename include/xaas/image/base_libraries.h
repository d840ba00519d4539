// Which libraries an application takes from its base image.
#pragma once

#include <xaas/image/base_image.h>

#include <xaas/base/result.h>
#include <xaas/loader/loading.h>

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

// A library of the closure, as this machine has it.
struct ClosureLibrary {
  const loader::Library* library = nullptr;
  loader::Symbols symbols;
};

struct BaseChoice {
  std::set<std::string> brought; // names of the closure that come with the application
  // Where those come to lie that the base has, too: the path relative to its root at which its loader finds
  // them.
  std::map<std::string, std::string> places;
  bool c_library = false; // the base's is used
  // The directory of the base's C library, relative to its root, if it is used. The base's loader searches
  // it.
  std::string directory;
};

// A library of the base counts only if it has every symbol version, and every symbol, that the application's
// files need of this machine's library, and everything that it needs itself. The parts of the C library, with
// the loader, are taken from the base together or not at all. What an uncounted library leads to is needed as
// this machine has it, and may rule out others; nothing else is needed of a library that counts. `aliases`:
// other names by which files need libraries of the closure. Notes the libraries that are taken.
//
// A library that comes with the application replaces one of the same name, because the loader has one
// directory order for all programs. failed if this machine's library lacks a version or symbol of the base's,
// whose own programs may need it.
Result<BaseChoice> choose_libraries(BaseImage& base, const std::vector<Dependent>& files,
                                    const std::set<std::string>& interpreters,
                                    const std::map<std::string, ClosureLibrary>& closure,
                                    const std::map<std::string, std::string>& aliases);

// The error for a C library that cannot replace the base's, because `where` has no such part.
Error missing_part(const std::string& of_base, const std::string& part, const std::string& where);

} // namespace xaas::image
