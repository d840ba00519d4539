// Spack has an index of each tree, `.spack-db/index.json`, with name, version and prefix of every package.
// Its configuration, in YAML, names the trees; we need only two keys. Walking a tree instead would take
// minutes on a parallel file system. EasyBuild has no index, but one directory per package name: only the
// known names are examined, so that a tree with thousands of others costs nothing.
//
// Sources: Spack, "Database", "Configuration scopes", "Chaining Spack installations"; EasyBuild,
// "Configuration".
#include "trees.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/base/version.h>

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/YAMLParser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <set>

namespace xaas::system {

namespace {

// Extracts name, version and prefix from an index while parsing it:
// {"database": {"installs": {HASH: {"spec": {"name", "version"}, "path", "installed"}}}}
class IndexReader : public nlohmann::json_sax<Json> {
public:
  IndexReader(const std::set<std::string>& packages, std::vector<Installed>& found)
      : packages_(packages), found_(found), deadline_(std::chrono::steady_clock::now() + most_index_time) {}
  bool late() const { return late_; }

  bool start_object(std::size_t) override {
    path_.push_back(key_);
    if (path_.size() == 4) {
      install_ = {};
      installed_ = true;
    }
    return in_time();
  }
  bool end_object() override {
    if (path_.size() == 4 && path_[2] == "installs" && installed_ && !install_.prefix.empty() &&
        packages_.count(install_.package))
      found_.push_back(install_);
    path_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool string(string_t& value) override {
    if (arrays_)
      return true;
    if (path_.size() == 4 && key_ == "path")
      install_.prefix = value;
    if (path_.size() == 5 && path_[4] == "spec" && key_ == "name")
      install_.package = value;
    if (path_.size() == 5 && path_[4] == "spec" && key_ == "version")
      install_.version = value;
    return true;
  }
  bool boolean(bool value) override {
    if (path_.size() == 4 && key_ == "installed")
      installed_ = value;
    return true;
  }
  bool start_array(std::size_t) override {
    ++arrays_;
    return true;
  }
  bool end_array() override {
    --arrays_;
    return true;
  }
  bool null() override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

private:
  bool in_time() {
    if (++objects_ % 256 == 0 && std::chrono::steady_clock::now() > deadline_)
      late_ = true;
    return !late_;
  }

  const std::set<std::string>& packages_;
  std::vector<Installed>& found_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::string> path_; // the keys of the enclosing objects; the outermost has none
  std::string key_;
  Installed install_;
  bool installed_ = true, late_ = false;
  unsigned arrays_ = 0, objects_ = 0;
};

void read_index(const Machine& machine, const std::string& tree, const std::set<std::string>& packages,
                std::vector<Installed>& found) {
  const std::string index = tree + "/.spack-db/index.json";
  const std::unique_ptr<std::streambuf> pieces = machine.stream(index);
  if (!pieces)
    return;
  std::istream content(pieces.get());
  const size_t before = found.size();
  IndexReader reader(packages, found);
  if (!Json::sax_parse(content, &reader))
    machine.note(index + (reader.late()
                              ? ": reading it took more than " + std::to_string(most_index_time.count()) +
                                    " ms, the rest was skipped"
                              : ": not an index written by Spack"));
  for (size_t i = before; i < found.size(); ++i)
    found[i].evidence = index;
}

// Expands $spack, ~ and environment variables, which Spack's configuration may contain.
std::string expanded(const Machine& machine, std::string path) {
  if (path.starts_with("~"))
    path = machine.environment("HOME") + path.substr(1);
  for (size_t at = path.find('$'); at != std::string::npos; at = path.find('$')) {
    const bool braces = at + 1 < path.size() && path[at + 1] == '{';
    const size_t name = at + (braces ? 2 : 1);
    size_t end = name;
    while (end < path.size() && (std::isalnum(static_cast<unsigned char>(path[end])) || path[end] == '_'))
      ++end;
    const std::string variable = path.substr(name, end - name);
    const size_t after = end + (braces && end < path.size() ? 1 : 0);
    const std::string value = variable == "spack"  ? machine.environment("SPACK_ROOT")
                              : variable == "user" ? machine.environment("USER")
                                                   : machine.environment(variable);
    if (value.empty() || value.find('$') != std::string::npos)
      return {};
    path = path.substr(0, at) + value + path.substr(after);
  }
  return path;
}

// Adds the paths of every `install_tree` in a document, which is a path or has one under `root`.
void find_install_trees(llvm::yaml::Node* node, bool is_tree, unsigned depth,
                        std::vector<std::string>& trees) {
  llvm::SmallString<128> storage;
  if (depth > 16)
    return;
  if (auto* text = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(node); text && is_tree)
    trees.push_back(text->getValue(storage).str());
  auto* mapping = llvm::dyn_cast_or_null<llvm::yaml::MappingNode>(node);
  if (!mapping)
    return;
  for (llvm::yaml::KeyValueNode& entry : *mapping) {
    auto* key = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(entry.getKey());
    llvm::SmallString<128> key_storage;
    const std::string name = key ? key->getValue(key_storage).str() : "";
    const bool tree = name == "install_tree" || name == "install_tree:" || (is_tree && name == "root");
    find_install_trees(entry.getValue(), tree, depth + 1, trees);
  }
}

std::vector<std::string> trees_of_configuration(const Machine& machine, const std::string& file) {
  std::vector<std::string> trees;
  const std::string content = machine.text(file, uint64_t(1) << 20);
  if (content.empty())
    return trees;
  llvm::SourceMgr sources;
  sources.setDiagHandler([](const llvm::SMDiagnostic&, void*) {}); // a library does not print
  llvm::yaml::Stream stream(content, sources, false);
  for (llvm::yaml::Document& document : stream) {
    find_install_trees(document.getRoot(), false, 0, trees);
    break; // one is enough
  }
  if (stream.failed())
    machine.note(file + ": not YAML, its trees were skipped");
  for (std::string& tree : trees)
    tree = expanded(machine, tree);
  return trees;
}

std::vector<std::string> spack_trees(const Machine& machine) {
  const std::string root = machine.environment("SPACK_ROOT"), home = machine.environment("HOME");
  std::vector<std::string> scopes = {
      machine.environment("SPACK_SYSTEM_CONFIG_PATH"), "/etc/spack", root.empty() ? "" : root + "/etc/spack",
      machine.environment("SPACK_USER_CONFIG_PATH"), home.empty() ? "" : home + "/.spack"};
  std::vector<std::string> trees;
  for (const std::string& scope : scopes)
    if (scope.starts_with("/"))
      for (const char* name : {"config.yaml", "upstreams.yaml"})
        for (const std::string& tree : trees_of_configuration(machine, scope + "/" + name))
          trees.push_back(tree);
  if (!root.empty())
    trees.push_back(root + "/opt/spack");
  std::set<std::string> seen;
  std::erase_if(trees, [&](const std::string& tree) {
    return !tree.starts_with("/") || machine.identity(tree).empty() ||
           !seen.insert(machine.identity(tree)).second;
  });
  return trees;
}

// Keeps the newest versions of each package.
void limit_versions(const Machine& machine, std::vector<Installed>& found) {
  std::sort(found.begin(), found.end(), [](const Installed& a, const Installed& b) {
    return a.package != b.package   ? a.package < b.package
           : a.version != b.version ? version_text_less(b.version, a.version)
                                    : a.prefix < b.prefix;
  });
  std::map<std::string, size_t> count;
  std::erase_if(found, [&](const Installed& installed) {
    if (++count[installed.package] <= most_versions)
      return false;
    machine.note(installed.evidence + ": more than " + std::to_string(most_versions) + " of " +
                 installed.package + ", the older ones were left out");
    return true;
  });
}

std::vector<std::string> easybuild_directories(const Machine& machine) {
  std::vector<std::string> directories;
  for (const std::string& directory : split(machine.environment("EASYBUILD_INSTALLPATH_SOFTWARE"), ':'))
    directories.push_back(directory);
  for (const char* variable : {"EASYBUILD_INSTALLPATH", "EASYBUILD_PREFIX", "EESSI_SOFTWARE_PATH"})
    if (const std::string prefix = machine.environment(variable); !prefix.empty())
      directories.push_back(prefix + "/software");
  if (const std::string home = machine.environment("HOME"); !home.empty())
    directories.push_back(home + "/.local/easybuild/software");
  std::set<std::string> seen;
  std::erase_if(directories, [&](const std::string& directory) {
    return !directory.starts_with("/") || machine.identity(directory).empty() ||
           !seen.insert(machine.identity(directory)).second;
  });
  return directories;
}

} // namespace

std::vector<Installed> spack_installed(const Machine& machine, const std::vector<std::string>& packages) {
  const std::set<std::string> names(packages.begin(), packages.end());
  std::vector<Installed> found;
  for (const std::string& tree : spack_trees(machine))
    read_index(machine, tree, names, found);
  limit_versions(machine, found);
  return found;
}

// SOFTWARE/FFTW/3.3.10-GCC-12.3.0
std::vector<Installed> easybuild_installed(const Machine& machine, const std::vector<std::string>& packages) {
  std::vector<Installed> found;
  for (const std::string& directory : easybuild_directories(machine))
    for (const std::string& package : std::set<std::string>(packages.begin(), packages.end()))
      for (const std::string& name : machine.entries(directory + "/" + package))
        if (std::isdigit(static_cast<unsigned char>(name[0])))
          found.push_back({package, name.substr(0, name.find('-')), directory + "/" + package + "/" + name,
                           directory + "/" + package});
  limit_versions(machine, found);
  return found;
}

} // namespace xaas::system
