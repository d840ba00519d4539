// Device code's own link.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::link {

// Links objects for AMD's GPUs, all for one architecture, into a code object, as Clang's driver does
// (clang/lib/Driver/ToolChains/HIPAMD.cpp): a shared object that leaves nothing undefined. The linker is a
// child process, as that of replay(), and must be called from a process with one thread. An undefined symbol
// or another error of the link: failed. A file that is no object: integrity error.
Result<std::string> link_code_object(const std::vector<std::string>& objects);

} // namespace xaas::link
