// What a makefile makes: the goals of plain `make`, what they need, and whether there is an install step.
//
// Source: GNU make manual, "Reading Makefiles", "Functions for String Substitution".
#pragma once

#include "tree_files.h"

#include <xaas/discover/findings.h>

#include <string>
#include <vector>

namespace xaas::discover {

// Evaluates `path` with its includes, as make would without arguments. Values that only a shell could tell
// are unknown; both branches of a conditional over unknown values are read. Nothing is run. `notes` receives
// what remains unknown.
MakeProducts read_make_products(const TreeFiles& tree, const std::string& path, const std::string& arch,
                                std::vector<std::string>& notes);

} // namespace xaas::discover
