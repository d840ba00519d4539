// Problem: PTX is made of a stranger's IR, and ptxas is a large program that nobody made for strangers' PTX.
//
// Approach: it runs as a child of the supervisor that all commands have (nothing outlives it), with an empty
// environment, no descriptors but the three standard ones, no privileges to gain, limits of CPU time, memory
// and file size, and a directory of its own, where input and output have fixed names: so nothing of this
// machine gets into the machine code, and what it leaves goes. PTX names no files for ptxas to read: it has
// no include directive, and `.file` is only a name.
//
// Rejected: base/confine.h, whose filter of system calls lets nobody start a program, on purpose; NVIDIA's
// library of the same compiler (libnvptxcompiler), which would have to be linked.
#include <xaas/device/assembler.h>

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

namespace xaas::device {

namespace {

using target::GpuArch;

// Of one source's kernels; and of what ptxas prints, of which we show the first lines.
constexpr uint64_t largest_cubin = uint64_t(1) << 30, most_said = uint64_t(1) << 24;
constexpr const char *input_name = "kernel.ptx", *output_name = "kernel.cubin";

struct Limits {
  std::chrono::seconds time;
  uint64_t memory;
};

// --- running it

// Runs the program with these arguments in this directory.
Result<ProcessResult> run_limited(const fs::path& program, const std::vector<std::string>& arguments,
                                  const fs::path& directory, const Limits& limits) {
  Command command;
  command.arguments = {program.string()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.directory = directory;
  command.inherit_environment = false;
  command.at_once = true;
  command.most_output = most_said;
  command.limits = {.cpu_time = limits.time, .memory = limits.memory, .file_size = largest_cubin};
  const auto clock = 4 * limits.time;
  const auto start = std::chrono::steady_clock::now();
  command.watch = [&]() -> Result<void> {
    if (std::chrono::steady_clock::now() - start < clock)
      return {};
    return make_error(ErrorKind::failed,
                      program.string() + ": not done after " + std::to_string(clock.count()) + " s");
  };
  command.watch_period = std::chrono::milliseconds(200);
  return run_process(command);
}

// --- finding it

std::vector<fs::path> directories(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<fs::path> all;
  for (const std::string& part : split(value ? value : "", ':'))
    all.emplace_back(part);
  return all;
}

// "cuda-12.4" -> 12.4
std::optional<CudaRelease> release_in_name(const fs::path& directory) {
  constexpr std::string_view prefix = "cuda-";
  const std::string name = directory.filename().string();
  if (!name.starts_with(prefix))
    return std::nullopt;
  const Result<CudaRelease> release = parse_cuda_release(name.substr(prefix.size()));
  return release ? std::optional(*release) : std::nullopt;
}

// The toolkits beside the default one, the newest first.
std::vector<fs::path> versioned_toolkits(const fs::path& local) {
  std::vector<std::pair<CudaRelease, fs::path>> found;
  std::error_code code;
  for (fs::directory_iterator it(local, code), end; !code && it != end; it.increment(code))
    if (const std::optional<CudaRelease> release = release_in_name(it->path()))
      found.emplace_back(*release, it->path());
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> toolkits;
  for (auto& [release, path] : found)
    toolkits.push_back(std::move(path));
  return toolkits;
}

std::vector<fs::path> candidates(const AssemblerPlaces& places) {
  std::vector<fs::path> all;
  const auto add = [&](const fs::path& directory) {
    if (directory.is_absolute())
      all.push_back(directory / "ptxas");
  };
  for (const fs::path& directory : places.path)
    add(directory);
  std::vector<fs::path> toolkits = places.toolkits;
  toolkits.push_back(places.local / "cuda");
  const std::vector<fs::path> versioned = versioned_toolkits(places.local);
  toolkits.insert(toolkits.end(), versioned.begin(), versioned.end());
  for (const fs::path& toolkit : toolkits)
    add(toolkit / "bin");
  return all;
}

// "Cuda compilation tools, release 13.0, V13.0.88"
std::optional<Assembler> assembler_that_says(const std::string& text, const fs::path& program) {
  constexpr std::string_view mark = ", release ", middle = ", V";
  const size_t at = text.find(mark), version = text.find(middle, at);
  if (at == std::string::npos || version == std::string::npos)
    return std::nullopt;
  const size_t start = at + mark.size();
  const Result<CudaRelease> release = parse_cuda_release(text.substr(start, version - start));
  const size_t first = version + middle.size();
  const std::string whole = text.substr(first, text.find_first_not_of("0123456789.", first) - first);
  if (!release || !parse_cuda_release(whole))
    return std::nullopt;
  return Assembler{program, *release, whole};
}

Result<Assembler> ask(const fs::path& program) {
  constexpr Limits limits{std::chrono::seconds(10), uint64_t(1) << 32};
  XAAS_TRY(const ProcessResult said, run_limited(program, {"--version"}, "/", limits));
  if (const std::optional<Assembler> assembler = assembler_that_says(said.output, program))
    return *assembler;
  return make_error(ErrorKind::missing_tool, program.string() + " does not say which version of ptxas it is");
}

// --- what it says

// The first lines, which say what is wrong; ptxas may go on for long.
std::string first_lines(const std::string& text) {
  constexpr size_t most_lines = 10, most_bytes = 2000;
  std::vector<std::string> lines = split(trim(text.substr(0, most_bytes)), '\n');
  if (lines.size() > most_lines)
    lines.resize(most_lines);
  return printable(join(lines, "\n"));
}

Error refused(const Assembler& assembler, const std::string& arch, const ProcessResult& result) {
  const std::string ptxas = "ptxas " + assembler.version;
  const auto says = [&](const char* words) { return result.output.find(words) != std::string::npos; };
  constexpr const char* instead =
      "an assembler of a newer or older CUDA toolkit may; or let PTX serve, which "
      "the driver assembles";
  if (says("is not defined for option 'gpu-name'"))
    return make_error(ErrorKind::unsatisfied,
                      assembler.program.string() + " (" + ptxas + ") does not know " + arch, instead);
  const std::string what = "assembling for " + arch + ": ";
  if (says("Unsupported .version"))
    return make_error(ErrorKind::unsatisfied, what + ptxas + " does not know the PTX's version",
                      "write PTX of an older version, or use an assembler of a newer CUDA toolkit")
        .with_output(first_lines(result.output));
  constexpr int by_signal = 128;
  const int signal = result.exit_code - by_signal;
  std::string message = ptxas + " ends with " + std::to_string(result.exit_code);
  if (signal == SIGXCPU)
    message = ptxas + " used up its time";
  else if (signal == SIGXFSZ)
    message = ptxas + " writes too much";
  else if (signal == SIGKILL || signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS)
    message = ptxas + " was ended by signal " + std::to_string(signal);
  else if (const std::string lines = first_lines(result.output); !lines.empty())
    message = lines.substr(0, lines.find('\n'));
  return make_error(ErrorKind::failed, what + message).with_output(first_lines(result.output));
}

// What is wrong with the output, without the name of a directory that is gone when somebody reads it.
std::string why_none(const Error& error, const fs::path& directory) {
  const std::string above = directory.string() + "/";
  return error.message.starts_with(above) ? ": " + error.message.substr(above.size()) : "";
}

Result<std::vector<std::string>> arguments_for(const std::string& arch, const AssembleOptions& options) {
  XAAS_TRY(const GpuArch parsed, target::parse_gpu_arch(arch));
  if (parsed.vendor != GpuArch::Vendor::nvidia)
    return make_error(ErrorKind::usage, "ptxas makes no code for " + arch);
  if (options.opt_level > 3)
    return make_error(ErrorKind::usage,
                      "ptxas has no optimisation level " + std::to_string(options.opt_level),
                      "it has 0 to 3");
  std::vector<std::string> arguments = {"-arch=" + arch};
  // It optimises nothing that is to be debugged, and refuses to be asked for both.
  arguments.push_back(options.debug ? "-g" : "-O" + std::to_string(options.opt_level));
  if (options.max_registers)
    arguments.push_back("-maxrregcount=" + std::to_string(options.max_registers));
  if (options.relocatable)
    arguments.emplace_back("-c");
  arguments.insert(arguments.end(), {input_name, "-o", output_name});
  return arguments;
}

} // namespace

AssemblerPlaces places_of_environment(const fs::path& given) {
  AssemblerPlaces places;
  places.given = given;
  places.path = directories("PATH");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const value = std::getenv(variable); value && *value)
      places.toolkits.emplace_back(value);
  return places;
}

Result<Assembler> find_assembler(const AssemblerPlaces& places) {
  if (!places.given.empty()) {
    const fs::path program = fs::absolute(places.given);
    std::error_code code;
    if (!fs::exists(program, code))
      return make_error(ErrorKind::not_found, program.string() + ": no such file");
    return ask(program);
  }
  std::vector<std::string> silent;
  for (const fs::path& candidate : candidates(places)) {
    if (!find_program(candidate.string()))
      continue;
    Result<Assembler> assembler = ask(candidate);
    if (assembler || assembler.error().kind == ErrorKind::interrupted)
      return assembler;
    silent.push_back(assembler.error().message);
  }
  return make_error(ErrorKind::missing_tool,
                    "there is no ptxas" + (silent.empty() ? "" : " that works: " + join(silent, "; ")),
                    "install a CUDA toolkit, or name one's directory in CUDA_HOME; or let PTX serve, which "
                    "the driver assembles");
}

Result<std::string> assemble(const Assembler& assembler, const std::string& ptx, const std::string& arch,
                             const AssembleOptions& options) {
  XAAS_TRY(const std::vector<std::string> arguments, arguments_for(arch, options));
  const std::string what = "assembling for " + arch;
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create().in(what));
  XAAS_CHECK(write_file(directory.path() / input_name, ptx, 0600, false).in(what));
  const Limits limits{options.time, options.memory ? options.memory : memory_limit()};
  XAAS_TRY(const ProcessResult result,
           run_limited(assembler.program, arguments, directory.path(), limits).in(what));
  if (result.exit_code != 0)
    return refused(assembler, arch, result);
  Result<std::string> cubin = read_plain_file(directory.path() / output_name, largest_cubin);
  if (!cubin || !cubin->starts_with("\x7f"
                                    "ELF"))
    return make_error(ErrorKind::failed, what + ": ptxas " + assembler.version + " made no cubin" +
                                             (cubin ? "" : why_none(cubin.error(), directory.path())))
        .with_output(first_lines(result.output));
  return cubin;
}

} // namespace xaas::device
