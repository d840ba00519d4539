#include "check.h"
#include "schema.h"

#include <xaas/base/text.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>
#include <xaas/target/gpu.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace xaas::spec {
namespace {

using Assignment = std::map<std::string, std::string>;

std::string at(const std::string& array, size_t index) {
  return array + "/" + std::to_string(index);
}

std::vector<std::string> all_levels() {
  std::vector<std::string> levels;
  for (const std::string& arch : architectures())
    for (const std::string& level : target::isa_levels(arch))
      levels.push_back(level);
  return levels;
}

bool is_cpu(const std::string& name) {
  return std::any_of(architectures().begin(), architectures().end(),
                     [&](const std::string& arch) { return bool(target::features_of(arch, name)); });
}

// Words to suggest: the ISA levels and the features of a few CPUs with many. A feature that none of them has
// is only missing as a suggestion.
std::vector<std::string> known_cpu_words() {
  std::vector<std::string> words = all_levels();
  for (const std::string& arch : architectures())
    for (const char* cpu : {"sapphirerapids", "bdver4", "neoverse-v2", "a64fx"})
      if (const auto features = target::features_of(arch, cpu))
        words.insert(words.end(), features->begin(), features->end());
  return words;
}

class Checker {
public:
  Checker(Application& application, const std::string& name) : application_(application), name_(name) {}

  Result<void> run() {
    XAAS_CHECK(point_names());
    XAAS_CHECK(levels());
    XAAS_CHECK(gpus());
    for (size_t i = 0; i < application_.points.size(); ++i)
      XAAS_CHECK(point(application_.points[i], at("/specializations", i)));
    XAAS_CHECK(cycles());
    XAAS_CHECK(assignments(application_.exclude, "/exclude"));
    XAAS_CHECK(assignments(application_.configurations, "/configurations"));
    XAAS_CHECK(build());
    XAAS_CHECK(install());
    XAAS_CHECK(toolchain());
    XAAS_CHECK(downloads());
    XAAS_CHECK(host());
    return image();
  }

private:
  Error wrong(const std::string& pointer, const std::string& message, std::string hint = {}) const {
    return error_at(name_, pointer, message, std::move(hint));
  }

  Result<void> point_names() const {
    std::set<std::string> names;
    for (size_t i = 0; i < application_.points.size(); ++i) {
      const std::string& point = application_.points[i].name;
      const std::string place = at("/specializations", i) + "/name";
      if (point == "isa")
        return wrong(place, "\"isa\" names the built-in point", "list its levels under `isa`");
      if (!names.insert(point).second)
        return wrong(place, "\"" + point + "\" names two points");
    }
    return {};
  }

  Result<void> levels() const {
    if (!application_.isa)
      return {};
    for (size_t i = 0; i < application_.isa->size(); ++i)
      if (const std::string& level = (*application_.isa)[i]; !is_level(level))
        return wrong(at("/isa", i), "\"" + level + "\" is not an ISA level", suggestion(level, all_levels()));
    return {};
  }

  Result<void> gpus() const {
    for (size_t i = 0; i < application_.gpu.size(); ++i)
      if (const auto known = target::gpu_arch(application_.gpu[i]); !known)
        return wrong(at("/gpu", i), known.error().message, known.error().hint);
    return {};
  }

  Result<void> point(const SpecializationPoint& point, const std::string& place) const {
    for (size_t i = 0; i < point.values.size(); ++i) {
      const std::string inner = at(place + "/values", i);
      const Requirement& required = point.values[i].requires_;
      XAAS_CHECK(cpu(required.cpu, inner + "/requires/cpu"));
      XAAS_CHECK(libraries(required.libraries, inner + "/requires/library"));
      XAAS_CHECK(assignment(required.values, inner + "/requires/values"));
      if (application_.build.system == BuildSystem::commands)
        XAAS_CHECK(variables(point.values[i].arguments, inner + "/arguments"));
    }
    if (point.follows_isa)
      XAAS_CHECK(follower(point, place));
    for (size_t i = 0; i < point.prefer.size(); ++i)
      for (size_t j = 0; j < point.prefer[i].cpu.size(); ++j)
        if (const std::string& name = point.prefer[i].cpu[j]; !names_a_cpu(name))
          return wrong(at(at(place + "/prefer", i) + "/cpu", j),
                       "\"" + name + "\" is not a CPU that LLVM knows", suggested_cpu(name));
    return {};
  }

  // The level alone decides its value, so there must be one for every level, and nothing else to consider.
  Result<void> follower(const SpecializationPoint& point, const std::string& place) const {
    if (!point.default_.empty() || !point.prefer.empty())
      return wrong(place + (point.default_.empty() ? "/prefer" : "/default"),
                   "point " + point.name + " follows `isa`, so nothing else chooses its value",
                   "remove `" + std::string(point.default_.empty() ? "prefer" : "default") + "`");
    if (!point.values.front().requires_.cpu.empty())
      return wrong(place + "/values/0/requires/cpu",
                   "point " + point.name + " follows `isa` and has no value for levels without " +
                       join(point.values.front().requires_.cpu, ", "),
                   "put a value first that requires nothing");
    for (size_t i = 0; i < point.values.size(); ++i) {
      Requirement others = point.values[i].requires_;
      others.cpu.clear();
      if (!others.empty() || point.values[i].from_source)
        return wrong(at(place + "/values", i),
                     "a value of point " + point.name + ", which follows `isa`, can only require a CPU");
    }
    return {};
  }

  // The nearest CPU name of any architecture, or the nearest family ("znver*") if the word ends in `*`.
  static std::string suggested_cpu(const std::string& word) {
    const bool is_family = word.ends_with('*');
    std::vector<std::string> names;
    for (const std::string& arch : architectures())
      for (std::string name : target::cpu_names(arch)) {
        if (is_family)
          name = name.substr(0, name.find_last_not_of("0123456789") + 1) + "*";
        names.push_back(std::move(name));
      }
    const std::string hint = suggestion(word, names);
    return !hint.empty() ? hint : "`clang --print-supported-cpus` lists them; `*` stands for any characters";
  }

  Result<void> libraries(const std::vector<Requirement::Library>& all, const std::string& place) const {
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].from == Requirement::From::image && !all[i].version.empty())
        return wrong(at(place, i) + "/version",
                     "\"" + all[i].version +
                         "\": the image contains the library of the build machine, in whatever version",
                     "remove `version`");
    return {};
  }

  Result<void> cpu(const std::vector<std::string>& words, const std::string& place) const {
    if (words.size() == 1 && is_cpu(words[0]))
      return {};
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (std::any_of(architectures().begin(), architectures().end(),
                      [&](const std::string& arch) { return target::is_feature(arch, word); }))
        continue;
      if (is_cpu(word))
        return wrong(place, "\"" + word + "\" is an ISA level or a CPU, and must be the only element",
                     "list features, or one level");
      std::string hint = suggestion(word, known_cpu_words());
      return wrong(place, "\"" + word + "\" is neither a CPU feature nor an ISA level that LLVM knows",
                   hint.empty() ? suggested_cpu(word) : hint);
    }
    return {};
  }

  Result<void> assignment(const Assignment& values, const std::string& place) const {
    for (const auto& [point, value] : values) {
      std::vector<std::string> known;
      if (point == "isa" && (!application_.isa || !application_.isa->empty())) {
        known = application_.isa ? *application_.isa : all_levels();
      } else {
        std::vector<std::string> points = {"isa"};
        for (const SpecializationPoint& other : application_.points) {
          if (other.follows_isa && other.name == point)
            return wrong(place + pointer_token(point), "point " + point + " follows `isa` and is not chosen",
                         "name the level: \"isa\"");
          points.push_back(other.name);
          if (other.name == point)
            for (const Value& candidate : other.values)
              known.push_back(candidate.value);
        }
        if (known.empty())
          return wrong(place + pointer_token(point), "\"" + point + "\" is not a specialization point",
                       suggestion(point, points));
      }
      if (std::find(known.begin(), known.end(), value) == known.end()) {
        std::string hint = suggestion(value, known);
        return wrong(place + pointer_token(point), "\"" + value + "\" is not a value of point " + point,
                     hint.empty() ? "its values: " + join(known, ", ") : hint);
      }
    }
    return {};
  }

  Result<void> assignments(const std::vector<Assignment>& all, const std::string& place) const {
    for (size_t i = 0; i < all.size(); ++i)
      XAAS_CHECK(assignment(all[i], at(place, i)));
    return {};
  }

  // Follows `requires.values` from every value. A path back to the point of that value means that the value
  // requires itself, or another value of its own point, and can never be chosen.
  Result<void> cycles() const {
    for (size_t i = 0; i < application_.points.size(); ++i)
      for (size_t j = 0; j < application_.points[i].values.size(); ++j) {
        const SpecializationPoint& point = application_.points[i];
        const std::string path = path_to(point.name, point.values[j]);
        if (!path.empty())
          return wrong(at(at("/specializations", i) + "/values", j) + "/requires/values",
                       "a cycle: " + point.name + "=" + point.values[j].value + path);
      }
    return {};
  }

  const Value* find(const std::string& name, const std::string& value) const {
    for (const SpecializationPoint& point : application_.points)
      if (point.name == name)
        return point.find(value);
    return nullptr;
  }

  // The shortest path from `value` to any value of the point `start`, as " requires a=b requires ..."; empty:
  // there is none.
  std::string path_to(const std::string& start, const Value& value) const {
    struct Step {
      const Value* value;
      size_t before; // index of the step that led here
      std::string text;
    };
    std::vector<Step> steps = {{&value, 0, ""}};
    std::set<const Value*> seen;
    for (size_t i = 0; i < steps.size(); ++i)
      for (const auto& [name, wanted] : steps[i].value->requires_.values) {
        std::string text = " requires " + name + "=" + wanted;
        if (name == start) {
          for (size_t j = i; j != 0; j = steps[j].before)
            text = steps[j].text + text;
          return text;
        }
        if (const Value* next = find(name, wanted); next && seen.insert(next).second)
          steps.push_back({next, i, text});
      }
    return {};
  }

  Result<void> variables(const std::vector<std::string>& arguments, const std::string& place) const {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const size_t equals = arguments[i].find('=');
      const std::string variable = arguments[i].substr(0, equals);
      const bool named = !variable.empty() && !std::isdigit(static_cast<unsigned char>(variable[0])) &&
                         std::all_of(variable.begin(), variable.end(),
                                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      if (equals == std::string::npos || !named)
        return wrong(at(place, i), "\"" + arguments[i] + "\" is not NAME=value",
                     "with the build system `commands`, arguments are environment variables");
    }
    return {};
  }

  Result<void> build() {
    Build& build = application_.build;
    XAAS_CHECK(directory());
    if (build.system == BuildSystem::commands) {
      XAAS_CHECK(variables(build.arguments, "/build/arguments"));
      if (!build.targets.empty())
        return wrong("/build/targets", "the build system `commands` has no targets");
      if (build.install_command == "target" || build.install_target)
        return wrong("/build/install", "the build system `commands` has no install target",
                     "give a shell command or a list of files");
      if (build.install_command.empty() && build.install.empty())
        return wrong("/build/install", "missing: nothing would be installed",
                     "give a shell command or a list of files");
      return {};
    }
    for (const auto& [key, command] : {std::pair("/build/configure", &build.configure_command),
                                       std::pair("/build/build", &build.build_command)})
      if (!command->empty())
        return wrong(key, "\"" + *command + "\": a shell command needs the build system `commands`, not " +
                              to_string(build.system));
    if (!build.install_command.empty() && build.install_command != "target")
      return wrong("/build/install",
                   "\"" + build.install_command + "\" is neither \"target\" nor a list of files",
                   "a shell command needs the build system `commands`");
    build.install_command.clear();
    return {};
  }

  // The normal form of a relative path to a file below its root; empty if it is not one.
  static std::string normal_relative(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    if (normal.is_absolute() || normal.empty() || !normal.has_filename() || normal == "." ||
        *normal.begin() == "..")
      return {};
    return normal.generic_string();
  }

  Result<void> directory() {
    Build& build = application_.build;
    if (build.directory.empty())
      return {};
    if (build.system == BuildSystem::commands)
      return wrong("/build/directory", "the build system `commands` starts in the source directory",
                   "start the commands with `cd " + build.directory + "`");
    fs::path normal = fs::path(build.directory).lexically_normal();
    if (!normal.has_filename()) // "cmake/"
      normal = normal.parent_path();
    if (normal.is_absolute() || *normal.begin() == "..")
      return wrong("/build/directory", "\"" + build.directory + "\" is not a directory below the sources",
                   "give a path relative to the sources, without `..`");
    build.directory = normal == "." ? "" : normal.generic_string();
    return {};
  }

  Result<void> install() {
    std::set<std::string> names;
    for (size_t i = 0; i < application_.build.install.size(); ++i) {
      InstallFile& file = application_.build.install[i];
      const std::string place = at("/build/install", i);
      const std::string from = normal_relative(file.from), to = normal_relative(file.to);
      if (from.empty())
        return wrong(place + "/from", "\"" + file.from + "\" is not a file below the build directory",
                     "give a path relative to the build directory, without `..`");
      if (to.empty())
        return wrong(place + "/to", "\"" + file.to + "\" is not a file below the prefix",
                     "give a path relative to the prefix, without `..`");
      if (!names.insert(to).second)
        return wrong(place + "/to", "\"" + file.to + "\" is installed twice");
      file = {from, to};
    }
    return {};
  }

  Result<void> toolchain() const {
    const Toolchain& toolchain = application_.toolchain;
    if (!toolchain.base.empty() && !toolchain.packages.empty())
      return wrong("/toolchain/packages", "the toolchain already has a base image",
                   "give either an image or the packages to make one from");
    if (!toolchain.suite.empty() && toolchain.packages.empty())
      return wrong("/toolchain/suite", "there are no packages to take from it", "name some in `packages`");
    return {};
  }

  Result<void> downloads() {
    std::set<std::string> names;
    for (size_t i = 0; i < application_.fetch.size(); ++i) {
      std::string& to = application_.fetch[i].to;
      const std::string place = at("/fetch", i) + "/to", normal = normal_relative(to);
      if (normal.empty())
        return wrong(place, "\"" + to + "\" is not a path below the sources",
                     "give a path relative to the sources, without `..`");
      if (!names.insert(normal).second)
        return wrong(place, "\"" + to + "\" is given twice");
      to = normal;
    }
    return {};
  }

  Result<void> host() const {
    std::set<std::string> names;
    for (size_t i = 0; i < application_.host.size(); ++i) {
      const HostPreference& preference = application_.host[i];
      const std::string place = at("/host", i);
      if (!names.insert(preference.what).second)
        return wrong(place, "\"" + preference.what + "\" is preferred twice");
      if (preference.what == "mpi" && !preference.sonames.empty())
        return wrong(place + "/sonames", "the ABI of an MPI determines its libraries", "write \"mpi\" alone");
    }
    return {};
  }

  // The normal form of an absolute path, without a trailing slash.
  Result<std::string> absolute(const std::string& path, const std::string& place) const {
    for (const fs::path& part : fs::path(path))
      if (part == "..")
        return wrong(place, "\"" + path + "\" contains `..`");
    // POSIX leaves the meaning of two leading slashes open; here they mean one.
    std::string normal = fs::path("/" + path.substr(path.find_first_not_of('/') == std::string::npos
                                                        ? path.size()
                                                        : path.find_first_not_of('/')))
                             .lexically_normal()
                             .generic_string();
    if (normal.size() > 1 && normal.ends_with('/'))
      normal.pop_back();
    return normal;
  }

  Result<void> image() {
    for (size_t i = 0; i < application_.runtime.size(); ++i) {
      XAAS_TRY(application_.runtime[i], absolute(application_.runtime[i], at("/runtime", i)));
    }
    XAAS_TRY(application_.image.prefix, absolute(application_.image.prefix, "/image/prefix"));
    return {};
  }

  Application& application_;
  const std::string& name_;
};

} // namespace

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> names = target::architectures();
  return names;
}

bool is_level(const std::string& name) {
  const std::vector<std::string> levels = all_levels();
  return std::find(levels.begin(), levels.end(), name) != levels.end();
}

Result<void> check(Application& application, const std::string& name) {
  return Checker(application, name).run();
}

} // namespace xaas::spec
