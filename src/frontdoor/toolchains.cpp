// Finds the Clang and the flang that capture a build.
#include "installed_toolkit.h"

#include <xaas/base/process.h>
#include <xaas/frontdoor/toolchains.h>
#include <xaas/session/session.h>

#include <array>
#include <cstdlib>

namespace xaas::frontdoor {

namespace {

struct Compiler {
  const char* name;     // as users write it
  const char* words;    // before the version in the output of `--version`
  const char* variable; // environment variable with the path to use
  const char* hint;
  std::array<const char*, 2> programs; // candidates otherwise, in this order
};

constexpr Compiler clang = {"Clang",
                            "clang version ",
                            "XAAS_CLANG",
                            "install clang-22, or set XAAS_CLANG to its path",
                            {XAAS_LLVM_TOOLS "/clang", "clang-22"}};
constexpr Compiler flang = {"flang",
                            "flang version ",
                            "XAAS_FLANG",
                            "install flang-22, or set XAAS_FLANG to its path",
                            {XAAS_LLVM_TOOLS "/flang", "flang-22"}};

constexpr const char* missed_flang_file = "missed-flang";

// The headers and the compiler must match the front end's own version, and so must bitcode.
Result<fs::path> checked(const Compiler& compiler, const fs::path& program) {
  const std::string_view words = compiler.words;
  const std::string wanted =
      std::string(XAAS_LLVM_VERSION).substr(0, std::string(XAAS_LLVM_VERSION).find('.'));
  XAAS_TRY(const ProcessResult asked, run_process({.arguments = {program.string(), "--version"}}));
  const size_t at = asked.output.find(words);
  if (asked.exit_code != 0 || at == std::string::npos)
    return make_error(ErrorKind::missing_tool, program.string() + ": is not " + compiler.name);
  const std::string version = asked.output.substr(
      at + words.size(), asked.output.find_first_of(" \n", at + words.size()) - at - words.size());
  if (version.substr(0, version.find('.')) != wanted)
    return make_error(ErrorKind::missing_tool, program.string() + ": is " + compiler.name + " " + version +
                                                   ", and " + compiler.name + " " + wanted + " is needed");
  return fs::weakly_canonical(program);
}

// Nothing if there is none; an error if the variable names none. `others` collects the programs of other
// versions.
Result<std::optional<fs::path>> find(const Compiler& compiler, std::string& others) {
  if (const char* path = std::getenv(compiler.variable); path && *path) {
    const std::optional<fs::path> found = find_program(path);
    Result<fs::path> program =
        found ? checked(compiler, *found) : make_error(ErrorKind::missing_tool, "there is no such program");
    if (!program)
      return std::move(program)
          .error()
          .in(std::string(compiler.variable) + "=" + path)
          .with_hint(compiler.hint);
    return std::optional(*std::move(program));
  }
  for (const char* name : compiler.programs)
    if (const auto found = find_program(name)) {
      Result<fs::path> program = checked(compiler, *found);
      if (program)
        return std::optional(*std::move(program));
      if (program.error().kind == ErrorKind::interrupted)
        return std::move(program).error();
      others += "; " + program.error().message;
    }
  return std::optional<fs::path>();
}

} // namespace

Result<fs::path> find_clang() {
  std::string others;
  XAAS_TRY(const std::optional<fs::path> found, find(clang, others));
  if (found)
    return *found;
  return make_error(ErrorKind::missing_tool,
                    "clang-22 is needed to build an image, and is neither on PATH nor in " XAAS_LLVM_TOOLS +
                        others,
                    clang.hint);
}

Result<std::optional<fs::path>> find_flang() {
  std::string others;
  return find(flang, others);
}

std::optional<fs::path> find_cuda() {
  for (const fs::path& place : toolkit_places({"CUDA_PATH", "CUDA_HOME"}, "nvcc", {"/usr/local/cuda"})) {
    std::error_code code;
    // A wrapper in /usr/local/bin has a directory `include` beside it, too.
    if (fs::is_regular_file(place / "bin" / "nvcc", code) &&
        fs::is_regular_file(place / "include" / "cuda_runtime.h", code))
      return place;
  }
  return std::nullopt;
}

session::Nasm find_nasm() {
  const std::optional<fs::path> program = find_program("nasm");
  if (!program)
    return {};
  const Result<Digest> digest = digest_of_file(*program);
  return digest ? session::Nasm{*program, *digest} : session::Nasm();
}

Error missing_flang() {
  return make_error(ErrorKind::missing_tool,
                    "flang-22 is needed to compile Fortran, and is neither on PATH nor in " XAAS_LLVM_TOOLS,
                    flang.hint);
}

Error note_missing_flang(const session::Session& session) {
  static_cast<void>(write_file(session.directory / missed_flang_file, "", 0644, false));
  return missing_flang();
}

bool missed_flang(const session::Session& session) {
  std::error_code code;
  return fs::exists(session.directory / missed_flang_file, code);
}

} // namespace xaas::frontdoor
