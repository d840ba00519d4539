// Names of symbols for people.
#pragma once

#include <map>
#include <set>
#include <string>

namespace xaas::ir {

// The name in the source of each symbol, as `scale(float*, int)` of `_Z5scalePfi`. A name that is not
// mangled, or whose name in the source is too long, is itself. The names are untrusted, and a short one can
// stand for gigabytes: a worker (base/worker.h) reads them, and if it does not finish, every name is itself.
// Must be called from a process with one thread.
std::map<std::string, std::string> demangled(const std::set<std::string>& names);

} // namespace xaas::ir
