#include "binaries.h"

#include "named_paths.h"
#include "relocate.h"

#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/base/worker.h>
#include <xaas/launcher/launcher.h>
#include <xaas/loader/c_library.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <unistd.h>

namespace xaas::install {

namespace {

constexpr uint64_t largest_file = uint64_t(8) << 30;

std::string variable_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

bool begins_with_origin(const std::string& entry) {
  return entry.starts_with("$ORIGIN") || entry.starts_with("${ORIGIN}");
}

} // namespace

Binaries::Binaries(const TreeOnHost& tree)
    : tree_(tree), settings_(loader::settings_for(
                       tree.tree, tree.arch, split(variable_of(tree.environment, "LD_LIBRARY_PATH"), ':'))) {}

Result<Binaries> Binaries::plan(const TreeOnHost& tree, const std::vector<File>& files) {
  Binaries binaries(tree);
  const NamedPaths names(files, [](const std::string& path) { return access(path.c_str(), X_OK) == 0; });
  for (const File& file : files)
    if (file.type == fs::file_type::symlink)
      binaries.add_link(file);
    else if (file.type == fs::file_type::regular)
      XAAS_CHECK(binaries.add(file, names));
  return binaries;
}

std::string Binaries::on_host(const std::string& path) const {
  return tree_.place.string() + find_in_tree(tree_.tree, path).inside;
}

std::string Binaries::value_on_host(const std::string& value) const {
  std::vector<std::string> parts = split(value, ':');
  for (std::string& part : parts)
    if (part.starts_with("/") && find_in_tree(tree_.tree, part).type != fs::file_type::not_found &&
        part.find_first_not_of('/') != std::string::npos)
      part = tree_.place.string() + part;
  return join(parts, ":");
}

std::vector<std::string> Binaries::search_path() const {
  std::string path = variable_of(tree_.environment, "PATH");
  if (path.empty())
    path = runtimes::Knowledge::get().path;
  std::vector<std::string> directories;
  for (const std::string& directory : split(path, ':')) {
    std::error_code code;
    const TreePlace place = find_in_tree(tree_.tree, directory);
    if (!directory.starts_with("/") || place.type != fs::file_type::directory ||
        fs::is_empty(place.outside, code))
      continue;
    const std::string there = on_host(directory);
    if (std::find(directories.begin(), directories.end(), there) == directories.end())
      directories.push_back(there);
  }
  return directories;
}

void Binaries::add_link(const File& file) {
  if (!file.link.starts_with("/"))
    return;
  const fs::path from = "/" + file.path;
  const TreePlace place = find_in_tree(tree_.tree, file.link);
  if (place.type == fs::file_type::not_found)
    return; // a file of the machine, such as /proc/mounts
  const TreePlace above = find_in_tree(tree_.tree, from.parent_path());
  Change change{.file = file.path};
  change.link = fs::path(file.link).lexically_normal().lexically_relative(above.inside);
  changes_.push_back(std::move(change));
}

Result<void> Binaries::add(const File& file, const NamedPaths& names) {
  const fs::path outside = tree_.tree / file.path;
  XAAS_TRY(const std::string content, read_file(outside, largest_file));
  const bool script = file.is_executable() && content.starts_with("#!");
  const bool elf = loader::is_elf_for(content, tree_.arch);
  if (!script && !elf)
    return {};
  if (elf && loader::is_of_c_library(fs::path(file.path).filename().string()))
    return {};
  if (script) {
    add_script(file.path, content, names);
    return {};
  }
  XAAS_TRY(const loader::Dynamic dynamic, loader::read_dynamic_in_worker("/" + file.path, content));
  if (const std::string named = names.in(content, dynamic.runpath); !named.empty())
    doubtful_.push_back({"/" + file.path, "names " + printable(named) + " of the image"});
  if (!dynamic.interpreter.empty() && (dynamic.program || file.is_executable()))
    add_program(file.path, dynamic);
  else if (!dynamic.runpath.empty())
    add_library(file.path, dynamic);
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

std::vector<std::string> Binaries::own_rpath(const std::string& path, const loader::Dynamic& dynamic) const {
  std::vector<std::string> rpath;
  for (const std::string& entry : dynamic.runpath) {
    if (begins_with_origin(entry))
      rpath.push_back(entry);
    else if (entry.starts_with("/"))
      add_directory(rpath, path,
                    loader::expanded(entry, "/" + fs::path(path).parent_path().string(), settings_));
  }
  return rpath;
}

void Binaries::add_program(const std::string& path, const loader::Dynamic& dynamic) {
  const TreePlace interpreter = find_in_tree(tree_.tree, dynamic.interpreter);
  if (interpreter.type != fs::file_type::regular) {
    impossible_.push_back({"/" + path, "names the loader " + printable(dynamic.interpreter) +
                                           ", which the image does not have"});
    return;
  }
  Change change{.file = path};
  change.interpreter = tree_.place.string() + interpreter.inside;
  if (!tree_.libraries.empty())
    change.rpath.push_back(tree_.place.string() + run::host_libraries);
  for (std::string& entry : own_rpath(path, dynamic))
    change.rpath.push_back(std::move(entry));
  for (const std::string& directory : settings_.library_path)
    if (directory.starts_with("/"))
      add_directory(change.rpath, path, directory);
  for (const std::string& directory : settings_.directories.all())
    add_directory(change.rpath, path, directory);
  changes_.push_back(std::move(change));
}

void Binaries::add_library(const std::string& path, const loader::Dynamic& dynamic) {
  Change change{.file = path};
  change.rpath = own_rpath(path, dynamic);
  changes_.push_back(std::move(change));
}

// execve(2): the interpreter and at most one argument; before Linux 5.1, at most 127 characters.
void Binaries::add_script(const std::string& path, const std::string& content, const NamedPaths& names) {
  constexpr size_t longest_line = 127;
  const size_t end = std::min(content.find('\n'), content.size());
  const std::string line = trim(content.substr(2, end - 2));
  const size_t blank = line.find_first_of(" \t");
  std::string interpreter = line.substr(0, blank);
  std::string argument = blank == std::string::npos ? "" : trim(line.substr(blank));
  if (fs::path(interpreter).filename() == "env" && argument.find_first_of(" \t=-/") == std::string::npos)
    if (const std::string found = find_program(argument); !found.empty()) {
      interpreter = found;
      argument.clear();
    }
  Change change{.file = path};
  std::string first_line = content.substr(0, end);
  if (find_in_tree(tree_.tree, interpreter).type == fs::file_type::regular) {
    // By the name that the script uses: Python looks for its modules beside it.
    first_line = "#!" + tree_.place.string() + interpreter + (argument.empty() ? "" : " " + argument);
    if (first_line.size() > longest_line)
      impossible_.push_back({"/" + path, "would begin with a line of " + std::to_string(first_line.size()) +
                                             " characters, more than some kernels read"});
  } else if (access(interpreter.c_str(), X_OK) != 0) {
    impossible_.push_back({"/" + path, "is a script for " + printable(interpreter) +
                                           ", which neither the image nor this machine has"});
  }
  const std::string_view rest = std::string_view(content).substr(end);
  const bool text =
      rest.find('\0') == std::string_view::npos; // else an archive follows, with positions in it
  if (const std::string named = text ? "" : names.in(rest); !named.empty())
    doubtful_.push_back({"/" + path, "names " + printable(named) + " of the image"});
  change.text = first_line + (text ? names.below(tree_.place, rest) : std::string(rest));
  if (change.text != content)
    changes_.push_back(std::move(change));
}

// Its path in the image; empty: it has none on its PATH.
std::string Binaries::find_program(const std::string& name) const {
  std::string path = variable_of(tree_.environment, "PATH");
  if (path.empty())
    path = runtimes::Knowledge::get().path;
  for (const std::string& directory : split(path, ':'))
    if (!name.empty() && directory.starts_with("/") &&
        find_in_tree(tree_.tree, directory + "/" + name).type == fs::file_type::regular)
      return directory + "/" + name;
  return {};
}

Result<void> Binaries::apply(const Change& change) const {
  const fs::path outside = tree_.tree / change.file;
  std::error_code code;
  if (!change.link.empty()) {
    fs::remove(outside, code);
    fs::create_symlink(change.link, outside, code);
    return code ? errno_error(code.value(), "writing " + outside.string()) : Result<void>();
  }
  const auto mode = static_cast<unsigned>(fs::status(outside, code).permissions()) & 0777U;
  if (!change.text.empty())
    return write_file(outside, change.text, mode, false);
  XAAS_TRY(const std::string content, read_file(outside, largest_file));
  XAAS_TRY(const std::string made, run_worker("/" + change.file, [&]() -> Result<std::string> {
             return relocate(content, {change.interpreter, change.rpath});
           }));
  return write_file(outside, made, mode, false);
}

Result<void> Binaries::apply() const {
  for (const Change& change : changes_)
    XAAS_CHECK(apply(change));
  std::error_code code;
  const fs::path libraries = tree_.tree / fs::path(run::host_libraries).relative_path();
  if (!tree_.libraries.empty())
    XAAS_CHECK(make_directories(libraries));
  for (const run::Bind& bind : tree_.libraries) {
    const fs::path link = tree_.tree / fs::path(bind.destination).relative_path();
    XAAS_CHECK(make_directories(link.parent_path()));
    fs::create_symlink(bind.source, link, code);
    if (code)
      return errno_error(code.value(), "writing " + link.string());
  }
  return {};
}

} // namespace xaas::install
