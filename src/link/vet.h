// Checks of link inputs, whatever the record calls them.
#pragma once

#include <xaas/base/file.h>

namespace xaas::link {

// Refuses, with an integrity error that names the file: bitcode, an archive with bitcode, a thin archive (it
// names files), and a linker script that names files. `script`: lld reads the file as a script, whatever it
// looks like. `bitcode`: the file may be or contain bitcode.
Result<void> vet_input(const fs::path& path, const std::string& name, bool script, bool bitcode = false);

} // namespace xaas::link
