// Problem: Meson asks every compiler for its predefined macros and its directories. The answers name the
// level, so a Meson project would have no level that need not be built (other_levels.cpp).
//
// Example: the questions, and what Meson reads in the answers.
//
//     clang -E -dM -         __clang_major__, __ELF__, __x86_64__, ...
//     clang -xc -E -v -      the directories of headers
//
// Approach: nothing that Meson reads depends on the level, so all levels get the answer of the lowest one.
// The parent process shows who asks. For the commands of a project, which may look for __AVX2__, Meson sets
// MESON_SOURCE_ROOT, or starts itself with another command than `setup`.
//
// Rejected: the same answer for all who ask this way; answers that differ and do not count, because Meson
// keeps them in a file.
#include "meson.h"
#include "arguments.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/target/cpu.h>

#include <cstdlib>
#include <unistd.h>

namespace xaas::frontdoor {

namespace {

// The words of a process: `/usr/bin/python3 /usr/bin/meson setup build`.
std::vector<std::string> command_of(pid_t process) {
  const Result<std::string> text = read_file("/proc/" + std::to_string(process) + "/cmdline");
  return text ? split(*text, '\0') : std::vector<std::string>();
}

bool is_meson(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  return name == "meson" || name == "meson.py";
}

// True for `meson setup`, with or without an interpreter before it.
bool sets_up(const std::vector<std::string>& command) {
  for (size_t i = 0; i < 3 && i + 1 < command.size(); ++i)
    if (is_meson(command[i]))
      return command[i + 1] == "setup";
  return false;
}

} // namespace

bool is_question_of_meson(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.back() == "-" && has_word(arguments, "-E") &&
         (has_word(arguments, "-dM") || has_word(arguments, "-v")) &&
         std::getenv("MESON_SOURCE_ROOT") == nullptr && sets_up(command_of(getppid()));
}

session::Session at_lowest_level(session::Session session) {
  if (!session.level.empty())
    session.level = target::isa_levels(session.arch).front();
  session.other_levels.clear();
  return session;
}

} // namespace xaas::frontdoor
