// Problem: a build for another ISA level runs everything again, `configure` and links too, although few
// sources look at the level. Finding all compiles in the cache still costs a third of a native build.
//
// Example: the commands of a build for x86-64, and what they would do for x86-64-v3.
//
//     clang -c conftest.c      fails without AVX2; compiles there           another build from here on
//     clang -E conftest.c      runs there as well: the same text            the same
//     clang -O2 -c a.c         reads no macro that differs, and is plain    the same
//     clang a.o -o a           links the same                               the same
//     clang -c a.S             the assembler makes the same object there    the same
//
// Approach: a build is a function of its files and of what its compilers do. As long as every command does
// the same at the other level, both builds have the same files, so the next command can be compared where it
// runs, with the files that it reads now. If no command differs until the end, the other build would give the
// same, and need not run (build.cpp). The first difference ends the comparison; that level is built.
//
// A compile that is captured is the same if its known outcome serves the level (known.h), and its object is
// the same, too. A compile that fails must fail there. Other jobs are run there as well. Links do not know
// the level. Whatever has no rule here differs.
//
// What only prints the level (`clang -v`) does not count: build systems read libraries and directories from
// that. Nor does the list of macros by which Meson finds out which compiler it has.
//
// Rejected: comparing the files that configure steps leave, because a test may read the level and leave no
// trace; running the build once for all levels, as the program would then not be that of any level.
#include "other_levels.h"
#include "standard_input.h"

#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/session/log.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <unistd.h>

namespace xaas::frontdoor {

namespace {

// The exit code and outputs of a job whose outputs are in `directory`.
struct Effect {
  int exit_code = 0;
  std::vector<std::string> outputs;
  bool operator==(const Effect&) const = default;
};

// Preprocessed text has the number of predefined macros: `# 391 "<built-in>" 3`.
std::string without_numbers_of_macros(const std::string& text) {
  std::string result;
  for (const std::string& line : split(text, '\n')) {
    const size_t name = line.starts_with("# ") ? line.find(" \"<built-in>\"") : std::string::npos;
    result += (name == std::string::npos ? line : "#" + line.substr(name)) + "\n";
  }
  return result;
}

Result<Effect> run_in(const fs::path& directory, std::vector<std::string> job) {
  XAAS_CHECK(make_directories(directory));
  std::vector<fs::path> files = {directory / "output"};
  for (size_t i = 0; i + 1 < job.size(); ++i)
    if (job[i] == "-o" || job[i] == "-dependency-file")
      job[i + 1] = files.emplace_back(directory / std::to_string(i)).string();
  const std::string output = files.front().string();
  const std::vector<llvm::StringRef> arguments(job.begin(), job.end());
  rewind_standard_input();
  Effect effect;
  effect.exit_code = llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt,
                                               {std::nullopt, llvm::StringRef(output), llvm::StringRef("")});
  for (const fs::path& file : files) {
    const Result<std::string> text = read_file(file);
    effect.outputs.push_back(text ? without_numbers_of_macros(*text) : "");
  }
  return effect;
}

// False if the job writes files that run_in() does not know.
bool has_known_outputs(const std::vector<std::string>& job) {
  return std::none_of(job.begin(), job.end(), [](const std::string& word) {
    return word == "-fc1" || word == "-serialize-diagnostic-file" || word == "-split-dwarf-output" ||
           word == "-header-include-file" || word == "-opt-record-file" || word.starts_with("-fmodule") ||
           word.starts_with("-coverage");
  });
}

// True if Meson asks for all predefined macros, of which it looks at none of the instruction set. Projects
// ask in other ways (`compiler.get_define()`).
bool is_list_for_meson(const std::vector<std::string>& job) {
  if (std::find(job.begin(), job.end(), "-dM") == job.end())
    return false;
  const Result<std::string> caller = read_file("/proc/" + std::to_string(getppid()) + "/cmdline");
  if (!caller)
    return false;
  std::vector<std::string> words = split(*caller, '\0');
  words.resize(std::min<size_t>(words.size(), 3)); // after an interpreter and its option
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    const std::string name = fs::path(word).filename().string();
    return name == "meson" || name == "meson.py";
  });
}

} // namespace

std::vector<std::string> at_level(const session::Session& session, std::vector<std::string> job,
                                  const std::string& level) {
  for (size_t i = 0; i + 1 < job.size(); ++i)
    if (job[i] == "-target-cpu" && job[i + 1] == session.level)
      job[i + 1] = level;
  return job;
}

Result<void> compare_levels(const session::Session& session, const std::string& command,
                            const std::function<std::string(const std::string& level)>& difference) {
  for (const std::string& level : session::equal_levels(session))
    if (const std::string found = difference(level); !found.empty())
      XAAS_CHECK(session::note_other_level(session, level, command + ": " + found));
  return {};
}

Result<void> differs_at_levels(const session::Session& session, const std::string& command,
                               const std::string& difference) {
  return compare_levels(session, command, [&](const std::string&) { return difference; });
}

Result<void> compare_program(const session::Session& session, const std::vector<std::string>& job,
                             int exit_code) {
  if (session::equal_levels(session).empty() || is_list_for_meson(job))
    return {};
  if (!has_known_outputs(job))
    return differs_at_levels(session, job.back(), "it writes several files");
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  XAAS_TRY(const Effect here, run_in(directory.path() / "here", job));
  return compare_levels(
      session, fs::path(job.front()).filename().string() + " " + job.back(), [&](const std::string& level) {
        const std::vector<std::string> other = at_level(session, job, level);
        if (other == job)
          return "";
        const Result<Effect> there = run_in(directory.path() / level, other);
        return here.exit_code == exit_code && there && *there == here ? "" : "its output differs";
      });
}

} // namespace xaas::frontdoor
