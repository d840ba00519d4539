// Linker scripts: simple ones that stand for libraries, and commands in others that name files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::link {

// An input that a script names.
struct ScriptInput {
  std::string name; // a path, "-lfoo" or "=/path"
  bool as_needed = false;
};

struct ScriptGroup {
  bool group = false; // GROUP, else INPUT
  std::vector<ScriptInput> inputs;
};

// The inputs of a script that consists of OUTPUT_FORMAT, GROUP, INPUT and AS_NEEDED alone; nullopt for any
// other text.
std::optional<std::vector<ScriptGroup>> parse_library_script(std::string_view text);

// The first command of a script ("INCLUDE", ...) that makes the linker read or write a file that the script
// names.
std::optional<std::string> file_command(std::string_view text);

} // namespace xaas::link
