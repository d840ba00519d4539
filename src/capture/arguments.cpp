#include "arguments.h"

#include <xaas/target/cpu.h>

#include <algorithm>
#include <set>

namespace xaas::capture {

namespace {

// Options whose value is the next argument: that value is not an option, whatever it looks like.
const std::set<std::string>& options_with_value() {
  static const std::set<std::string> options = {
      "-o",         "-I",           "-D",      "-U",       "-include",
      "-imacros",   "-x",           "-Xclang", "-Xlinker", "-Xassembler",
      "-MF",        "-MT",          "-MQ",     "-isystem", "-iquote",
      "-idirafter", "-isysroot",    "-L",      "-l",       "-mllvm",
      "-e",         "-u",           "-T",      "-z",       "-Xpreprocessor",
      "-iprefix",   "-iwithprefix", "-target", "-arch",    "-rpath",
      "-G",         "-A",           "-B",      "-F",       "-framework",
      "-dumpdir",   "-dumpbase"};
  return options;
}

bool is_dropped(const std::string& argument) {
  for (const char* prefix :
       {"-flto", "-fno-lto", "-fuse-ld=", "-save-temps", "--save-temps", "-ffat-lto-objects",
        "-fno-fat-lto-objects", "-fwhole-program-vtables", "-fuse-linker-plugin", "-fno-use-linker-plugin"})
    if (argument.starts_with(prefix))
      return true;
  return argument.starts_with("-gsplit-dwarf");
}

bool changes_triple(const std::string& argument) {
  return argument == "-m32" || argument == "-mx32" || argument == "-m16" || argument == "-target" ||
         argument.starts_with("--target");
}

} // namespace

Arguments front_door_arguments(const Session& session, const std::vector<std::string>& arguments) {
  Arguments result;
  std::vector<std::string> own;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    result.written.other_triple |= changes_triple(argument);
    if (options_with_value().count(argument) && i + 1 < arguments.size()) {
      own.push_back(argument);
      own.push_back(arguments[++i]);
      continue;
    }
    if (is_dropped(argument))
      continue;
    if (argument.starts_with("-march="))
      result.written.march = argument.substr(7);
    if (argument.starts_with("-mtune="))
      result.written.mtune = argument.substr(7);
    if (argument == "-march=native") {
      own.push_back("-march=" +
                    (session.level.empty() ? target::isa_levels(session.arch).front() : session.level));
      continue;
    }
    if (argument == "-mtune=native")
      continue;
    own.push_back(argument);
  }

  // Options that an invocation does not use (a link has no use for a prefix map) must not be warned about.
  result.all.push_back("--start-no-unused-arguments");
  if (!session.level.empty() && !result.written.other_triple)
    result.all.push_back("-march=" + session.level);
  for (const auto& [prefix, name] : session.prefixes)
    result.all.push_back("-ffile-prefix-map=" + prefix.string() + "=" + name);
  result.all.push_back("-fno-record-command-line");
  result.all.push_back("--end-no-unused-arguments");
  result.all.insert(result.all.end(), own.begin(), own.end());
  return result;
}

} // namespace xaas::capture
