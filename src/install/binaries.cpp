#include "binaries.h"

#include "relocate.h"

#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/base/worker.h>
#include <xaas/launcher/launcher.h>
#include <xaas/loader/c_library.h>
#include <xaas/oci/tree.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace xaas::install {

namespace {

constexpr uint64_t largest_binary = uint64_t(4) << 30;
constexpr uint64_t largest_text = uint64_t(8) << 20;
constexpr size_t longest_first_line = 127; // execve(2): of a script, before Linux 5.1

std::string variable_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

bool begins_with_origin(const std::string& entry) {
  return entry.starts_with("$ORIGIN") || entry.starts_with("${ORIGIN}");
}

// The first bytes of a file; empty if it cannot be read.
std::string start_of(const fs::path& path) {
  std::string start(loader::elf_start, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(stream.gcount()));
  return start;
}

bool is_text(std::string_view content) {
  return content.find('\0') == std::string_view::npos;
}

std::string_view first_line(std::string_view content) {
  return content.substr(0, content.find('\n'));
}

bool is_executable(const fs::path& path) {
  return access(path.c_str(), X_OK) == 0;
}

} // namespace

std::vector<std::string> path_of(const std::map<std::string, std::string>& environment) {
  const auto path = environment.find("PATH");
  return split(path == environment.end() ? runtimes::Knowledge::get().path : path->second, ':');
}

Binaries::Binaries(const TreeOnHost& tree, const std::vector<File>& files)
    : tree_(tree), names_(files, is_executable),
      settings_(loader::settings_for(tree.tree, tree.arch,
                                     split(variable_of(tree.environment, "LD_LIBRARY_PATH"), ':'))) {}

Result<Binaries> Binaries::plan(const TreeOnHost& tree, const std::vector<File>& files) {
  Binaries binaries(tree, files);
  for (const File& file : files)
    if (file.of_base)
      binaries.of_base_.insert("/" + file.path);
  binaries.check_variables();
  for (const File& file : files)
    if (file.type == fs::file_type::symlink)
      binaries.add_link(file);
    else if (file.type == fs::file_type::regular && (!file.of_base || file.is_loaded))
      XAAS_CHECK(binaries.add(file));
  return binaries;
}

// A library that every program loads first would also get into programs of the host that these start.
void Binaries::check_variables() {
  for (const auto& [name, value] : tree_.environment)
    if (name.starts_with("LD_") && name != "LD_LIBRARY_PATH")
      doubtful_.push_back(
          {"", "the image sets " + printable(name) + ", which programs of this machine obey"});
}

std::string Binaries::on_host(const std::string& value) const {
  return with_root(tree_.place, value, [this](const std::string& path) {
    return !belongs_to_machine(path) && find_in_tree(tree_.tree, path).type != fs::file_type::not_found;
  });
}

std::vector<std::string> Binaries::search_path() const {
  std::vector<std::string> directories;
  for (const std::string& directory : path_of(tree_.environment)) {
    std::error_code code;
    const TreePlace place = find_in_tree(tree_.tree, directory);
    if (!directory.starts_with("/") || place.type != fs::file_type::directory ||
        fs::is_empty(place.outside, code))
      continue;
    std::string there = tree_.place.string() + place.inside;
    // Programs of a base image are not made to run here. Those of the application are in the prefix's own
    // bin, too.
    const std::string below = place.inside + "/";
    if (const auto first = of_base_.lower_bound(below); first != of_base_.end() && first->starts_with(below))
      there = tree_.place.parent_path() / "bin";
    if (std::find(directories.begin(), directories.end(), there) == directories.end())
      directories.push_back(there);
  }
  return directories;
}

void Binaries::add_link(const File& file) {
  if (!file.link.starts_with("/"))
    return;
  const std::string destination = fs::path(file.link).lexically_normal();
  if (belongs_to_machine(destination) ||
      find_in_tree(tree_.tree, destination).type == fs::file_type::not_found)
    return; // such as /proc/mounts
  const fs::path from = "/" + file.path;
  Change change{.file = file.path};
  change.link =
      fs::path(destination).lexically_relative(find_in_tree(tree_.tree, from.parent_path().string()).inside);
  changes_.push_back(std::move(change));
}

Result<void> Binaries::add(const File& file) {
  const fs::path outside = tree_.tree / file.path;
  const std::string start = start_of(outside);
  if (loader::is_elf_for(start, tree_.arch)) {
    // The parts of the C library name no paths but their own, and the loader must stay as it is.
    if (loader::is_of_c_library(fs::path(file.path).filename().string()))
      return {};
    XAAS_TRY(const std::string content, read_file(outside, largest_binary));
    return add_binary(file, content);
  }
  // What only xaas and enroot read.
  static const std::set<std::string> of_runtimes = {oci::tree_image_file, "etc/rc", "etc/environment"};
  if (file.size > largest_text || of_runtimes.contains(file.path))
    return {};
  XAAS_TRY(const std::string content, read_file(outside, largest_text));
  const bool script = file.is_executable() && content.starts_with("#!");
  if (script)
    check_script(file.path, content);
  if (is_text(content)) {
    if (new_text(content) != content)
      changes_.push_back({.file = file.path, .is_text = true});
  } else if (const std::string named = script ? names_.in(content) : ""; !named.empty()) {
    // An archive follows the script, which has positions in it.
    doubtful_.push_back({"/" + file.path, "names " + printable(named) + " of the image"});
  }
  return {};
}

Result<void> Binaries::add_binary(const File& file, const std::string& content) {
  const Result<loader::Dynamic> read = loader::read_dynamic_in_worker("/" + file.path, content);
  if (!read && read.error().kind == ErrorKind::interrupted)
    return read.error();
  if (!read) { // data of a test, perhaps
    if (file.is_executable())
      doubtful_.push_back({"/" + file.path, "cannot be read (" + read.error().message + ")"});
    return {};
  }
  const loader::Dynamic& dynamic = *read;
  std::vector<std::string> searched;
  for (const std::string& entry : dynamic.runpath) {
    searched.push_back(fs::path(entry).lexically_normal());
    if (searched.back().ends_with("/"))
      searched.back().pop_back();
  }
  if (const std::string named = names_.in(content, searched); !named.empty())
    doubtful_.push_back({"/" + file.path, "names " + printable(named) + " of the image"});

  Change change{.file = file.path, .rpath = rpath_of(file.path, dynamic)};
  const bool program = !dynamic.interpreter.empty() && (dynamic.program || file.is_executable());
  if (!program)
    return dynamic.runpath.empty() ? Result<void>() : add_relocation(std::move(change), file, content);
  const TreePlace interpreter = find_in_tree(tree_.tree, dynamic.interpreter);
  const std::string name = fs::path(dynamic.interpreter).filename();
  if (interpreter.type != fs::file_type::regular)
    impossible_.push_back({"/" + file.path, "names the loader " + printable(dynamic.interpreter) +
                                                ", which the image does not have"});
  else if (!loader::is_of_c_library(name)) // others search directories that no file names
    impossible_.push_back({"/" + file.path, "is for the loader " + printable(name) + ", not for glibc's"});
  else {
    change.interpreter = tree_.place.string() + interpreter.inside;
    return add_relocation(std::move(change), file, content);
  }
  return {};
}

// It is tried now, because a container is the way out only before anything has changed.
Result<void> Binaries::add_relocation(Change change, const File& file, const std::string& content) {
  const Result<std::string> tried = run_worker("/" + file.path, [&]() -> Result<std::string> {
    XAAS_TRY([[maybe_unused]] const std::string made, relocate(content, {change.interpreter, change.rpath}));
    return std::string();
  });
  if (tried)
    changes_.push_back(std::move(change));
  else if (tried.error().kind == ErrorKind::interrupted)
    return tried.error();
  else
    impossible_.push_back({"/" + file.path, "cannot get other paths (" + tried.error().message + ")"});
  return {};
}

// Of a tree for several targets, a program of a target finds the libraries of its target first.
void Binaries::add_directory(std::vector<std::string>& rpath, const std::string& path,
                             const std::string& directory) const {
  const auto add = [&](const std::string& inside) {
    const std::string entry = tree_.place.string() + inside;
    if (std::find(rpath.begin(), rpath.end(), entry) == rpath.end())
      rpath.push_back(entry);
  };
  const std::string targets = std::string(launcher::targets_directory) + "/";
  if (path.starts_with(targets)) {
    const std::string own = "/" + path.substr(0, path.find('/', targets.size())) + directory;
    if (const TreePlace place = find_in_tree(tree_.tree, own); place.type == fs::file_type::directory)
      add(place.inside);
  }
  if (const TreePlace place = find_in_tree(tree_.tree, directory); place.type == fs::file_type::directory)
    add(place.inside);
}

// In the order of ld.so(8): libraries of the host first, as in containers; LD_LIBRARY_PATH precedes
// DT_RUNPATH and follows DT_RPATH.
std::vector<std::string> Binaries::rpath_of(const std::string& path, const loader::Dynamic& dynamic) const {
  const bool program = !dynamic.interpreter.empty();
  std::vector<std::string> rpath, own;
  if (program && !tree_.libraries.empty())
    rpath.push_back(tree_.place.string() + run::host_libraries);
  for (const std::string& entry : dynamic.runpath) {
    if (begins_with_origin(entry))
      own.push_back(entry);
    else if (entry.starts_with("/"))
      add_directory(own, path,
                    loader::expanded(entry, "/" + fs::path(path).parent_path().string(), settings_));
  }
  const auto add_own = [&] { rpath.insert(rpath.end(), own.begin(), own.end()); };
  if (dynamic.rpath_is_first)
    add_own();
  for (const std::string& directory : settings_.library_path)
    if (directory.starts_with("/"))
      add_directory(rpath, path, directory);
  if (!dynamic.rpath_is_first)
    add_own();
  if (program)
    for (const std::string& directory : settings_.directories.all())
      add_directory(rpath, path, directory);
  return rpath;
}

// Its path in the image; empty: it has none on its PATH.
std::string Binaries::find_program(const std::string& name) const {
  for (const std::string& directory : path_of(tree_.environment))
    if (!name.empty() && directory.starts_with("/") &&
        find_in_tree(tree_.tree, directory + "/" + name).type == fs::file_type::regular)
      return directory + "/" + name;
  return {};
}

bool Binaries::is_of_base(const std::string& interpreter) const {
  return of_base_.contains(find_in_tree(tree_.tree, interpreter).inside);
}

// The first line of a script, with the image's interpreter if it has one; else the same line. The interpreter
// keeps the name that the script uses: Python looks for its modules beside it.
std::string Binaries::interpreter_on_host(std::string_view line) const {
  const std::string words = trim(line.substr(2));
  const size_t blank = words.find_first_of(" \t");
  std::string interpreter = words.substr(0, blank);
  std::string argument = blank == std::string::npos ? "" : trim(words.substr(blank));
  if (fs::path(interpreter).filename() == "env" && argument.find_first_of(" \t=-/") == std::string::npos)
    if (const std::string found = find_program(argument); !found.empty()) {
      interpreter = found;
      argument.clear();
    }
  if (find_in_tree(tree_.tree, interpreter).type != fs::file_type::regular || is_of_base(interpreter))
    return std::string(line);
  return "#!" + tree_.place.string() + interpreter + (argument.empty() ? "" : " " + argument);
}

// A script in bin that nothing interprets is worth a note; it does not run in a container either.
void Binaries::check_script(const std::string& path, std::string_view content) {
  const std::string_view line = first_line(content);
  const std::string made = interpreter_on_host(line);
  if (made != line) {
    if (made.size() > longest_first_line)
      doubtful_.push_back({"/" + path, "would begin with a line of " + std::to_string(made.size()) +
                                           " characters, more than old kernels read"});
    return;
  }
  const std::vector<std::string> words = split(trim(line.substr(2)), ' ');
  const bool env = words.size() > 1 && fs::path(words.front()).filename() == "env" && words[1].front() != '-';
  // A shell of the machine serves as well; another interpreter needs the modules that the base image has.
  static const std::set<std::string> shells = {"sh", "bash"};
  const std::string program = env ? find_program(words[1]) : words.empty() ? std::string() : words.front();
  if (is_of_base(program) && !shells.contains(fs::path(program).filename()))
    doubtful_.push_back({"/" + path, "is a script for " + printable(program) + " of the base image"});
  std::string missing = words.empty() || !is_executable(words.front()) ? trim(line.substr(2)) : "";
  if (missing.empty() && env) {
    const char* const path_of_host = std::getenv("PATH");
    const std::vector<std::string> directories = split(path_of_host ? path_of_host : "", ':');
    if (std::none_of(directories.begin(), directories.end(),
                     [&](const std::string& directory) { return is_executable(directory + "/" + words[1]); }))
      missing = words[1];
  }
  if (!missing.empty() && tree_.programs.contains("/" + path))
    notes_.push_back("/" + path + " is a script for " + printable(missing) +
                     ", which neither the image nor this machine has");
}

std::string Binaries::new_text(const std::string& content) const {
  const std::string_view line = content.starts_with("#!") ? first_line(content) : std::string_view();
  const std::string start = line.empty() ? std::string() : interpreter_on_host(line);
  return start + names_.below(tree_.place, std::string_view(content).substr(line.size()));
}

Result<std::vector<std::string>> Binaries::apply() const {
  std::vector<std::string> texts;
  for (const Change& change : changes_) {
    const fs::path outside = tree_.tree / change.file;
    std::error_code code;
    if (!change.link.empty()) {
      fs::remove(outside, code);
      fs::create_symlink(change.link, outside, code);
      if (code)
        return errno_error(code.value(), "writing " + outside.string());
      continue;
    }
    const auto mode = static_cast<unsigned>(fs::status(outside, code).permissions()) & 0777U;
    XAAS_TRY(const std::string content, read_file(outside, largest_binary));
    std::string made;
    if (change.is_text) {
      texts.push_back("/" + change.file);
      made = new_text(content);
    } else {
      XAAS_TRY(made, run_worker("/" + change.file, [&]() -> Result<std::string> {
                 return relocate(content, {change.interpreter, change.rpath});
               }));
    }
    XAAS_CHECK(write_file(outside, made, mode, false));
  }
  XAAS_CHECK(add_host_libraries());
  return texts;
}

// Names without versions stay right when the host's libraries are updated. Whatever an image has at this
// place goes away, so that no link of it leads elsewhere.
Result<void> Binaries::add_host_libraries() const {
  if (tree_.libraries.empty())
    return {};
  std::error_code code;
  const fs::path own = tree_.tree / fs::path(run::host_libraries).relative_path();
  if (!fs::is_directory(fs::symlink_status(own.parent_path(), code)))
    return make_error(ErrorKind::integrity, "the image has no directory /.xaas");
  remove_tree(own);
  XAAS_CHECK(make_directories(own));
  for (const run::Bind& bind : tree_.libraries) {
    const fs::path below = relative_under(bind.destination, run::host_libraries);
    if (below.empty())
      continue;
    XAAS_CHECK(make_directories((own / below).parent_path()));
    const fs::path named = bind.source.parent_path() / below.filename();
    fs::create_symlink(fs::equivalent(named, bind.source, code) ? named : bind.source, own / below, code);
    if (code)
      return errno_error(code.value(), "writing " + (own / below).string());
  }
  return {};
}

} // namespace xaas::install
