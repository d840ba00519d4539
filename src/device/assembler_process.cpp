// Problem: PTX is made from untrusted IR, and ptxas is a large program that was not written for untrusted
// input.
//
// Approach: ptxas runs as a child of the supervisor that all commands have, so nothing outlives the command.
// It gets an empty environment, only the three standard descriptors, no way to gain privileges, limits of CPU
// time, memory and file size, and a directory of its own. Input and output have fixed names there, so nothing
// of this machine gets into the machine code, and the directory is removed afterwards. PTX names no files for
// ptxas to read: it has no include directive, and `.file` is only a name.
//
// Rejected: base/confine.h, whose system-call filter deliberately lets no process start a program; NVIDIA's
// library of the same compiler (libnvptxcompiler), which would have to be linked.
#include "assembler_process.h"

namespace xaas::device {

namespace {

constexpr uint64_t most_output = uint64_t(1) << 24; // messages show its first lines

} // namespace

Result<ProcessResult> run_assembler(const fs::path& program, const std::vector<std::string>& arguments,
                                    const fs::path& directory, const AssemblerLimits& limits) {
  Command command;
  command.arguments = {program.string()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.directory = directory;
  command.inherit_environment = false;
  command.at_once = true;
  command.most_output = most_output;
  command.limits = {.cpu_time = limits.time, .memory = limits.memory, .file_size = limits.file};
  const auto clock = 4 * limits.time;
  const auto start = std::chrono::steady_clock::now();
  command.watch = [&]() -> Result<void> {
    if (std::chrono::steady_clock::now() - start < clock)
      return {};
    return make_error(ErrorKind::failed,
                      program.string() + ": not finished after " + std::to_string(clock.count()) + " s");
  };
  command.watch_period = std::chrono::milliseconds(200);
  return run_process(command);
}

} // namespace xaas::device
