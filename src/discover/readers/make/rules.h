// What a makefile makes: the goals of plain `make`, what they need, and whether there is an install step.
//
// Source: GNU make manual, "Reading Makefiles", "Functions for String Substitution".
#pragma once

#include "tree_files.h"

#include <xaas/discover/findings.h>

#include <string>
#include <vector>

namespace xaas::discover {

// Evaluates `path` with its includes as make would without arguments. What only a shell could tell is
// unknown; of a conditional over unknown values both branches are read. Nothing is run. `notes` gets what is
// not known.
MakeProducts read_make_products(const TreeFiles& tree, const std::string& path, const std::string& arch,
                                std::vector<std::string>& notes);

} // namespace xaas::discover
