// Linker scripts: the simple ones that stand for libraries, and the commands of others that name files.
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

// The inputs of a script that has nothing but OUTPUT_FORMAT, GROUP, INPUT and AS_NEEDED; nullopt for any
// other text.
std::optional<std::vector<ScriptGroup>> parse_library_script(std::string_view text);

// The first command of a script that makes the linker read or write files that the script names ("INCLUDE",
// ...).
std::optional<std::string> file_command(std::string_view text);

} // namespace xaas::link
