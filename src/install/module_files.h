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
  std::vector<std::pair<std::string, std::string>> paths;     // variable, directory that comes first
  std::vector<std::pair<std::string, std::string>> variables; // set
};

std::string lua_module(const Module& module);
std::string tcl_module(const Module& module);

// True for letters, digits and `._+-`, with a letter or digit first; with `/` between such words for a name.
bool is_module_name(const std::string& name);
bool is_module_version(const std::string& version);

} // namespace xaas::install
