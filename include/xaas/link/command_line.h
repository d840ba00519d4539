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
  std::string name; // for FileRef: the file name, for `-lfoo` that of the library file that was found
};

struct ParsedLink {
  OutputKind kind = OutputKind::executable;
  fs::path output; // "a.out" by default; relative paths here, in `maps` and in items are under `directory`
  std::vector<ParsedItem> items;
  std::vector<std::string>
      dropped; // omitted options, which do not change the output ("-Map=x", "--verbose", "-t")
  std::vector<fs::path>
      maps; // files that such options would have written; created empty, so that builds find them
  std::vector<fs::path> plugins;          // pass plugins (--load-pass-plugin), absolute
  std::vector<std::string> llvm_options;  // for them (-mllvm), without dashes: "name", "name=value"
  unsigned lto_level = default_lto_level; // --lto-O
};

// Parses GNU ld arguments (without argv[0]); relative files are under `directory`. Expands `@file`. Searches
// `-lNAME` and `-l:NAME` in the `-L` directories (a leading `=` or `$SYSROOT` is the sysroot, "/") as lld
// does, respecting -Bstatic/-Bdynamic. Replaces implicit linker scripts of OUTPUT_FORMAT, GROUP, INPUT and
// AS_NEEDED alone (glibc's libc.so, libm.so, libgcc_s.so) by their inputs, in groups with
// --push-state/--as-needed/--pop-state; keeps other scripts as inputs. Drops the compiler's own LTO plugin
// and `--plugin-opt`. Failed: a library or file that is not found (in lld's words: "unable to find library
// -lfoo"), an option that is not in the allow list, an option that runs code or reads other files (another
// `-plugin`, `-mllvm` without a pass plugin), with a pass plugin one that replaces the passes of LTO.
Result<ParsedLink> parse_command_line(const std::vector<std::string>& arguments, const fs::path& directory);

} // namespace xaas::link
