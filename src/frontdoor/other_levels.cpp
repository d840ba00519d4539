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
// What the preprocessor prints has the number of lines of predefined macros (`# 391 "<built-in>" 3`), which
// differs and means nothing. Every build gets the number 1.
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
#include "arguments.h"
#include "standard_input.h"

#include <xaas/base/child.h>
#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/file_descriptor.h>
#include <xaas/known/invocation.h>
#include <xaas/known/known.h>
#include <xaas/session/log.h>

#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace xaas::frontdoor {

namespace {

constexpr const char* null_device = "/dev/null";

// What a job does.
struct Effect {
  int exit_code = 0;
  std::string errors, printed;       // standard error and output
  std::optional<std::string> output; // the contents of the file, if it leaves one
  bool operator==(const Effect&) const = default;
};

// Empty if there is none.
std::string output_of(const std::vector<std::string>& job) {
  const auto option = std::find(job.begin(), job.end(), "-o");
  return option == job.end() || std::next(option) == job.end() ? std::string() : *std::next(option);
}

bool is_preprocessor(const std::vector<std::string>& job) {
  return job.size() > 1 && job[1] == "-cc1" && has_word(job, "-E");
}

// With 1 in place of N in `# N "<built-in>" 3`.
std::string without_numbers_of_macros(const std::string& text) {
  std::string result;
  size_t at = 0;
  for (size_t end = 0; at < text.size(); at = end) {
    end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const size_t name = line.starts_with("# ") ? line.find(" \"<built-in>\"") : std::string_view::npos;
    const bool is_number = name != std::string_view::npos && name > 2 &&
                           line.substr(2, name - 2).find_first_not_of("0123456789") == std::string_view::npos;
    result += is_number ? "# 1" + std::string(line.substr(name)) : std::string(line);
  }
  return result;
}

// Runs a job with its output, and what it prints, in `directory`. A file that nobody reads does not count,
// nor one that a failed job leaves.
Result<Effect> run_in(const fs::path& directory, std::vector<std::string> job) {
  XAAS_CHECK(make_directories(directory));
  const std::string output = (directory / "output").string(), printed = (directory / "printed").string(),
                    errors = (directory / "errors").string();
  const std::string own = output_of(job);
  const bool is_file = !own.empty() && own != "-";
  const bool is_text = is_preprocessor(job);
  if (is_file)
    *std::next(std::find(job.begin(), job.end(), "-o")) = output;
  const std::vector<llvm::StringRef> arguments(job.begin(), job.end());
  rewind_standard_input();
  Effect effect;
  effect.exit_code =
      llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt,
                                {std::nullopt, llvm::StringRef(printed), llvm::StringRef(errors)});
  XAAS_TRY(effect.errors, read_file(errors));
  XAAS_TRY(effect.printed, read_file(printed));
  std::error_code code;
  if (is_file && own != null_device && effect.exit_code == 0 && fs::exists(output, code)) {
    XAAS_TRY(effect.output, read_file(output));
  }
  if (is_text)
    effect.printed = without_numbers_of_macros(effect.printed);
  if (is_text && effect.output)
    effect.output = without_numbers_of_macros(*effect.output);
  return effect;
}

Result<void> write_to(int file, const std::string& text) {
  return write_all(file, text) ? Result<void>() : errno_error(errno, "writing what the preprocessor printed");
}

// Does what a job of the preprocessor has done elsewhere.
Result<int> perform(const Effect& effect, const std::string& output) {
  XAAS_CHECK(write_to(STDERR_FILENO, effect.errors));
  XAAS_CHECK(write_to(STDOUT_FILENO, effect.printed));
  if (effect.output && output != "-") { // as compilers write: it may be a pipe
    const FileDescriptor file(open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file)
      return errno_error(errno, "writing " + output);
    XAAS_CHECK(write_to(file.get(), *effect.output));
  }
  return effect.exit_code;
}

// True for a job of the preprocessor or the assembler, or one that only checks a source, that can run again:
// it reads files that stay, and writes one output at most.
bool can_run_again(const session::Session& session, const std::vector<std::string>& job) {
  const bool only_checks = has_word(job, "-fsyntax-only");
  if ((output_of(job).empty() && !only_checks) || has_word(job, "-split-dwarf-output") ||
      !names_only_files(job))
    return false;
  if (job[1] == "-cc1as")
    return true;
  clang::TextDiagnosticBuffer messages;
  const auto invocation = known::parse_command({job.begin() + 2, job.end()}, messages);
  return (is_preprocessor(job) || (job[1] == "-cc1" && only_checks)) && invocation &&
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
  const std::string output = output_of(job);
  const bool prints_text = is_preprocessor(job) && !output.empty() && output != null_device;
  const bool compares =
      !session::equal_levels(session).empty() && job.size() > 1 && can_run_again(session, job);
  if (!compares)
    XAAS_CHECK(differs_at_levels(session, name_of(job), "its effects are not known"));
  if (!compares && !prints_text)
    return run();
  // Not in the project's temporary directory, which may not exist.
  const Result<TemporaryDirectory> directory = TemporaryDirectory::create(session.directory, "job-");
  const Result<Effect> here =
      directory ? run_in(directory->path() / "here", job) : Result<Effect>(directory.error());
  if (!here && prints_text) // this very text has the number of the level's macros
    return here.error();
  if (!here) { // a comparison fails no command
    XAAS_CHECK(differs_at_levels(session, name_of(job), here.error().message));
    rewind_standard_input();
    return run();
  }
  if (compares)
    XAAS_CHECK(compare_levels(session, name_of(job), [&](const std::string& level) {
      const std::vector<std::string> other = at_level(session, job, level);
      if (other == job)
        return "";
      const Result<Effect> there = run_in(directory->path() / level, other);
      return there && *there == *here ? "" : "its output differs";
    }));
  if (prints_text)
    return perform(*here, output);
  rewind_standard_input();
  const int code = run();
  if (code != here->exit_code)
    XAAS_CHECK(differs_at_levels(session, name_of(job), "it does not repeat itself"));
  return code;
}

} // namespace xaas::frontdoor
