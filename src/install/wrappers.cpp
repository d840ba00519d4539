// POSIX shell, because every system has one. A link to the program would do where neither variables nor PATH
// are needed, but programs that look for their data beside argv[0] would look beside the link.
#include "wrappers.h"

#include <xaas/base/text.h>
#include <xaas/run/run.h>

namespace xaas::install {

std::string script_text(const Script& script) {
  std::string text = "#!/bin/sh\n# " + script.name + " of " + printable(replaced(script.origin, "\n", " ")) +
                     ", written by `xaas install`\n";
  for (const std::string& line : script.lines)
    text += line + "\n";
  if (!script.lines.empty())
    return text;
  if (!script.search_path.empty())
    text += "PATH=" + run::shell_text({join(script.search_path, ":")}) + "${PATH:+:$PATH}\nexport PATH\n";
  for (const auto& [name, value] : script.variables)
    text += "[ \"${" + name + "+set}\" ] || export " + name + "=" + run::shell_text({value}) + "\n";
  return text + "exec " + run::shell_text({script.program}) + " \"$@\"\n";
}

} // namespace xaas::install
