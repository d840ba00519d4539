// Links of device code for AMD's GPUs.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::link {

// Links objects for one architecture into a code object, a shared object without undefined symbols, as
// Clang's driver does (clang/lib/Driver/ToolChains/HIPAMD.cpp). The linker is a child process, as in
// replay(), so this must be called from a process with one thread. An undefined symbol or another link error:
// failed. A file that is not an object: integrity error.
Result<std::string> link_code_object(const std::vector<std::string>& objects);

} // namespace xaas::link
