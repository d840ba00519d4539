// Sources: GCC's and Clang's manuals, "x86 Options", "AArch64 Options"; ccache(1).
#include "toolchain.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/project/compilers.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unistd.h>

namespace xaas::deploy {

namespace {

std::string own_path() {
  const char* const path = std::getenv("PATH");
  return path ? path : project::usual_path;
}

// The options that a compiler complains about: every option in quotes in its messages.
std::set<std::string> refused_options(const std::string& output, const std::vector<std::string>& flags) {
  std::set<std::string> refused;
  for (const std::string& flag : flags)
    for (const char* quote : {"'", "\xe2\x80\x98", "\""})
      if (output.find(quote + flag) != std::string::npos)
        refused.insert(flag);
  return refused;
}

class FlagFinder {
public:
  FlagFinder(const EnclosedPlace& place, fs::path compiler, const target::Cpu& cpu)
      : place_(place), compiler_(std::move(compiler)), cpu_(cpu) {}

  Result<std::vector<std::string>> run() {
    const bool arm = cpu_.arch == "aarch64";
    const std::string level = target::isa_level(cpu_.arch, cpu_.features);
    const std::vector<std::string> levels = target::isa_levels(cpu_.arch);
    std::vector<std::string> names;
    if (cpu_.name != "generic" && std::find(levels.begin(), levels.end(), cpu_.name) == levels.end())
      names = relatives();
    names.push_back(level);
    for (const std::string& name : names) {
      const bool is_level = name == level;
      const std::string base = (arm && !is_level ? "-mcpu=" : "-march=") + name;
      XAAS_TRY(const bool known, accepts({base}));
      if (!known)
        continue;
      if (arm) // GCC names the features of a CPU beyond its level differently from LLVM
        return std::vector{base};
      return with_features(base, name);
    }
    return std::vector<std::string>();
  }

private:
  static bool is_of_amd(const std::string& name) {
    static const std::vector<std::string> families = {"znver", "bdver",  "btver",  "amdfam",
                                                      "k8",    "athlon", "opteron"};
    return std::any_of(families.begin(), families.end(),
                       [&](const std::string& family) { return name.starts_with(family); });
  }

  // The CPU and, for a compiler that is older than the CPU, the most similar ones: their instruction
  // scheduling suits it, too. GCC does the same for `native`. Features that only the similar CPU has are
  // switched off.
  std::vector<std::string> relatives() const {
    std::vector<std::pair<size_t, std::string>> found;
    const std::vector<std::string> levels = target::isa_levels(cpu_.arch);
    for (const std::string& name : target::cpu_names(cpu_.arch)) {
      const auto features = target::features_of(cpu_.arch, name);
      if (!features || is_of_amd(name) != is_of_amd(cpu_.name) ||
          std::find(levels.begin(), levels.end(), name) != levels.end())
        continue;
      const size_t differences = target::missing_features(*features, cpu_.features).size() +
                                 target::missing_features(cpu_.features, *features).size();
      found.emplace_back(differences, name);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    constexpr size_t most = 8; // each is a run of the compiler
    std::vector<std::string> names = {cpu_.name};
    for (const auto& [count, name] : found)
      if (name != cpu_.name && names.size() < most)
        names.push_back(name);
    return names;
  }

  Result<ProcessResult> compile(const std::vector<std::string>& flags) const {
    Command command;
    command.arguments = {compiler_.string()};
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    command.arguments.insert(command.arguments.end(), {"-S", "-x", "c", "/dev/null", "-o", "/dev/null"});
    command.environment = place_.environment();
    return place_.run(command);
  }

  Result<bool> accepts(const std::vector<std::string>& flags) const {
    XAAS_TRY(const ProcessResult result, compile(flags));
    return result.exit_code == 0;
  }

  // The CPU's actual features, because a virtual machine may hide some.
  Result<std::vector<std::string>> with_features(const std::string& base, const std::string& name) const {
    std::vector<std::string> flags;
    if (const auto implied = target::features_of(cpu_.arch, name)) {
      for (const std::string& feature : target::missing_features(cpu_.features, *implied))
        flags.push_back("-m" + feature);
      for (const std::string& feature : target::missing_features(*implied, cpu_.features))
        flags.push_back("-mno-" + feature);
    }
    constexpr int most_tries = 4; // one message can hide another
    for (int i = 0; i < most_tries; ++i) {
      std::vector<std::string> all = {base};
      all.insert(all.end(), flags.begin(), flags.end());
      XAAS_TRY(const ProcessResult result, compile(all));
      if (result.exit_code == 0)
        return all;
      const std::set<std::string> refused = refused_options(result.output, flags);
      if (refused.empty())
        break;
      std::erase_if(flags, [&](const std::string& flag) { return refused.contains(flag); });
    }
    return std::vector{base};
  }

  const EnclosedPlace& place_;
  fs::path compiler_;
  const target::Cpu& cpu_;
};

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

} // namespace

EnclosedPlace::EnclosedPlace(enclose::Enclosure enclosure, const std::string& path)
    : enclosure_(std::move(enclosure)) {
  path_ = project::directories_of(!path.empty() ? path : is_host() ? own_path() : project::usual_path);
}

Result<ProcessResult> EnclosedPlace::run(const Command& command) const {
  return enclose::run_inside(enclosure_, command);
}

std::optional<fs::path> EnclosedPlace::find_program(const std::string& name) const {
  for (const std::string& candidate : project::program_places(name, path_)) {
    const TreePlace place = find_in_tree(is_host() ? "/" : enclosure_.tree, candidate);
    if (place.type == fs::file_type::regular && access(place.outside.c_str(), X_OK) == 0)
      return fs::path(candidate);
  }
  return std::nullopt;
}

fs::path EnclosedPlace::inside(const fs::path& path) const {
  for (const enclose::BuildMount& mount : enclosure_.mounts) {
    if (path == mount.source)
      return mount.destination;
    if (const fs::path below = relative_under(path, mount.source); !below.empty())
      return mount.destination / below;
  }
  return path;
}

std::map<std::string, std::string> EnclosedPlace::environment() const {
  return {{"PATH", join(path_, ":")}, {"HOME", inside::home}, {"TMPDIR", "/tmp"}, {"LC_ALL", "C"}};
}

Result<Compilers> make_compilers(const EnclosedPlace& place, const spec::Toolchain& toolchain,
                                 const target::Cpu& cpu, const fs::path& tools) {
  const auto find = [&](const std::string& name) { return place.find_program(name); };
  XAAS_TRY(const project::CompilerPaths found, project::find_compilers(toolchain, find));
  const auto& [c, cxx, fortran] = found;
  if (c.empty() && cxx.empty())
    return project::no_compiler();
  Compilers compilers;
  const fs::path first = c.empty() ? cxx : c;
  XAAS_TRY(compilers.flags, FlagFinder(place, first, cpu).run());
  Command version;
  version.arguments = {first.string(), "--version"};
  version.environment = place.environment();
  XAAS_TRY(const ProcessResult said, place.run(version));
  compilers.version = trim(said.output.substr(0, said.output.find('\n')));
  const std::optional<fs::path> cache = place.find_program("ccache");
  compilers.cached = cache.has_value();
  const auto script = [&](const fs::path& compiler) -> Result<fs::path> {
    if (compiler.empty())
      return fs::path();
    std::string line = "#!/bin/sh\nexec ";
    if (cache)
      line += quoted(cache->string()) + " ";
    line += quoted(compiler.string());
    for (const std::string& flag : compilers.flags)
      line += " " + quoted(flag);
    const fs::path name = compiler.filename(); // build systems look at the name
    XAAS_CHECK(write_file(tools / name, line + " \"$@\"\n", 0755));
    return fs::path(inside::tools) / name;
  };
  XAAS_TRY(compilers.tools.c_compiler, script(c.empty() ? cxx : c));
  XAAS_TRY(compilers.tools.cxx_compiler, script(cxx.empty() ? c : cxx));
  XAAS_TRY(compilers.tools.fortran_compiler, script(fortran));
  return compilers;
}

} // namespace xaas::deploy
