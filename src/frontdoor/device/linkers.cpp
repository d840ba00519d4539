#include "device/linkers.h"
#include "arguments.h"
#include "driver_run.h"

#include <xaas/base/process.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace xaas::frontdoor {

namespace {

// Set for the toolkit's own programs, whose calls of other tools run the toolkit's tools.
constexpr const char* by_nvcc = "XAAS_BY_NVCC";

fs::path relocatable_mark(const session::Session& session) {
  return session.directory / "relocatable";
}

// The value of an option with one of `names`, in the next argument or after `=`.
std::optional<std::string> value_of(const std::vector<std::string>& arguments,
                                    std::initializer_list<std::string_view> names) {
  for (size_t i = 0; i < arguments.size(); ++i)
    for (const std::string_view name : names) {
      if (arguments[i] == name && i + 1 < arguments.size())
        return arguments[i + 1];
      if (arguments[i].starts_with(name) && arguments[i].substr(name.size()).starts_with("="))
        return arguments[i].substr(name.size() + 1);
    }
  return std::nullopt;
}

// The outputs of a link of device code; none if the command does something else.
std::vector<std::string> outputs_of(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> outputs;
  if (name == "fatbinary" && !has_word(arguments, "-link") && !has_word(arguments, "--link"))
    return outputs;
  for (const std::initializer_list<std::string_view> names :
       {std::initializer_list<std::string_view>{"-o", "--output-file"},
        {"--register-link-binaries"},
        {"--embedded-fatbin"}})
    if (const std::optional<std::string> output = value_of(arguments, names))
      outputs.push_back(*output);
  return outputs;
}

} // namespace

int run_real_tool(const session::Session& session, const std::string& name,
                  const std::vector<std::string>& arguments, const fs::path& called) {
  const fs::path program = session.cuda / "bin" / name;
  Command command;
  command.arguments = {called.empty() ? program.string() : called.string()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.program = program;
  command.environment[by_nvcc] = "1";
  command.inherit_input = true;
  command.inherit_output = true;
  const Result<ProcessResult> result = run_process(command);
  return result ? result->exit_code : print_error(result.error());
}

bool has_native_relocatable(const session::Session& session) {
  std::error_code code;
  return fs::exists(relocatable_mark(session), code);
}

void note_native_relocatable(const session::Session& session) {
  static_cast<void>(write_file(relocatable_mark(session), "", 0644, false));
}

int run_device_linker(const session::Session& session, const std::string& name,
                      const std::vector<std::string>& arguments) {
  const std::vector<std::string> outputs = outputs_of(name, arguments);
  if (outputs.empty() || std::getenv(by_nvcc) || has_native_relocatable(session))
    return run_real_tool(session, name, arguments);
  for (const std::string& output : outputs)
    if (const Result<void> wrote = write_file(output, "", 0644, false); !wrote)
      return print_error(wrote.error());
  return 0;
}

bool is_device_link_stub(const session::Session& session, const std::vector<std::string>& arguments) {
  return has_word(arguments, "-c") && value_of(arguments, {"-o"}) && !has_native_relocatable(session) &&
         std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& argument) { return argument.ends_with("/crt/link.stub"); });
}

int write_empty_object(const session::Session& session, const std::string& output) {
  const fs::path source = session.directory / "device-link.c";
  if (const Result<void> wrote = write_file(source, "", 0644, false); !wrote)
    return print_error(wrote.error());
  return run_driver(session, {"-fPIC", "-c", source.string(), "-o", output}, Compiler::clang);
}

} // namespace xaas::frontdoor
