#include "device/jobs.h"
#include "device/compile.h"

#include <xaas/base/file.h>

#include <clang/Driver/Action.h>

#include <algorithm>
#include <iostream>

namespace xaas::frontdoor {

namespace {

constexpr std::string_view embed_option = "-fembed-offload-object=";
constexpr std::string_view bundle_option = "-fcuda-include-gpubinary";

std::vector<std::string> words_of(const clang::driver::Command& job) {
  return {job.getArguments().begin(), job.getArguments().end()};
}

// Options of clang-linker-wrapper, which runs the linker (from its help).
constexpr std::string_view wrapper_options[] = {
    "--host-triple=",   "--linker-path=",       "--cuda-path=",
    "--device-linker=", "--device-compiler=",   "--should-extract=",
    "--compress",       "--compression-level=", "--wrapper-verbose",
    "--wrapper-jobs=",  "--wrapper-time-trace", "--embed-bitcode",
    "--save-temps",     "--override-image=",    "--print-wrapped-module"};

bool takes_device_code(const clang::driver::Command& job) {
  return std::any_of(job.getArguments().begin(), job.getArguments().end(), [](const char* word) {
    return bundle_option == word || std::string_view(word).starts_with(embed_option);
  });
}

bool needs(const clang::driver::Action& action, const clang::driver::Action& other) {
  return std::any_of(action.input_begin(), action.input_end(), [&](const clang::driver::Action* input) {
    return input == &other || needs(*input, other);
  });
}

bool compiles(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == "-cc1";
}

// The part that compiles for the host up to IR; null if the last job compiles the source itself.
const clang::driver::Command* host_front_end(const OffloadJobs& jobs) {
  for (const clang::driver::Command* part : jobs.parts)
    if (const std::vector<std::string> words = words_of(*part); compiles(words) && !is_device_compile(words))
      return part;
  return nullptr;
}

void set_value(std::vector<std::string>& words, std::string_view option, const std::string& value) {
  const auto found = std::find(words.begin(), words.end(), option);
  if (found != words.end() && found + 1 != words.end())
    found[1] = value;
}

// Turns the front end's command into one that makes the object.
std::vector<std::string> as_one_command(std::vector<std::string> words, const clang::driver::Command& last) {
  if (!has_word(words_of(last), "-emit-obj") || last.getOutputFilenames().empty())
    return {};
  std::erase(words, "-emit-llvm-uselists");
  std::erase(words, "-disable-llvm-passes");
  std::replace(words.begin(), words.end(), std::string("-emit-llvm-bc"), std::string("-emit-obj"));
  set_value(words, "-o", last.getOutputFilenames().front());
  return {words.begin() + 1, words.end()};
}

// The driver's arguments for the assembler of the code that `part` compiles.
std::vector<std::string> assembler_words(const OffloadJobs& jobs, const clang::driver::Command& part) {
  for (const clang::driver::Command* each : jobs.parts)
    if (fs::path(each->getExecutable()).filename() == "ptxas" && needs(each->getSource(), part.getSource()))
      return words_of(*each);
  return {};
}

} // namespace

std::map<const clang::driver::Command*, OffloadJobs> offload_jobs(clang::driver::Compilation& compilation) {
  std::map<const clang::driver::Command*, OffloadJobs> groups;
  for (clang::driver::Command& host : compilation.getJobs()) {
    if (!takes_device_code(host))
      continue;
    OffloadJobs& jobs = groups[&host];
    jobs.host = &host;
    for (clang::driver::Command& part : compilation.getJobs())
      if (needs(host.getSource(), part.getSource()))
        jobs.parts.push_back(&part);
  }
  return groups;
}

ir::DeviceRuntime runtime_of(const OffloadJobs& jobs) {
  const bool hip = jobs.host->getSource().isHostOffloading(clang::driver::Action::OFK_HIP);
  return hip ? ir::DeviceRuntime::hip : ir::DeviceRuntime::cuda;
}

std::string offload_of(const OffloadJobs& jobs) {
  const std::vector<std::string> words = words_of(*jobs.host);
  if (has_word(words, bundle_option))
    return {};
  if (host_front_end(jobs))
    return "openmp";
  return runtime_of(jobs) == ir::DeviceRuntime::hip ? "hip" : "cuda";
}

bool makes_object(const OffloadJobs& jobs) {
  return has_word(words_of(*jobs.host), "-emit-obj");
}

std::vector<std::string> host_command(const OffloadJobs& jobs, const std::string& placeholder) {
  if (const clang::driver::Command* front_end = host_front_end(jobs))
    return as_one_command(words_of(*front_end), *jobs.host);
  std::vector<std::string> words = words_of(*jobs.host);
  if (!compiles(words))
    return {};
  set_value(words, bundle_option, placeholder);
  std::erase_if(words, [](const std::string& word) { return word.starts_with(embed_option); });
  return {words.begin() + 1, words.end()};
}

DeviceUnits capture_devices(const session::Session& session, const WrittenMachine& written,
                            const OffloadJobs& jobs, const std::string& host_module) {
  DeviceUnits result;
  bool empty = true;
  for (const clang::driver::Command* part : jobs.parts) {
    const std::vector<std::string> words = words_of(*part);
    if (!compiles(words) || !is_device_compile(words))
      continue;
    const DeviceResult device = capture_device(session, written, {words.begin() + 1, words.end()},
                                               assembler_words(jobs, *part), host_module);
    if (device.outcome != CompileOutcome::captured)
      return {device.outcome, device.reason, {}};
    result.units[device.arch] = device.unit;
    empty &= device.empty;
  }
  // Linked device code may be absent if it is empty. A place in the host's module must be filled.
  if (empty && !offload_of(jobs).empty())
    result.units.clear();
  return result;
}

std::vector<std::string> linker_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    const bool of_wrapper =
        std::any_of(std::begin(wrapper_options), std::end(wrapper_options),
                    [&](std::string_view option) { return argument.starts_with(option); });
    if (!of_wrapper)
      words.push_back(argument);
  }
  return words;
}

} // namespace xaas::frontdoor
