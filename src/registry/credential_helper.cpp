// Credential helpers: the protocol of docker-credential-helpers. The server's name goes to standard input,
// JSON or an error message comes from standard output. Standard error may contain secrets and is discarded.
#include "credentials.h"

#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::registry {

namespace {

Result<ProcessResult> run_helper(const fs::path& program, const std::string& server,
                                 std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  Command command;
  command.arguments = {program.string(), "get"};
  command.input = server + "\n";
  command.drop_errors = true;
  command.may_leave_processes = true; // such as the agent that keeps its key
  command.most_output = uint64_t(1) << 20;
  command.watch_period = std::chrono::milliseconds(50);
  command.watch = [until]() -> Result<void> {
    if (std::chrono::steady_clock::now() < until)
      return {};
    return make_error(ErrorKind::failed, "it takes too long");
  };
  return run_process(command);
}

bool is_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

} // namespace

Result<std::optional<Credentials>> ask_helper(const std::string& name, const std::string& server,
                                              std::chrono::seconds limit) {
  if (!is_name(name))
    return make_error(ErrorKind::usage, "'" + name + "' is not the name of a credential helper");
  const std::string program = "docker-credential-" + name;
  const std::optional<fs::path> path = find_program(program);
  if (!path)
    return make_error(ErrorKind::missing_tool, "the credential helper " + program + " is not on PATH",
                      "install it, or choose another file with --authfile");
  XAAS_TRY(const ProcessResult result, run_helper(*path, server, limit).in(program));
  const std::string& answer = result.output;
  if (result.exit_code != 0) {
    if (answer.find("credentials not found") != std::string::npos)
      return std::optional<Credentials>();
    return make_error(ErrorKind::failed, program + ": failed for " + server,
                      "`echo " + server + " | " + program + " get` shows what it says");
  }
  const Result<Json> json =
      parse_json(answer, ""); // without the parser's message, which would quote the answer
  if (!json || !json->is_object())
    return make_error(ErrorKind::failed, program + ": its answer is not a JSON object");
  const auto text = [&](const char* key) {
    const auto found = json->find(key);
    return found != json->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Credentials credentials;
  if (text("Username") == "<token>")
    credentials.identity_token = text("Secret");
  else {
    credentials.user = text("Username");
    credentials.password = text("Secret");
  }
  return credentials.empty() ? std::optional<Credentials>() : std::optional<Credentials>(credentials);
}

} // namespace xaas::registry
