// lld in a worker.
//
// lld keeps state in the process and may end it, and its inputs can be hostile. A worker is forked without
// exec, so no program has to be found and started.
#include "linker_process.h"

#include "vet.h"

#include <xaas/base/worker.h>

#include <lld/Common/Driver.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace xaas::link {
namespace {

constexpr size_t message_limit = 16u << 20; // bytes of messages to keep

// Shows "in/3/x.o" as "x.o".
std::string without_private_paths(const std::string& messages) {
  std::string clean;
  size_t at = 0;
  while (at < messages.size()) {
    size_t end = at + 3;
    const bool starts =
        messages.compare(at, 3, "in/") == 0 &&
        (at == 0 || !(std::isalnum(static_cast<unsigned char>(messages[at - 1])) || messages[at - 1] == '/'));
    while (starts && end < messages.size() && std::isdigit(static_cast<unsigned char>(messages[end])))
      ++end;
    if (starts && end > at + 3 && end < messages.size() && messages[end] == '/')
      at = end + 1;
    else
      clean.push_back(messages[at++]);
  }
  return clean;
}

// Whose fault a crash is, if not ours.
std::string fault_of(const LinkerLimits& limits) {
  return limits.plugins.empty() ? "" : lower::fault_of_plugin;
}

// The error for a link that failed with this exit code.
Error link_error(int code, const std::string& messages, const LinkerLimits& limits) {
  constexpr int first_signal = 128; // lld turns a signal into 128 + its number
  if (code >= first_signal)
    return crash_error("the linker crashed with signal " + std::to_string(code - first_signal),
                       fault_of(limits));
  if (messages.find(std::strerror(EFBIG)) != std::string::npos)
    return make_error(ErrorKind::failed,
                      "its output has more than the " + std::to_string(limits.max_bytes) + " bytes allowed");
  return make_error(ErrorKind::failed, messages.empty() ? "the linker failed without a message" : messages);
}

// In the worker.
Result<std::string> link(const std::vector<std::string>& arguments, const std::vector<VettedInput>& inputs,
                         const LinkerLimits& limits) {
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { _exit(no_memory_status); }); // of malloc
  // Now, because lld reads their options before it loads them, and says nothing of a value that is refused.
  XAAS_CHECK(lower::load_plugins(limits.plugins));
  XAAS_CHECK(lower::set_plugin_options(limits.plugins));
  for (const VettedInput& input : inputs)
    if (const auto vetted = vet_input(input.path, input.name, input.script, input.bitcode); !vetted)
      return make_error(ErrorKind::integrity, without_private_paths(vetted.error().message));
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(argument.c_str());
  std::string printed;
  llvm::raw_string_ostream output(printed);
  const lld::Result result = lld::lldMain(pointers, output, output, {{lld::Gnu, &lld::elf::link}});
  output.flush();
  printed.resize(std::min(printed.size(), message_limit));
  const std::string messages = without_private_paths(printed);
  const int code = result.retCode & 0xff;
  return code == 0 ? Result<std::string>(messages) : link_error(code, messages, limits);
}

} // namespace

Result<std::string> run_linker(const std::vector<fs::path>& directories,
                               const std::vector<std::string>& arguments,
                               const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                               const LinkerLimits& limits) {
  std::vector<fs::path> readable = files;
  for (const lower::PluginUse& use : limits.plugins)
    readable.insert(readable.end(), use.plugin.libraries.begin(), use.plugin.libraries.end());
  return run_worker([&] { return link(arguments, inputs, limits); }, {.cpu_seconds = limits.cpu_seconds,
                                                                      .readable = readable,
                                                                      .writable = directories,
                                                                      .max_file = limits.max_bytes,
                                                                      .name = "the linker",
                                                                      .fault = fault_of(limits)});
}

} // namespace xaas::link
