// Module files for Lmod (Lua) and Environment Modules (Tcl).
#pragma once

#include <xaas/base/file.h>

#include <string>
#include <utility>
#include <vector>

namespace xaas::install {

struct Module {
  std::string name, version;
  std::string description, license, home; // empty: unknown
  std::string origin;                     // the image
  fs::path prefix;
  // Variables, and directories that come first in them. The scripts of the installation set those of the
  // image, because the user's shell and other programs are not to see them.
  std::vector<std::pair<std::string, std::string>> paths;
};

std::string lua_module(const Module& module);
std::string tcl_module(const Module& module);

// True if the text is a module file of the installation at the prefix.
bool is_module_of(const std::string& text, const fs::path& prefix);

// NAME_ROOT, which the module sets to the prefix.
std::string root_variable(const std::string& name);

// True for letters, digits and `._+-`, with a letter or digit first; with `/` between such words for a name.
bool is_module_name(const std::string& name);
bool is_module_version(const std::string& version);

} // namespace xaas::install
