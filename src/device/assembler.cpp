#include <xaas/device/assembler.h>

#include "assembler_process.h"

#include <xaas/base/text.h>

#include <csignal>

namespace xaas::device {

namespace {

using target::GpuArch;

constexpr const char *input_name = "kernel.ptx", *output_name = "kernel.cubin";

// The first lines name the error; ptxas may print many more.
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

// Why the output cannot be read, without the name of the directory, which is removed.
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
                      "ptxas has no optimization level " + std::to_string(options.opt_level),
                      "it has 0 to 3");
  std::vector<std::string> arguments = {"-arch=" + arch};
  // ptxas does not optimize code with debug information, and refuses both options together.
  arguments.push_back(options.debug ? "-g" : "-O" + std::to_string(options.opt_level));
  if (options.max_registers)
    arguments.push_back("-maxrregcount=" + std::to_string(options.max_registers));
  if (options.relocatable)
    arguments.emplace_back("-c");
  arguments.insert(arguments.end(), {input_name, "-o", output_name});
  return arguments;
}

} // namespace

Result<std::string> assemble(const Assembler& assembler, const std::string& ptx, const std::string& arch,
                             const AssembleOptions& options) {
  XAAS_TRY(const std::vector<std::string> arguments, arguments_for(arch, options));
  const std::string what = "assembling for " + arch;
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create().in(what));
  XAAS_CHECK(write_file(directory.path() / input_name, ptx, 0600, false).in(what));
  const AssemblerLimits limits{options.time, options.memory ? options.memory : memory_limit()};
  XAAS_TRY(const ProcessResult result,
           run_assembler(assembler.program, arguments, directory.path(), limits).in(what));
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
