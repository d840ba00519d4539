// What an input of a link may not be, whatever its record says.
#pragma once

#include <xaas/base/file.h>

namespace xaas::link {

// An input file: not bitcode, no archive with bitcode in it, no thin archive (it names files), no linker
// script that names files. `script`: the file is read as a script whatever it looks like. `bitcode`: it may
// be bitcode, or have some, all the same. Integrity error that names it.
Result<void> vet_input(const fs::path& path, const std::string& name, bool script, bool bitcode = false);

} // namespace xaas::link
