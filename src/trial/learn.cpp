// Problem: a draft is made by reading, and a build shows what reading missed. Its failure is text for people.
//
// Example: `fatal error: 'mpi.h' file not found`, from a makefile with `CC = mpicc`. A build gets
// CC=<front door> on make's command line, which replaces the wrapper. The lesson is the argument CC=mpicc:
// the wrapper calls the front door, because MPICH_CC and OMPI_CC are set.
//
// Approach: each lesson looks for one cause, in the order of how sure its sign is: first what xaas itself
// knows (the build wrote into its sources, it installed nothing), then messages of compilers and build
// systems, which have had their form for decades, and at last the options that the messages name. A lesson
// changes the spec as a user would, records why, and never repeats a change.
//
// Rejected: asking a language model (the same failure must teach the same), and trying all options in turn
// (each try is a build).
#include "learn.h"
#include "compilers.h"
#include "options.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace xaas::trial {

namespace {

using Cause = build::FailedBuild::Cause;
using System = spec::BuildSystem;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool add_argument(discover::Draft& draft, const std::string& argument, const std::string& reason) {
  std::vector<std::string>& arguments = draft.application.build.arguments;
  if (std::find(arguments.begin(), arguments.end(), argument) != arguments.end())
    return false;
  arguments.push_back(argument);
  draft.remarks.push_back({"/build/arguments", argument + ": " + reason});
  return true;
}

std::string learn_copy(const Classroom& room, discover::Draft& draft) {
  if (room.failure.cause != Cause::sources_written || draft.application.build.copy)
    return {};
  draft.application.build.copy = true;
  draft.remarks.push_back({"/build/copy", "The build writes into its sources."});
  return "build.copy: the build writes into its sources";
}

// Some configure scripts and makefiles work only among the sources.
std::string learn_build_in_tree(const Classroom& room, discover::Draft& draft) {
  static const std::regex missing(R"(No such file or directory|No rule to make target|not found)");
  spec::Build& build = draft.application.build;
  if (build.system != System::autotools || build.copy || room.failure.cause != Cause::step ||
      room.failure.step == "install" || !std::regex_search(room.failure.output, missing))
    return {};
  build.copy = true;
  draft.remarks.push_back({"/build/copy", "Outside its sources the build fails: " + room.failure.error});
  return "build.copy: the build misses files outside its sources";
}

// `from` relative to the build directory.
spec::InstallFile installed(const Product& product) {
  const std::string name = fs::path(product.path).filename();
  return {product.path, (product.kind == Product::Kind::program ? "bin/" : "lib/") + name};
}

// Archives are parts of the programs; a project that only has archives is a library.
std::vector<spec::InstallFile> install_list(const std::vector<Product>& products) {
  const bool has_others = std::any_of(products.begin(), products.end(), [](const Product& each) {
    return each.kind != Product::Kind::archive;
  });
  std::vector<spec::InstallFile> files;
  std::set<std::string> taken;
  for (const Product& product : products)
    if (!(has_others && product.kind == Product::Kind::archive) && taken.insert(installed(product).to).second)
      files.push_back(installed(product));
  return files;
}

// Also replaces a list that names files which the build does not make.
std::string learn_install(const Classroom& room, discover::Draft& draft) {
  spec::Build& build = draft.application.build;
  const bool fails = room.failure.cause == Cause::install || room.failure.step == "install";
  const std::vector<spec::InstallFile> files = install_list(room.failure.products);
  const auto is_listed = [&](const spec::InstallFile& file) {
    return std::any_of(build.install.begin(), build.install.end(),
                       [&](const auto& each) { return each.from == file.from && each.to == file.to; });
  };
  if (!fails || files.empty() || std::all_of(files.begin(), files.end(), is_listed))
    return {};
  build.install = files;
  build.install_command.clear();
  draft.remarks.push_back(
      {"/build/install", "What the build makes, because installing fails: " + room.failure.error});
  return "build.install: " + std::to_string(files.size()) + (files.size() == 1 ? " file" : " files") +
         " that the build makes";
}

// A default goal that only prints help.
std::string learn_target(const Classroom& room, discover::Draft& draft) {
  spec::Build& build = draft.application.build;
  if (build.system != System::make || room.failure.cause != Cause::install || !build.targets.empty() ||
      !room.failure.products.empty())
    return {};
  build.targets = {"all"};
  draft.remarks.push_back({"/build/targets", "The default goal makes no program."});
  return "build.targets: all, because the default goal makes no program";
}

// The variables with the flags of the languages in the tree.
std::set<std::string> flag_variables(const fs::path& source) {
  static const std::map<std::string, std::set<std::string>> variables = {{".c", {"CFLAGS"}},
                                                                         {".cc", {"CXXFLAGS"}},
                                                                         {".cpp", {"CXXFLAGS"}},
                                                                         {".cxx", {"CXXFLAGS"}},
                                                                         {".c++", {"CXXFLAGS"}},
                                                                         {".f", {"FFLAGS", "FCFLAGS"}},
                                                                         {".for", {"FFLAGS", "FCFLAGS"}},
                                                                         {".f77", {"FFLAGS", "FCFLAGS"}},
                                                                         {".f90", {"FFLAGS", "FCFLAGS"}},
                                                                         {".f95", {"FFLAGS", "FCFLAGS"}},
                                                                         {".f03", {"FFLAGS", "FCFLAGS"}},
                                                                         {".f08", {"FFLAGS", "FCFLAGS"}}};
  std::set<std::string> found;
  std::error_code code;
  for (fs::recursive_directory_iterator it(source, code), end; !code && it != end; it.increment(code)) {
    const std::string suffix = it->path().extension();
    const auto known = variables.find(suffix == ".C" ? ".cc" : to_lower(suffix));
    if (known != variables.end())
      found.insert(known->second.begin(), known->second.end());
  }
  return found;
}

// Warnings that the compiler or the project treats as errors.
std::string learn_warnings(const Classroom& room, discover::Draft& draft) {
  static const std::regex option(R"(error: [^\n]*\[(?:-Werror,)?-W([A-Za-z0-9+_-]+)(?:=[^\],]*)?\])");
  spec::Build& build = draft.application.build;
  if (room.failure.step.empty())
    return {};
  std::set<std::string> names;
  for (std::sregex_iterator it(room.failure.log.begin(), room.failure.log.end(), option), end; it != end;
       ++it)
    if ((*it)[1] != "error")
      names.insert("=" + (*it)[1].str());
  // Behind the project's own flags this turns all of them into warnings, so that the next file does not fail.
  if (has(room.failure.log, "[-Werror,"))
    names.insert("");
  std::string added;
  for (const std::string& name : names)
    added += " -Wno-error" + name;
  bool changed = false;
  for (const std::string& variable : flag_variables(room.source)) {
    if (variable == "FFLAGS" || variable == "FCFLAGS")
      continue;
    std::string& flags = build.environment[variable];
    // configure adds its own -O2 only if the variable is not set.
    if (flags.empty() && build.system == System::autotools && !names.empty())
      flags = "-g -O2";
    for (const std::string& name : names)
      if (const std::string flag = "-Wno-error" + name; !has(flags + " ", flag + " ")) {
        flags += (flags.empty() ? "" : " ") + flag;
        changed = true;
      }
    if (flags.empty())
      build.environment.erase(variable);
  }
  if (!changed)
    return {};
  draft.remarks.push_back(
      {"/build/environment", "Warnings that are errors with this compiler: " + room.failure.error});
  return "build.environment:" + added;
}

// How to run the script, whose executable bit may be lost: "/bin/bash ./configure".
std::string run_configure(const fs::path& script) {
  const Result<std::string> text = read_file(script);
  const bool names_one = text && text->starts_with("#!");
  return (names_one ? trim(text->substr(2, text->find('\n') - 2)) : std::string("sh")) + " ./configure";
}

// A `configure` that somebody wrote by hand may not know the options of Autoconf's.
std::string learn_own_configure(const Classroom& room, discover::Draft& draft) {
  static const std::regex refusal(R"((invalid|unknown|unrecogni[sz]ed|unsupported|illegal)[^\n]*--prefix)",
                                  std::regex::icase);
  spec::Build& build = draft.application.build;
  if (build.system != System::autotools || room.failure.step != "configure" ||
      !std::regex_search(room.failure.output, refusal))
    return {};
  const std::string directory = build.directory.empty() ? "" : "cd " + build.directory + " && ";
  std::vector<std::string> names;
  for (const spec::SpecializationPoint& point : draft.application.points)
    names.push_back(point.name);
  for (const std::string& name : names)
    discover::leave_out(draft, {name, "", "`configure` does not take the usual options", {}});
  build.configure_command = directory + run_configure(room.source / build.directory / "configure");
  build.system = System::commands;
  build.directory.clear();
  build.copy = false;
  build.build_command = directory + "make -j$JOBS";
  build.install_command = directory + "make install DESTDIR=$DESTDIR PREFIX=$PREFIX prefix=$PREFIX";
  draft.remarks.push_back({"/build/configure", "`configure` refuses --prefix: " + room.failure.error});
  return "build.system: commands, because `configure` refuses --prefix";
}

std::string learn_policy(const Classroom& room, discover::Draft& draft) {
  const std::string argument = "-DCMAKE_POLICY_VERSION_MINIMUM=3.5";
  if (draft.application.build.system != System::cmake ||
      !has(room.failure.log, "Compatibility with CMake < 3.5 has been removed") ||
      !add_argument(draft, argument, "the project asks for a version of CMake that this one has dropped."))
    return {};
  return "build.arguments: " + argument;
}

// The argument that makes a build system use this compiler.
std::string compiler_argument(System system, const std::string& language, const std::string& compiler) {
  if (system != System::cmake)
    return language + "=" + compiler;
  return "-DCMAKE_" +
         std::string(language == "CC"    ? "C"
                     : language == "CXX" ? "CXX"
                                         : "Fortran") +
         "_COMPILER=" + compiler;
}

std::string learn_mpi(const Classroom& room, discover::Draft& draft) {
  static const std::regex sign(
      R"('mpi\.h' file not found|undefined (?:symbol|reference)[^\n]*\b(?:MPI_|mpi_)\w+|)"
      R"([Mm]odule file 'mpi(?:_f08)?\.mod'|mpif\.h[^\n]*not found)");
  const System system = draft.application.build.system;
  if (system == System::meson || system == System::commands || !std::regex_search(room.failure.log, sign))
    return {};
  std::string learned;
  for (const auto& [language, wrapper] :
       {std::pair{"CC", "mpicc"}, std::pair{"CXX", "mpicxx"}, std::pair{"FC", "mpifort"}})
    if (room.has_program(wrapper) &&
        add_argument(draft, compiler_argument(system, language, wrapper),
                     "the project is compiled by MPI's wrapper: " + room.failure.error))
      learned += std::string(" ") + wrapper;
  return learned.empty() ? "" : "build.arguments: compilers are" + learned;
}

// Compilers that a makefile names itself, instead of $(CC), $(CXX) and $(FC).
std::string learn_make_compilers(const Classroom& room, discover::Draft& draft) {
  if (draft.application.build.system != System::make ||
      (room.failure.step != "build" && !room.failure.natively))
    return {};
  std::string learned;
  for (const MakeCompiler& each : make_compilers(room.source / draft.application.build.directory))
    if (add_argument(draft, each.variable + "=" + each.value,
                     each.place + " sets " + each.variable + " = " + each.written))
      learned += " " + each.variable + "=" + each.value;
  return learned.empty() ? "" : "build.arguments:" + learned;
}

// A makefile without -O in its flags.
std::string learn_optimization(const Classroom& room, discover::Draft& draft) {
  if (!room.failure.unoptimized)
    return {};
  bool changed = false;
  for (const std::string& variable : flag_variables(room.source)) {
    std::string& flags = draft.application.build.environment[variable];
    if (has(flags, "-O"))
      continue;
    flags = flags.empty() ? "-O3" : "-O3 " + flags;
    changed = true;
  }
  if (!changed)
    return {};
  draft.remarks.push_back({"/build/environment", "The project's own flags do not optimize."});
  return "build.environment: -O3, because the project's own flags do not optimize";
}

// Lessons from the surest sign to the vaguest.
constexpr std::array lessons = {learn_copy,         learn_install,  learn_target,       learn_own_configure,
                                learn_policy,       learn_warnings, learn_mpi,          learn_make_compilers,
                                learn_optimization, learn_options,  learn_build_in_tree};

} // namespace

std::string learn(const Classroom& room, discover::Draft& draft) {
  for (const auto lesson : lessons)
    if (std::string learned = lesson(room, draft); !learned.empty())
      return learned;
  return {};
}

std::string choose_entrypoint(const std::vector<std::string>& programs, discover::Draft& draft) {
  spec::Application& application = draft.application;
  if (!application.image.entrypoint.empty() || programs.empty())
    return {};
  const auto is_named_like_it = [&](const std::string& path) {
    return to_lower(fs::path(path).filename().string()) == application.name;
  };
  const auto named = std::find_if(programs.begin(), programs.end(), is_named_like_it);
  if (programs.size() > 1 && named == programs.end()) {
    std::vector<std::string> names;
    for (const std::string& path : programs)
      names.push_back(fs::path(path).filename());
    draft.remarks.push_back({"", "Programs: " + join(names, ", ") + ". image.entrypoint can name one."});
    return {};
  }
  application.image.entrypoint = {named == programs.end() ? programs.front() : *named};
  draft.remarks.push_back({"/image/entrypoint", programs.size() == 1
                                                    ? "The only program."
                                                    : "The program with the project's name."});
  return "image.entrypoint: " + application.image.entrypoint.front();
}

} // namespace xaas::trial
