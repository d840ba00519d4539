// Assembling with NASM, whose results are known where another configuration or build made them.
#pragma once

#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// What is left of a command line of NASM for the key of its result, and for asking for its dependencies.
struct NasmCommand {
  std::string source, output;
  std::vector<std::string> meaning; // options that may change the object, in their order
  bool lists = false;               // it writes its dependencies, too (-MD),
  std::string dependencies;         // into this file
  std::vector<std::string> naming;  // options of the rule in that file (-MT, -MQ, -MP)
};

// Nothing if the command does not assemble one file into one object, or has an option whose effect is not
// known (NASM 2.16.03 manual, chapter 2).
std::optional<NasmCommand> parse_nasm(const std::vector<std::string>& arguments);

// The files of the first rule of a makefile. Nothing if a name has characters that make treats specially.
std::optional<std::vector<std::string>> files_of_rule(const std::string& makefile);

// Whether the text of an included file may read more than files, arguments and the text itself: bytes that
// the assembler includes, the environment, the date, the number of the pass.
bool reads_more_than_text(std::string_view text);

// Does what the session's NASM does with these arguments. Returns the exit status.
int run_nasm(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
