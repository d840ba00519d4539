#include <xaas/image/dpkg.h>

#include <xaas/base/file.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

namespace xaas::image {

namespace {

// The names under which a package may list a file, the surest first. A link reads libz.so, which is a symlink
// of zlib1g-dev, and gets the file of zlib1g that it leads to. A package may list /lib for a file in /usr/lib
// (merged /usr).
std::vector<std::string> names_of(const fs::path& path, const fs::path& root) {
  std::vector<std::string> names;
  std::error_code code;
  const fs::path canonical = fs::weakly_canonical(root / path.relative_path(), code);
  const fs::path below = relative_under(canonical, fs::weakly_canonical(root, code));
  if (!below.empty())
    names.push_back("/" + below.string());
  names.push_back(path.lexically_normal().string());
  std::vector<std::string> all;
  for (const std::string& name : names) {
    all.push_back(name);
    all.push_back(name.starts_with("/usr/") ? name.substr(4) : "/usr" + name);
  }
  return all;
}

// The package that owns each file: its name in dpkg's directory `info`, with `:ARCH` if several architectures
// of the package can be installed together.
class Owners {
public:
  Owners(const std::map<Digest, fs::path>& files, const fs::path& root) {
    for (const auto& [digest, path] : files)
      for (size_t rank = 0; const std::string& name : names_of(path, root))
        wanted_[name].emplace_back(digest, rank++);
    std::vector<fs::path> lists;
    std::error_code code;
    for (auto it = fs::directory_iterator(root / "var/lib/dpkg/info", code);
         !code && it != fs::directory_iterator(); it.increment(code))
      if (it->path().extension() == ".list")
        lists.push_back(it->path());
    std::sort(lists.begin(), lists.end());
    for (const fs::path& list : lists)
      read(list);
    for (const auto& [digest, owner] : owners_)
      files_[owner.second].insert(digest);
  }

  const std::map<std::string, std::set<Digest>>& files() const { return files_; }

private:
  void read(const fs::path& list) {
    const Result<std::string> text = read_file(list, uint64_t(64) << 20);
    if (!text)
      return;
    for (const std::string& line : split(*text, '\n')) {
      const auto found = wanted_.find(line);
      if (found == wanted_.end())
        continue;
      for (const auto& [digest, rank] : found->second) {
        const std::pair<size_t, std::string> owner = {rank, list.stem().string()};
        const auto known = owners_.emplace(digest, owner).first;
        known->second = std::min(known->second, owner);
      }
    }
  }

  std::unordered_map<std::string, std::vector<std::pair<Digest, size_t>>>
      wanted_; // with the rank of the name
  std::map<Digest, std::pair<size_t, std::string>> owners_;
  std::map<std::string, std::set<Digest>> files_;
};

// ID and VERSION_ID (os-release(5)), such as debian-12.
std::string distribution(const fs::path& root) {
  std::string id, version;
  const Result<std::string> text = read_file(root / "etc/os-release", 1 << 16);
  if (!text)
    return {};
  for (const std::string& line : split(*text, '\n')) {
    std::string value = line.substr(std::min(line.size(), line.find('=') + 1));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    if (line.starts_with("ID="))
      id = value;
    else if (line.starts_with("VERSION_ID="))
      version = value;
  }
  return id.empty() || version.empty() ? id : id + "-" + version;
}

// The facts in a stanza of dpkg's file `status` about an installed package (deb-control(5)).
Package parse_stanza(const std::string& stanza) {
  Package package{.manager = "deb"};
  for (const std::string& line : split(stanza, '\n')) {
    const auto field = [&](const std::string& name, std::string& value) {
      if (line.starts_with(name + ": "))
        value = trim(line.substr(name.size() + 2));
    };
    field("Package", package.name);
    field("Version", package.version);
    field("Architecture", package.arch);
    field("Source", package.source);
  }
  package.source = package.source.substr(0, package.source.find(' ')); // "glibc (2.36-9)"
  return package;
}

std::vector<std::string> stanzas_of(const std::string& status) {
  std::vector<std::string> stanzas;
  for (size_t start = 0; start < status.size();) {
    const size_t end = std::min(status.find("\n\n", start), status.size());
    stanzas.push_back(status.substr(start, end - start));
    start = end + 2;
  }
  return stanzas;
}

} // namespace

std::vector<Package> packages_of(const std::map<Digest, fs::path>& files, const fs::path& root) {
  const Owners owners(files, root);
  const Result<std::string> status = read_file(root / "var/lib/dpkg/status", uint64_t(256) << 20);
  if (owners.files().empty() || !status)
    return {};
  const std::string installed_on = distribution(root);
  std::vector<Package> packages;
  for (const std::string& stanza : stanzas_of(*status)) {
    Package package = parse_stanza(stanza);
    for (const std::string& key : {package.name + ":" + package.arch, package.name}) {
      const auto found = owners.files().find(key);
      if (found == owners.files().end() || package.version.empty())
        continue;
      package.distribution = installed_on;
      package.files = found->second;
      packages.push_back(std::move(package));
      break;
    }
  }
  std::sort(packages.begin(), packages.end());
  return packages;
}

} // namespace xaas::image
