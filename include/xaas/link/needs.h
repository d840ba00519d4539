// What a link certainly reads, and what it may take out of archives.
//
// lld takes a member out of an archive if the member defines a symbol that something in the link wants
// (System V ABI, chapter "Object Files", section "Symbol Table"; lld/docs/ELF/index). A caller that wants
// only such members lists what every input wants. It may take too many, never too few.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/link/record.h>

#include <map>
#include <set>
#include <string>

namespace xaas::link {

struct Needs {
  std::set<FileRef> whole;     // files that are read whole, archives after --whole-archive among them
  std::set<FileRef> archives;  // archives of which only wanted members are read
  std::set<std::string> names; // symbols that the linker or its options want, and other words of options
};

// All archives are read whole for a relocatable output, and where --undefined-glob wants symbols.
Needs needs_of(const LinkRecord& record);

// The names that these files want: undefined symbols of objects, archives and shared libraries, and all words
// of linker scripts and lists of symbols. `files`: paths, and names for messages. The files are untrusted and
// read in a worker; a damaged one is an integrity error. Must be called from a process with one thread.
Result<std::set<std::string>> names_wanted_by(const std::map<fs::path, std::string>& files);

// The same: the names that these files define. A linker script defines those that it assigns.
Result<std::set<std::string>> names_defined_by(const std::map<fs::path, std::string>& files);

} // namespace xaas::link
