#include "hip/hipcc.h"

#include "arguments.h"
#include "driver_run.h"
#include "driver_words.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace xaas::frontdoor {

namespace {

bool is_hip_source(const std::string& argument) {
  for (const char* ending : {".cpp", ".cxx", ".cc", ".c++", ".C", ".cu", ".hip"})
    if (!argument.starts_with("-") && argument.ends_with(ending))
      return true;
  return false;
}

// True for options that stop before a program is linked.
bool stops_early(const std::string& argument) {
  for (const char* option : {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--genco", "--cuda-device-only"})
    if (argument == option)
      return true;
  return false;
}

// Translates hipcc's own words into Clang's; nothing for a word that Clang knows as well.
std::optional<std::vector<std::string>> translated(const std::string& argument) {
  constexpr std::string_view target = "--amdgpu-target=";
  if (argument.starts_with(target)) {
    std::vector<std::string> words;
    for (const std::string& arch : split(argument.substr(target.size()), ','))
      words.push_back("--offload-arch=" + arch);
    return words;
  }
  if (argument == "--genco")
    return std::vector<std::string>{"--cuda-device-only"};
  if (argument == "-use_fast_math" || argument == "--use_fast_math")
    return std::vector<std::string>{"-DHIP_FAST_MATH"};
  if (argument == "--hipcc-func-supp" || argument == "--hipcc-no-func-supp") // LLVM decides about inlining
    return std::vector<std::string>();
  return std::nullopt;
}

// HIP's full version, such as "5.2.21153", from its own file.
std::string full_version(const session::Rocm& rocm) {
  std::string version;
  const Result<std::string> text = read_file(rocm.root / "share" / "hip" / "version");
  for (const char* part : {"MAJOR", "MINOR", "PATCH"})
    for (const std::string& line : text ? split(*text, '\n') : std::vector<std::string>())
      if (const std::string words = std::string("HIP_VERSION_") + part + "="; line.starts_with(words))
        version += (version.empty() ? "" : ".") + line.substr(words.size());
  return version;
}

} // namespace

std::vector<std::string> clang_arguments_of_hipcc(const session::Session& session,
                                                  const std::vector<std::string>& arguments) {
  // A language option applies to all sources.
  const bool says_language = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument.starts_with("-x");
  });
  std::vector<std::string> words = {"-D__HIP_PLATFORM_AMD__=1"};
  if (session.rocm.root != "/usr")
    words.insert(words.end(), {"-isystem", (session.rocm.root / "include").string()});
  bool optimizes = false, links = true, any_input = false;
  for (const DriverOption& option : parse_driver(arguments)) {
    const std::string& argument = option.word();
    optimizes |= argument.starts_with("-O");
    links &= !stops_early(argument);
    any_input |= !argument.starts_with("-");
    if (option.words.size() > 1) {
      words.insert(words.end(), option.words.begin(), option.words.end());
    } else if (!says_language && is_hip_source(argument)) {
      words.insert(words.end(), {"-x", "hip", argument, "-x", "none"});
    } else if (const auto own = translated(argument)) {
      words.insert(words.end(), own->begin(), own->end());
    } else {
      words.push_back(argument);
    }
  }
  if (!optimizes)
    words.insert(words.begin(), "-O3");
  if (links && any_input)
    words.emplace_back("--hip-link");
  return words;
}

int run_hipcc(const session::Session& session, const std::vector<std::string>& arguments) {
  if (const char* platform = std::getenv("HIP_PLATFORM");
      platform && (std::string_view(platform) == "nvidia" || std::string_view(platform) == "nvcc"))
    return print_error(
        make_error(ErrorKind::failed,
                   "hipcc for NVIDIA's GPUs (HIP_PLATFORM=" + std::string(platform) + ") is not supported",
                   "call nvcc, or unset HIP_PLATFORM for AMD's GPUs"));
  const auto asks = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  if (asks("--short-version")) {
    std::cout << full_version(session.rocm) << "\n";
    return 0;
  }
  if (asks("--version"))
    std::cout << "HIP version: " << full_version(session.rocm) << std::endl;
  return run_driver(session, clang_arguments_of_hipcc(session, arguments), Compiler::clangxx);
}

} // namespace xaas::frontdoor
