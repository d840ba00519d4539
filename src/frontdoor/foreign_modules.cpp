#include "foreign_modules.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <set>

namespace xaas::frontdoor {

namespace {

using ArgumentList = std::vector<std::string>;

// gfortran compresses its module files with gzip.
bool is_gfortrans(const fs::path& module) {
  const Result<std::string> content = read_file(module);
  return content && content->starts_with("\x1f\x8b");
}

ArgumentList include_directories(const ArgumentList& command) {
  ArgumentList directories;
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-I")
      directories.push_back(fs::absolute(command[i + 1]).string());
  return directories;
}

// Makes mpi.mod in `place`, atomically, because several compilers may do so at the same time.
Result<void> make_module(const fs::path& flang, const ArgumentList& directories, const fs::path& place) {
  XAAS_CHECK(make_directories(place.parent_path()));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(place.parent_path(), "making-"));
  const fs::path source = work.path() / "mpi.f90";
  XAAS_CHECK(write_file(source, "module mpi\ninclude 'mpif.h'\nend module\n", 0644, false));
  const fs::path modules = work.path() / "modules";
  XAAS_CHECK(make_directories(modules));
  Command command;
  command.arguments = {flang.string(), "-fsyntax-only", "-module-dir", modules.string()};
  for (const std::string& directory : directories)
    command.arguments.push_back("-I" + directory);
  command.arguments.push_back(source.string());
  XAAS_TRY(const ProcessResult result, run_process(command));
  if (result.exit_code != 0)
    return make_error(ErrorKind::failed, "flang cannot read mpif.h").with_output(result.output);
  std::error_code code;
  fs::rename(modules, place, code); // fails if another compiler was first
  return fs::exists(place / "mpi.mod", code) ? Result<void>()
                                             : errno_error(code.value(), "creating " + place.string());
}

constexpr std::string_view complaint = ": error: Cannot parse module file for module '";

// The module that an error line names, if it is one.
std::string module_of(const std::string& line) {
  const size_t at = line.find(complaint);
  if (at == std::string::npos)
    return {};
  const size_t name = at + complaint.size();
  return line.substr(name, line.find('\'', name) - name);
}

// True for an error about gzip's magic number.
bool speaks_of_gzip(const std::string& line) {
  return line.find("bad character (0x1f)") != std::string::npos ||
         line.find("bad character (0x8b)") != std::string::npos;
}

} // namespace

ArgumentList with_mpi_module(const session::Session& session, const fs::path& flang, ArgumentList command) {
  const ArgumentList directories = include_directories(command);
  const auto gfortrans =
      std::find_if(directories.begin(), directories.end(), [](const std::string& directory) {
        std::error_code code;
        return fs::exists(fs::path(directory) / "mpi.mod", code);
      });
  if (gfortrans == directories.end() || !is_gfortrans(fs::path(*gfortrans) / "mpi.mod"))
    return command;
  const fs::path place = session.directory / "modules" / digest_of(join(directories, "\n")).hex();
  std::error_code code;
  // Tried once for these directories; if flang cannot read mpif.h, the place stays empty.
  if (!fs::exists(place, code) && !make_module(flang, directories, place))
    static_cast<void>(make_directories(place));
  if (!fs::exists(place / "mpi.mod", code))
    return command;
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-I" && fs::absolute(command[i + 1]) == *gfortrans) {
      const std::string ours[] = {"-I", place.string()};
      command.insert(command.begin() + static_cast<std::ptrdiff_t>(i), std::begin(ours), std::end(ours));
      break;
    }
  return command;
}

std::optional<std::string> explain_foreign_modules(const std::string& messages) {
  const std::vector<std::string> lines = split(messages, '\n');
  std::set<std::string> foreign;
  for (const std::string& line : lines)
    if (speaks_of_gzip(line))
      foreign.insert(module_of(line));
  foreign.erase("");
  if (foreign.empty())
    return std::nullopt;
  std::string result;
  std::set<std::string> said;
  bool skipping = false; // the source lines below an error
  for (const std::string& line : lines) {
    const std::string module = module_of(line);
    if (foreign.count(module)) {
      skipping = !said.insert(module).second;
      if (!skipping)
        result += line.substr(0, line.find(complaint)) + ": error: the file of module '" + module +
                  "' was written by another compiler (gfortran); flang cannot read it\n";
      continue;
    }
    if (line.find(": error: ") != std::string::npos || line.find(": warning: ") != std::string::npos)
      skipping = false;
    if (!skipping)
      result += line + "\n";
  }
  return result;
}

} // namespace xaas::frontdoor
