// The linker's command line, as compilers and builds write it, turned into typed items with resolved files.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/link/record.h>

#include <string>
#include <vector>

namespace xaas::link {

// As LinkItem, but files are still paths on this machine.
struct ParsedItem {
  LinkItem::Kind kind = LinkItem::Kind::input;
  std::string option, value;
  fs::path file;
  std::string name; // name for FileRef: file name, or for `-lfoo` the name of the library file that was found
};

struct ParsedLink {
  OutputKind kind = OutputKind::executable;
  fs::path
      output; // "a.out" if none was given; like `maps` and the files of items under `directory` if relative
  std::vector<ParsedItem> items;
  std::vector<std::string>
      dropped; // options that change no output and are left out ("-Map=x", "--verbose", "-t")
  std::vector<fs::path>
      maps; // files that such options would have written: made empty so that builds find them
};

// Parses GNU ld arguments (without argv[0]); relative files are under `directory`. `-lNAME`, `-l:NAME` are
// searched in the `-L` directories (a leading `=` or
// `$SYSROOT` is the sysroot, "/") as lld does, respecting -Bstatic/-Bdynamic; implicit linker scripts with
// nothing but OUTPUT_FORMAT, GROUP, INPUT and AS_NEEDED (glibc's libc.so, libm.so, libgcc_s.so) become their
// inputs, in groups with
// --push-state/--as-needed/--pop-state; other scripts are kept as inputs. `@file` is expanded.
// Errors: a library or file that is not found (failed; with lld's words: "unable to find library -lfoo"), an
// option that is not in the allow list (failed; the option is named), one that runs code or reads other files
// (`-plugin` other than the compiler's own LTO plugin, which is dropped; `--plugin-opt` likewise dropped).
Result<ParsedLink> parse_command_line(const std::vector<std::string>& arguments, const fs::path& directory);

} // namespace xaas::link
