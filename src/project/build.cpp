// Drives the five kinds of build system. docs/application-spec.md describes what each one gets. in_copy.h
// says where a build happens.
#include <xaas/project/project.h>

#include "cmake_fortran.h"
#include "environment.h"
#include "in_copy.h"
#include "step.h"
#include "tree.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>

#include <algorithm>
#include <unistd.h>

namespace xaas::project {

namespace {

using Environment = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

constexpr const char* no_destdir =
    "does its install step honor DESTDIR? else list the files in build.install";
constexpr const char* no_install_target =
    "the makefile has no target `install`; list the files to install in build.install";

// GNU make 3.82 and older quote `like this'.
bool misses_install_target(const std::string& output) {
  return output.find("No rule to make target 'install'") != std::string::npos ||
         output.find("No rule to make target `install'") != std::string::npos;
}

// HIP's CMake package needs a library of Clang's and, without it, fails with a message that names neither the
// library nor its package. CMake's cache shows which search failed.
bool misses_clang_builtins(const fs::path& build) {
  const Result<std::string> cache = read_file(build / "CMakeCache.txt");
  return cache && cache->find("\nCLANGRT_BUILTINS:FILEPATH=CLANGRT_BUILTINS-NOTFOUND\n") != std::string::npos;
}

// Whether an argument sets the CMake variable: -DNAME=, -DNAME:TYPE= or with -D as a separate word.
bool sets_variable(const Words& arguments, const std::string& name) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    const std::string_view text =
        starts_with(argument, "-D") ? std::string_view(argument).substr(2) : argument;
    return starts_with(text, name + "=") || starts_with(text, name + ":");
  });
}

class Driver {
public:
  explicit Driver(const ConfigurationBuild& build)
      : build_(build), spec_(build.application->build), prefix_(build.application->image.prefix),
        source_(fs::absolute(compiled_source(build)).lexically_normal()), top_(top_of(source_, spec_)),
        directory_(fs::absolute(build.build).lexically_normal()),
        destination_(fs::absolute(build.destination).lexically_normal()),
        environment_(build_environment(build)) {}

  Result<Built> run() {
    XAAS_CHECK(check_sources());
    XAAS_CHECK(make_directories(destination_));
    const TreeState before = prefix_state();
    if (compiled_source(build_) != build_.source)
      XAAS_CHECK(timed("configure", [&] { return copy(); }));
    if (!build_.home.empty())
      XAAS_CHECK(make_directories(build_.home));
    XAAS_CHECK(explained(drive()));
    if (!spec_.install.empty())
      XAAS_CHECK(timed("install", [&] { return install_files(); }));
    Built built{times_, before.changes(prefix_state())};
    XAAS_CHECK(check_installed(built.outside));
    return built;
  }

private:
  std::vector<fs::path> own_paths() const {
    std::vector<fs::path> own = build_.outputs;
    own.insert(own.end(), {build_.build, build_.destination, build_.log});
    return own;
  }

  // The steps' name for one of our paths.
  std::string seen(const fs::path& path) const {
    return (build_.place ? build_.place->inside(path) : path).string();
  }

  std::optional<fs::path> find(const std::string& name) const {
    return build_.place ? build_.place->find_program(name) : find_program(name);
  }

  Result<fs::path> tool(const std::string& name, const std::string& what) const {
    return need_tool(name, what, build_.place);
  }

  // Where an install step that ignores DESTDIR would write: bin/x, lib/<arch>/x, share/x/y. Only if this user
  // may write there; in another place no step may.
  TreeState prefix_state() const {
    if (build_.place)
      return TreeState();
    constexpr unsigned depth = 3;
    return TreeState::read(access(prefix_.c_str(), W_OK) == 0 ? fs::path(prefix_) : fs::path(), own_paths(),
                           depth);
  }

  Result<void> copy() {
    XAAS_CHECK(make_directories(source_));
    return copy_sources(build_.source, source_, own_paths());
  }

  // A tool that cannot read a source often reports that it does not exist.
  Result<void> explained(Result<void> result) const {
    if (result || !result.error().hint.empty() || result.error().kind != ErrorKind::failed)
      return result;
    const bool installing = result.error().message.find("the install step") != std::string::npos;
    if (installing && misses_install_target(result.error().output))
      result.error().hint = no_install_target;
    else if (installing && result.error().output.find(prefix_ + "/") != std::string::npos)
      result.error().hint = no_destdir;
    else if (spec_.system == spec::BuildSystem::cmake && misses_clang_builtins(directory_))
      return make_error(
                 ErrorKind::missing_tool,
                 result.error().message +
                     ": HIP's package for CMake needs clang_rt.builtins, a library of Clang",
                 "install it (libclang-rt-22-dev of Debian), or name its file: -DCLANGRT_BUILTINS=FILE in "
                 "build.arguments")
          .with_output(result.error().output);
    else if (const fs::path closed = first_unreadable(build_.source); !closed.empty())
      result.error().hint = closed.string() + " in the sources cannot be read; give it read permission";
    return result;
  }

  Result<void> drive() {
    switch (spec_.system) {
    case spec::BuildSystem::cmake:
      return cmake();
    case spec::BuildSystem::autotools:
      return autotools();
    case spec::BuildSystem::make:
      return make(Words{"make"}, make_variables());
    case spec::BuildSystem::meson:
      return meson();
    case spec::BuildSystem::commands:
      return commands();
    }
    return {};
  }

  Result<void> check_sources() {
    std::error_code code;
    if (!fs::is_directory(build_.source, code))
      return make_error(ErrorKind::not_found,
                        "source directory " + build_.source.string() + " does not exist");
    Words files;
    if (spec_.system == spec::BuildSystem::cmake)
      files = {"CMakeLists.txt"};
    else if (spec_.system == spec::BuildSystem::meson)
      files = {"meson.build"};
    else if (spec_.system == spec::BuildSystem::autotools)
      files = {"configure", "configure.ac", "configure.in"};
    const fs::path top = top_of(build_.source, spec_);
    if (!fs::is_directory(top, code))
      return make_error(ErrorKind::not_found, "build.directory: " + top.string() + " does not exist",
                        "correct build.directory, or name the right sources with --source");
    const auto there = [&](const std::string& file) { return present(top / file); };
    if (files.empty() || std::any_of(files.begin(), files.end(), there))
      return {};
    return make_error(ErrorKind::not_found,
                      "build.system is " + spec::to_string(spec_.system) + ", but " + top.string() +
                          " has no " + join(files, " and no "),
                      "correct build.system or build.directory, or name the right sources with --source");
  }

  Result<void> step(const std::string& name, const Words& arguments, const Environment& extra = {}) {
    Environment environment = environment_;
    for (const auto& [variable, value] : extra)
      environment[variable] = value;
    const fs::path from = seen(builds_in_copy(build_) ? top_ : directory_);
    XAAS_CHECK(timed(name, [&] {
      return run_step({name, arguments, from, environment}, build_.log, build_.place, build_.watch);
    }));
    return build_.succeeded ? build_.succeeded(name) : Result<void>();
  }

  template <typename Work> Result<void> timed(const std::string& step, Work work) {
    const Stopwatch watch;
    const trace::Span span("phase", step);
    Result<void> result = work();
    Seconds& time = step == "build"     ? times_.build
                    : step == "install" ? times_.install
                                        : times_.configure; // for what precedes building
    time += watch.seconds();
    return result;
  }

  bool installs() const { return spec_.install.empty() || spec_.install_target; }
  std::string jobs() const { return std::to_string(std::max(1u, build_.jobs)); }

  // The front door's own binary tools, for build systems that would look for the compiler's first.
  Environment binary_tools() const {
    Environment result;
    for (const auto& [variable, name] : Environment{{"AR", "ar"},
                                                    {"RANLIB", "ranlib"},
                                                    {"STRIP", "strip"},
                                                    {"OBJCOPY", "objcopy"},
                                                    {"LINKER", "ld"}})
      if (!build_.place && !build_.tools.directory.empty() && present(build_.tools.directory / name))
        result[variable] = (build_.tools.directory / name).string();
    return result;
  }

  bool has_argument(std::string_view prefix) const {
    return std::any_of(build_.arguments.begin(), build_.arguments.end(),
                       [&](const std::string& argument) { return argument.starts_with(prefix); });
  }

  // The properties of the target that Meson cannot find out when cross-compiling.
  Result<fs::path> meson_cross_file() const {
    std::string text = "[host_machine]\nsystem = 'linux'\nendian = 'little'\ncpu_family = '" + build_.arch +
                       "'\ncpu = '" + build_.arch + "'\n[binaries]\nc = '" +
                       build_.tools.c_compiler.string() + "'\ncpp = '" + build_.tools.cxx_compiler.string() +
                       "'\npkg-config = 'pkg-config'\npkgconfig = 'pkg-config'\n"; // Meson before 1.3
    if (!build_.tools.fortran_compiler.empty())
      text += "fortran = '" + build_.tools.fortran_compiler.string() + "'\n";
    for (const auto& [variable, name] : {std::pair{"AR", "ar"}, std::pair{"STRIP", "strip"}})
      if (const auto tools = binary_tools(); tools.count(variable))
        text += std::string(name) + " = '" + tools.at(variable) + "'\n";
    if (!build_.sysroot.empty()) // Meson does not take these from the environment
      text += "[properties]\nsys_root = '" + build_.sysroot.string() + "'\npkg_config_libdir = ['" +
              join(pkg_config_directories(build_), "', '") + "']\n";
    const fs::path file = directory_ / "xaas-cross.ini";
    XAAS_CHECK(write_file(file, text));
    return file;
  }

  Result<void> cmake() {
    XAAS_TRY(const fs::path program, tool("cmake", "a CMake build"));
    Words arguments = {program.string(), "-S", seen(top_), "-B", seen(directory_)};
    const bool generator =
        std::any_of(build_.arguments.begin(), build_.arguments.end(),
                    [](const std::string& argument) { return starts_with(argument, "-G"); });
    if (!generator) {
      const bool ninja = find("ninja").has_value();
      if (!ninja)
        XAAS_CHECK(checked(tool("make", "a CMake build without ninja")));
      arguments.insert(arguments.end(), {"-G", ninja ? "Ninja" : "Unix Makefiles"});
    }
    arguments.push_back("-DCMAKE_INSTALL_PREFIX=" + prefix_);
    // ~/.cmake/packages lies outside the build and belongs to this machine.
    arguments.push_back("-DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON");
    arguments.push_back("-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF");
    if (!sets_variable(build_.arguments, "CMAKE_BUILD_TYPE"))
      arguments.push_back("-DCMAKE_BUILD_TYPE=Release");
    // A toolchain file of the spec sets it itself.
    if (build_.is_cross_build() && !sets_variable(build_.arguments, "CMAKE_SYSTEM_NAME") &&
        !sets_variable(build_.arguments, "CMAKE_TOOLCHAIN_FILE"))
      arguments = arguments + Words{"-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=" + build_.arch} +
                  cmake_find_roots();
    for (const auto& [variable, path] : binary_tools()) {
      arguments.push_back("-DCMAKE_" + variable + "=" + path);
      // CMake uses these instead with link-time optimization.
      if (variable == "AR" || variable == "RANLIB")
        for (const char* language : {"C", "CXX"})
          arguments.push_back(std::string("-DCMAKE_") + language + "_COMPILER_" + variable + "=" + path);
    }
    XAAS_TRY(const Words fortran, cmake_fortran_arguments(build_));
    XAAS_CHECK(step("configure", arguments + fortran + build_.arguments));

    Words compile = {program.string(), "--build", seen(directory_), "--parallel", jobs()};
    if (!spec_.targets.empty())
      compile = compile + Words{"--target"} + spec_.targets;
    XAAS_CHECK(step("build", compile));
    if (!installs())
      return {};
    return step("install", {program.string(), "--install", seen(directory_)},
                {{"DESTDIR", seen(destination_)}});
  }

  // CMake looks for libraries, headers and packages in the sysroot alone, and for programs on this machine.
  // The project's own directories are roots, too: otherwise CMake would look for /SOURCE/include below the
  // sysroot.
  Words cmake_find_roots() const {
    if (build_.sysroot.empty() || sets_variable(build_.arguments, "CMAKE_FIND_ROOT_PATH"))
      return {};
    Words arguments = {"-DCMAKE_FIND_ROOT_PATH=" + build_.sysroot.string() + ";" + seen(top_) + ";" +
                       seen(directory_)};
    for (const auto& [kind, mode] : {std::pair{"PROGRAM", "NEVER"}, std::pair{"LIBRARY", "ONLY"},
                                     std::pair{"INCLUDE", "ONLY"}, std::pair{"PACKAGE", "ONLY"}})
      if (const std::string variable = std::string("CMAKE_FIND_ROOT_PATH_MODE_") + kind;
          !sets_variable(build_.arguments, variable))
        arguments.push_back("-D" + variable + "=" + mode);
    return arguments;
  }

  Result<void> autotools() {
    Environment tools = binary_tools();
    tools.erase("LINKER");
    for (const auto& [variable, path] : tools)
      environment_.emplace(variable, path);
    if (!present(top_ / "configure")) {
      XAAS_TRY(const fs::path autoreconf,
               tool("autoreconf", "an Autotools build of a source tree without `configure`"));
      XAAS_CHECK(step("autoreconf", {autoreconf.string(), "-fi"}));
      if (!present(top_ / "configure"))
        return make_error(ErrorKind::failed, "autoreconf made no `configure` in a copy of " +
                                                 top_of(build_.source, spec_).string());
    }
    XAAS_TRY(Words configure, interpreter_of(top_ / "configure"));
    configure = configure + Words{seen(top_ / "configure"), "--prefix=" + prefix_};
    if (build_.is_cross_build() && !has_argument("--host"))
      configure.push_back("--host=" + target::triple(build_.arch));
    XAAS_CHECK(step("configure", configure + build_.arguments));
    return make({"make"}, {});
  }

  // The interpreter that the script's first line names, else the shell. The script is not executed itself,
  // because an unpacked archive or a checkout may have lost the executable bit.
  Result<Words> interpreter_of(const fs::path& script) const {
    const Result<std::string> text = read_file(script);
    Words words;
    if (text && text->starts_with("#!"))
      words = split(text->substr(2, text->find('\n') - 2), ' ');
    std::erase(words, "");
    if (words.empty())
      return Words{"/bin/sh"};
    if (const std::optional<fs::path> program = find(words.front())) {
      words.front() = program->string();
      return words;
    }
    return make_error(ErrorKind::missing_tool,
                      "`configure` is a script for " + words.front() + ", which does not exist",
                      "install it");
  }

  Words make_variables() const {
    Words result = {"CC=" + environment_.at("CC"), "CXX=" + environment_.at("CXX")};
    if (!build_.tools.fortran_compiler.empty())
      result.push_back("FC=" + build_.tools.fortran_compiler.string());
    return result + Words{"PREFIX=" + prefix_, "prefix=" + prefix_} + build_.arguments;
  }

  Result<void> make(Words command, const Words& variables) {
    XAAS_TRY(const fs::path program, tool("make", "this build"));
    command[0] = program.string();
    XAAS_CHECK(step("build", command + Words{"-j" + jobs()} + variables + spec_.targets));
    if (!installs())
      return {};
    return step("install", command + Words{"install", "DESTDIR=" + seen(destination_)} + variables);
  }

  Result<void> meson() {
    XAAS_TRY(const fs::path program, tool("meson", "a Meson build"));
    XAAS_CHECK(checked(tool("ninja", "a Meson build")));
    Environment tools = binary_tools();
    tools.erase("LINKER");
    for (const auto& [variable, path] : tools)
      environment_.emplace(variable, path);
    Words setup = {program.string(), "setup", "--prefix=" + prefix_};
    if (build_.is_cross_build() && !has_argument("--cross-file")) {
      XAAS_TRY(const fs::path file, meson_cross_file());
      setup.push_back("--cross-file=" + seen(file));
    }
    XAAS_CHECK(step("configure", setup + build_.arguments + Words{seen(directory_), seen(top_)}));
    XAAS_CHECK(step("build", Words{program.string(), "compile", "-C", seen(directory_), "-j", jobs()} +
                                 spec_.targets));
    if (!installs())
      return {};
    return step("install", {program.string(), "install", "-C", seen(directory_), "--no-rebuild"},
                {{"DESTDIR", seen(destination_)}});
  }

  Result<void> commands() {
    for (const std::string& argument : build_.arguments) {
      const size_t equals = argument.find('=');
      if (equals == 0 || equals == std::string::npos)
        return make_error(ErrorKind::usage,
                          "argument `" + argument + "` of a \"commands\" build is not NAME=value",
                          "with \"system\": \"commands\" every argument becomes an environment variable");
      environment_[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    Environment place = {{"SRC", seen(source_)},
                         {"BUILD", seen(directory_)},
                         {"DESTDIR", seen(destination_)},
                         {"PREFIX", prefix_},
                         {"JOBS", jobs()},
                         {"CC", build_.tools.c_compiler.string()},
                         {"CXX", build_.tools.cxx_compiler.string()}};
    if (!build_.tools.fortran_compiler.empty())
      place["FC"] = build_.tools.fortran_compiler.string();
    for (const auto& [name, command] :
         {std::pair<std::string, std::string>{"configure", spec_.configure_command},
          {"build", spec_.build_command},
          {"install", installs() ? spec_.install_command : std::string()}})
      if (!command.empty())
        XAAS_CHECK(step(name, {"/bin/sh", "-c", command}, place));
    return {};
  }

  Result<void> install_files() {
    const fs::path root = destination_ / fs::path(prefix_).relative_path();
    for (const spec::InstallFile& file : spec_.install) {
      XAAS_CHECK(check_within_build(file.from));
      fs::path to = fs::path(file.to).relative_path();
      if (!to.has_filename()) // "bin/": keeps its own name
        to /= fs::path(file.from).filename();
      to = to.lexically_normal();
      if (relative_under(root / to, root).empty())
        return make_error(ErrorKind::usage, "build.install: `" + file.to + "` is not below the prefix");
      XAAS_CHECK(install_entry(directory_ / file.from, destination_, fs::path(prefix_).relative_path(), to)
                     .in("build.install"));
    }
    return {};
  }

  // A build in another place is untrusted: a link in it may lead to files of this machine.
  Result<void> check_within_build(const fs::path& from) const {
    std::error_code code;
    const fs::path root = fs::canonical(directory_, code);
    const fs::path parent = fs::weakly_canonical((directory_ / from).parent_path(), code);
    if (build_.place && parent != root && relative_under(parent, root).empty())
      return make_error(ErrorKind::failed,
                        "build.install: `" + from.string() + "` leads outside the build directory");
    return {};
  }

  Result<void> check_installed(const std::vector<TreeState::Change>& outside) const {
    std::error_code code;
    if (!fs::is_empty(destination_, code) && !code)
      return {};
    std::string message = "the build of " + build_.application->name + " installed nothing";
    if (!outside.empty())
      message += " below DESTDIR, but wrote into " + prefix_ + " of this machine: " + to_string(outside);
    return make_error(ErrorKind::failed, message, no_destdir);
  }

  static Result<void> checked(const Result<fs::path>& tool) {
    if (tool)
      return {};
    return tool.error();
  }

  const ConfigurationBuild& build_;
  const spec::Build& spec_;
  std::string prefix_;
  // Absolute: the sources that are compiled, the directory of the build system in them, ...
  fs::path source_, top_, directory_, destination_;
  Environment environment_;
  StepTimes times_;
};

} // namespace

fs::path keep_log(const fs::path& log, const fs::path& directory, std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == ',' || c == '='; }, '-');
  fs::path kept = directory / (name + "-" + std::to_string(getpid()) + ".log");
  if (!make_directories(directory) || !xaas::copy_file(log, kept))
    return {};
  return kept;
}

Result<Built> build(const ConfigurationBuild& build) {
  return Driver(build).run();
}

} // namespace xaas::project
