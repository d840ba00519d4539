// Problem: a program's code comes from the build and from the machine. Of the machine's, some chooses
// instructions at run time (the string functions of a static libc.a), and some runs on every CPU (crt1.o,
// libgcc.a). All of it lies outside the build, and the names of start files differ between compilers.
//
// Example: the linker command line of `clang -pie empty.o`, shortened
//
//     -pie Scrt1.o crti.o crtbeginS.o empty.o -lgcc --as-needed -lgcc_s --no-as-needed -lc crtendS.o crtn.o
//
// All files are the driver's, because the program has none. `-lc` is the linker script libc.so here, which
// adds libc_nonshared.a; with -static it is libc.a.
//
// Approach: the driver plans a link of an empty program for each of its ways to link that have start files of
// their own. The inputs count, without `-lc` where that is an archive.
//
// Rejected: the inputs that the driver adds to each link of the build, because libtool names the start files
// itself; files outside the build, because libc.a is one of them.
#include <xaas/frontdoor/start_files.h>

#include "driver_run.h"

#include <xaas/link/command_line.h>
#include <xaas/link/note.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

constexpr const char* empty_program = "empty.o";

// Clang's driver chooses start files by these options (clang/lib/Driver/ToolChains/Gnu.cpp, Linux.cpp).
const std::vector<std::vector<std::string>> ways_to_link = {
    {}, {"-no-pie"}, {"-shared"}, {"-static"}, {"-static-pie"}, {"-pg"}, {"-ffast-math"}};

// The inputs of a link that need no search; none if the machine lacks one of its files.
std::vector<link::ParsedItem> inputs_of(const LinkerArguments& arguments) {
  const Result<link::ParsedLink> parsed = link::parse_command_line(arguments, "/");
  std::vector<link::ParsedItem> inputs;
  if (parsed)
    std::copy_if(parsed->items.begin(), parsed->items.end(), std::back_inserter(inputs),
                 [](const link::ParsedItem& item) { return item.kind == link::LinkItem::Kind::input; });
  return inputs;
}

bool is_static(const LinkerArguments& arguments) {
  return std::find(arguments.begin(), arguments.end(), "-static") != arguments.end();
}

} // namespace

Result<std::set<Digest>> start_files(const session::Session& session) {
  std::set<fs::path> files; // most ways have most of them
  for (std::vector<std::string> way : ways_to_link) {
    way.emplace_back(empty_program);
    for (LinkerArguments& arguments : list_links(session, way)) {
      std::erase(arguments, empty_program);
      if (is_static(arguments))
        std::erase(arguments, "-lc");
      for (const link::ParsedItem& input : inputs_of(arguments))
        files.insert(input.file);
    }
  }
  std::set<Digest> digests;
  for (const fs::path& file : files) {
    XAAS_TRY(const std::string content, read_file(file));
    digests.insert(digest_of(content));
  }
  return digests;
}

} // namespace xaas::frontdoor
