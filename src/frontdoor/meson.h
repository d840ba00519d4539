// Questions that Meson asks a compiler for itself.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// True if Meson runs the command to learn about the compiler: `clang -E -dM -`, `clang -xc -E -v -`. False
// for commands of the project.
bool is_question_of_meson(const std::vector<std::string>& arguments);

// The same session at the lowest level, which it does not compare with others.
session::Session at_lowest_level(session::Session session);

} // namespace xaas::frontdoor
