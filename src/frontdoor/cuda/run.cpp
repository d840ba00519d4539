#include "cuda/run.h"
#include "c/compile.h"
#include "cuda/nvcc.h"
#include "cuda/options.h"
#include "cuda/second_try.h"
#include "device/compile.h"
#include "device/linkers.h"
#include "driver_run.h"
#include "hip/hip_arguments.h"

#include <xaas/session/log.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

namespace xaas::frontdoor {

namespace {

constexpr const char* relocatable_reason = "relocatable device code of objects that nvcc compiled";

// True if nvcc's answer has the paths of nvcc and its toolkit, which builds read (CMake: `#$ TOP=`).
bool tells_places(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    for (const char* word : {"-v", "--verbose", "-dryrun", "--dryrun", "-#"})
      if (argument == word)
        return true;
    return false;
  });
}

// nvcc derives its path from the name that it was called by. If the answer has this path, nvcc is called by
// the name in the mirrored toolkit, whose nvcc is the front door.
int run_real_nvcc(const session::Session& session, const std::vector<std::string>& arguments) {
  return run_real_tool(session, "nvcc", arguments,
                       tells_places(arguments) ? session.shadow_cuda() / "bin" / "nvcc" : fs::path());
}

// The objects that a command makes and names.
std::vector<fs::path> nvcc_objects(const std::vector<std::string>& arguments,
                                   const OptionsFileReader& reader) {
  std::vector<fs::path> objects;
  const Result<NvccCommand> command = parse_nvcc(arguments, reader);
  if (!command)
    return objects;
  for (const NvccGiven& given : command->options)
    if (given.option && given.option->name == "--output-file" && !given.values.empty())
      return {given.values.front()};
  for (const std::string& input : command->inputs)
    objects.push_back(fs::path(input).filename().replace_extension(".o"));
  return objects;
}

// Device code that is not relocatable is complete in each object, so its link is a link of host code only.
// Without a CUDA source, -fopenmp with an architecture would ask for target regions, and link LLVM's library
// for them.
std::vector<std::string> without_device_link(std::vector<std::string> arguments, bool has_cuda) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "-Xoffload-linker")
      ++i;
    else if (arguments[i] != "--offload-link" && (has_cuda || !arguments[i].starts_with("--offload-arch=")))
      kept.push_back(std::move(arguments[i]));
  return kept;
}

// Has nvcc link the relocatable device code that it compiled, into an object for the link of the host code.
// Deploying links the device code of our units.
Result<std::optional<fs::path>> link_device_code(const session::Session& session,
                                                 const std::vector<std::string>& arguments,
                                                 const NvccTranslation& translated) {
  if (translated.phase != NvccPhase::link || !has_native_relocatable(session))
    return std::optional<fs::path>();
  const fs::path object = session.directory / "device-links" /
                          (digest_of(fs::absolute(translated.output).string()).hex().substr(0, 16) + ".o");
  XAAS_CHECK(make_directories(object.parent_path()));
  std::vector<std::string> command;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "-o" || arguments[i] == "--output-file")
      ++i;
    else if (!arguments[i].starts_with("--output-file="))
      command.push_back(arguments[i]);
  command.insert(command.end(), {"-dlink", "-o", object.string()});
  if (run_real_nvcc(session, command) != 0)
    return make_error(ErrorKind::failed, "nvcc cannot link the device code of " + translated.output);
  note_native_object(session, object, relocatable_reason);
  return std::optional(object);
}

// A command that makes a file of device code alone from one source (-ptx, -cubin, -fatbin).
struct AskedFile {
  link::DeviceFile::Form form = link::DeviceFile::Form::ptx;
  std::vector<std::string> arguments; // of a command that makes an object instead
  fs::path output;
};

std::optional<AskedFile> asked_file(const std::vector<std::string>& arguments,
                                    const OptionsFileReader& reader) {
  using Form = link::DeviceFile::Form;
  const std::map<std::string_view, Form> forms = {
      {"--ptx", Form::ptx}, {"--cubin", Form::cubin}, {"--fatbin", Form::fatbin}};
  const Result<NvccCommand> command = parse_nvcc(arguments, reader);
  std::optional<AskedFile> asked;
  if (!command || command->inputs.size() != 1)
    return asked;
  fs::path output, directory;
  for (const NvccGiven& given : command->options) {
    const auto form = given.option ? forms.find(given.option->name) : forms.end();
    if (form != forms.end()) {
      asked = AskedFile{form->second, arguments, {}};
      std::erase(asked->arguments, given.spelling);
    } else if (given.option && given.option->name == "--output-file" && !given.values.empty()) {
      output = given.values.front();
    } else if (given.option && given.option->name == "--output-directory" && !given.values.empty()) {
      directory = given.values.front();
    }
  }
  if (asked) {
    const std::string name = fs::path(command->inputs[0]).stem().string() + "." + to_string(asked->form);
    asked->output = output.empty() ? directory / name : output;
    asked->arguments.emplace_back("-c");
  }
  return asked;
}

// nvcc's default architecture (its documentation, "GPU Code Generation").
std::string default_gpu(const session::Session& session) {
  constexpr int64_t first_with_turing = 13000; // CUDA_VERSION
  return cuda_version(session).value_or(0) >= first_with_turing ? "sm_75" : "sm_52";
}

// Of a source that Clang has refused.
Result<int> compile_again(const session::Session& session, const NvccTranslation& translation,
                          std::vector<std::string> words) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  XAAS_TRY(const std::vector<std::string> more,
           second_try(cuda_version(session), translation.inputs, directory.path()));
  words.insert(words.begin(), more.begin(), more.end());
  return run_driver(session, words, Compiler::clangxx);
}

// nvcc makes the file, which the build may read; the source is captured as well.
int make_asked_file(const session::Session& session, const std::vector<std::string>& arguments,
                    const AskedFile& asked, const NvccContext& context) {
  if (const int code = run_real_nvcc(session, arguments); code != 0)
    return code;
  const Result<NvccTranslation> translated = clang_arguments(asked.arguments, context);
  if (translated && translated->is_query)
    return 0;
  std::string reason = translated ? "" : translated.error().message;
  if (translated) {
    std::vector<std::string> gpus = translated->gpu_archs;
    if (gpus.empty())
      gpus = {default_gpu(session)};
    std::vector<std::string> words = with_architectures(*translated, {gpus.front()});
    words.insert(words.end(), {"--cuda-device-only", "-Wno-unknown-cuda-version"});
    const std::vector<DeviceCommand> commands = list_device_commands(session, words);
    if (commands.size() == 1)
      capture_device_file(session, commands.front(), gpus, asked.form, asked.output);
    else
      reason = "clang has no command of its own for it";
  }
  if (!reason.empty())
    note_native_object(session, asked.output, reason);
  return 0;
}

} // namespace

int run_nvcc(const session::Session& session, const std::vector<std::string>& arguments) {
  NvccContext context;
  context.toolkit = session.cuda;
  context.first_headers = session.first_cuda_headers();
  context.read = [](const std::string& name) { return read_file(name); };
  if (const std::optional<AskedFile> asked = asked_file(arguments, context.read))
    return make_asked_file(session, arguments, *asked, context);
  const Result<NvccTranslation> translated = clang_arguments(arguments, context);
  std::string reason = !translated ? translated.error().message : "";
  const bool links_devices = translated && translated->phase == NvccPhase::device_link;
  if (translated && translated->phase == NvccPhase::archive)
    reason = "nvcc's own archives";
  if (links_devices && has_native_relocatable(session))
    reason = relocatable_reason;
  std::vector<std::string> gpus = gpus_of(session, target::GpuArch::Vendor::nvidia);
  if (gpus.empty() && translated)
    gpus = translated->gpu_archs;
  if (gpus.empty())
    gpus = {default_gpu(session)};
  for (const std::string& gpu : gpus)
    if (!gpu.starts_with("sm_")) // native, all, all-major
      reason = "-arch=" + gpu;
  if (translated && translated->is_verbose)
    reason = "-v";
  const bool asks = translated && translated->is_query;
  if (!asks && reason.empty()) {
    if (links_devices)
      return write_empty_object(session, translated->output.empty() ? "a_dlink.o" : translated->output);
    const Result<std::optional<fs::path>> linked = link_device_code(session, arguments, *translated);
    if (!linked)
      return print_error(linked.error());
    std::vector<std::string> words =
        without_device_link(with_architectures(*translated, gpus), translated->has_cuda);
    if (*linked)
      words.insert(words.end(), {"-x", "none", (*linked)->string(), "-lcudadevrt"});
    const int code = run_driver(session, words, Compiler::clangxx);
    const bool compiles = translated->phase == NvccPhase::compile;
    if (code == 0 || !translated->has_cuda || !(compiles || translated->phase == NvccPhase::link))
      return code;
    const Result<int> again = compile_again(session, *translated, std::move(words));
    if (!again)
      return print_error(again.error());
    if (*again == 0 || !compiles)
      return *again;
    reason = "source that nvcc compiles and Clang does not";
  }
  const int code = run_real_nvcc(session, arguments);
  if (code == 0 && translated && translated->relocatable_device_code)
    note_native_relocatable(session);
  if (code == 0 && !asks)
    for (const fs::path& object : nvcc_objects(arguments, context.read)) {
      note_native_object(session, object, reason);
      if (reason != "-v") // the build reads nvcc's own output
        std::cerr << "xaas: note: made by nvcc itself, not captured: " << object.string() << ": " << reason
                  << "\n";
    }
  return code;
}

} // namespace xaas::frontdoor
