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
// that.
//
// Rejected: comparing the files that configure steps leave, because a test may read the level and leave no
// trace; running the build once for all levels, as the program would then not be that of any level.
#include "other_levels.h"
#include "standard_input.h"

#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/known/invocation.h>
#include <xaas/known/known.h>
#include <xaas/session/log.h>

#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/Program.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

// What a job does: its exit code, what it prints, and its output.
struct Effect {
  int exit_code = 0;
  std::string printed, output;
  bool operator==(const Effect&) const = default;
};

// Where `-o` is.
std::vector<std::string>::iterator output_of(std::vector<std::string>& job) {
  return std::find(job.begin(), job.end(), "-o");
}

// Preprocessed text has the number of predefined macros: `# 391 "<built-in>" 3`.
std::string without_numbers_of_macros(const std::string& text) {
  std::string result;
  for (const std::string& line : split(text, '\n')) {
    const size_t name = line.starts_with("# ") ? line.find(" \"<built-in>\"") : std::string::npos;
    result += (name == std::string::npos ? line : "#" + line.substr(name)) + "\n";
  }
  return result;
}

constexpr const char* null_device = "/dev/null";

// Runs a job with its output, or what it prints, in `directory`. An output that nobody reads does not count.
Result<Effect> run_in(const fs::path& directory, std::vector<std::string> job) {
  XAAS_CHECK(make_directories(directory));
  const std::string output = (directory / "output").string(), printed = (directory / "printed").string();
  const auto option = output_of(job);
  const bool is_read = option != job.end() && *std::next(option) != null_device;
  if (option != job.end())
    *std::next(option) = output;
  const std::vector<llvm::StringRef> arguments(job.begin(), job.end());
  rewind_standard_input();
  Effect effect;
  effect.exit_code =
      llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt,
                                {std::nullopt, llvm::StringRef(printed), llvm::StringRef(printed)});
  XAAS_TRY(effect.printed, read_file(printed));
  if (effect.exit_code == 0 && is_read) {
    XAAS_TRY(const std::string text, read_file(output));
    effect.output = without_numbers_of_macros(text);
  }
  return effect;
}

// True for a job of the preprocessor or the assembler, or one that only checks a source, that can run again:
// it reads files that stay, and writes one output at most.
bool can_run_again(const session::Session& session, std::vector<std::string> job) {
  const auto has = [&](const char* word) { return std::find(job.begin(), job.end(), word) != job.end(); };
  const auto option = output_of(job);
  const bool only_checks = has("-fsyntax-only");
  if (option == job.end() ? !only_checks : std::next(option) == job.end())
    return false;
  if (has("-split-dwarf-output") || !names_only_files(job))
    return false;
  if (job[1] == "-cc1as")
    return true;
  clang::TextDiagnosticBuffer messages;
  const auto invocation = known::parse_command({job.begin() + 2, job.end()}, messages);
  return job[1] == "-cc1" && (has("-E") || only_checks) && invocation &&
         known::may_be_known(session, *invocation) &&
         invocation->getDependencyOutputOpts().OutputFile.empty();
}

std::string name_of(const std::vector<std::string>& job) {
  return fs::path(job.front()).filename().string() + " " + job.back();
}

} // namespace

bool names_only_files(const std::vector<std::string>& job) {
  return std::none_of(job.begin(), job.end(), [](const std::string& word) {
    if (word == null_device) // empty each time
      return false;
    std::error_code code;
    const fs::file_status status = fs::status(word, code);
    return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  });
}

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

Result<int> run_compared(const session::Session& session, const std::vector<std::string>& job,
                         const std::function<int()>& run) {
  if (session::equal_levels(session).empty())
    return run();
  std::vector<std::string> words = job;
  if (words.size() < 2 || !can_run_again(session, words)) {
    XAAS_CHECK(differs_at_levels(session, name_of(job), "its effects are not known"));
    return run();
  }
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  XAAS_TRY(const Effect here, run_in(directory.path() / "here", words));
  XAAS_CHECK(compare_levels(session, name_of(job), [&](const std::string& level) {
    const std::vector<std::string> other = at_level(session, words, level);
    if (other == words)
      return "";
    const Result<Effect> there = run_in(directory.path() / level, other);
    return there && *there == here ? "" : "its output differs";
  }));
  rewind_standard_input();
  const int code = run();
  if (code != here.exit_code)
    XAAS_CHECK(differs_at_levels(session, name_of(job), "it does not repeat itself"));
  return code;
}

} // namespace xaas::frontdoor
