// What the help of a configure script says about an option.
#pragma once

#include <xaas/discover/findings.h>

#include <optional>
#include <string>

namespace xaas::discover {

// The value without the option, as the help gives it. Nothing if it does not.
std::optional<bool> default_in_help(const std::string& help);

// An option, from its name ("with-mpi"), the left side of its help line ("--with-mpi[=DIR]"), and the rest of
// that line.
Option option_of(const std::string& name, const std::string& left, const std::string& help, Place place);

} // namespace xaas::discover
