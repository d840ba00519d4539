// Each step of _dl_map_object is a step here, except for those that need a process (LD_PRELOAD, auditing, the
// current directory, set-user-ID programs).
#include <xaas/loader/search.h>

#include <algorithm>
#include <cctype>

namespace xaas::loader {

namespace {

// The length of the token `name` at the start of `text`, which follows a `$`; 0 if it is another one
// (is_dst).
size_t token_length(std::string_view text, std::string_view name) {
  const bool braces = text.starts_with("{");
  const std::string_view rest = text.substr(braces ? 1 : 0);
  if (!rest.starts_with(name))
    return 0;
  const unsigned char next = rest.size() > name.size() ? static_cast<unsigned char>(rest[name.size()]) : 0;
  if (braces ? next != '}' : std::isalnum(next) || next == '_')
    return 0;
  return name.size() + (braces ? 2 : 0);
}

std::string directory_of(const std::string& path) {
  return fs::path(path).parent_path();
}

class Search {
public:
  Search(Root& root, const Settings& settings, const Object* by, const std::string& name)
      : root_(root), settings_(settings), by_(by), name_(name) {}

  Result<Found> run() {
    if (name_.find('/') != std::string::npos) {
      XAAS_CHECK(try_file(by_ ? expanded(name_, directory_of(by_->place), settings_) : name_, Way::by_path));
      return std::move(found_);
    }
    XAAS_CHECK(try_rpaths());
    XAAS_CHECK(try_all(settings_.library_path, Way::library_path));
    if (has_runpath(by_))
      XAAS_CHECK(try_own(*by_, Way::runpath));
    XAAS_CHECK(try_system());
    XAAS_CHECK(try_all(settings_.last, Way::last));
    return std::move(found_);
  }

private:
  static bool has_rpath(const Object& object) {
    return object.library->dynamic.rpath_is_first && !object.library->dynamic.runpath.empty();
  }
  static bool has_runpath(const Object* object) {
    return object && !object->library->dynamic.rpath_is_first && !object->library->dynamic.runpath.empty();
  }

  // Searches DT_RPATH of the object and of its chain of dependents up to the program, unless the object has
  // DT_RUNPATH.
  Result<void> try_rpaths() {
    if (has_runpath(by_))
      return {};
    for (const Object* object = by_; object; object = object->by)
      if (has_rpath(*object))
        XAAS_CHECK(try_own(*object, Way::rpath));
    return {};
  }

  Result<void> try_own(const Object& object, Way way) {
    std::vector<std::string> directories;
    for (const std::string& entry : object.library->dynamic.runpath)
      directories.push_back(expanded(entry, directory_of(object.place), settings_));
    return try_all(directories, way);
  }

  Result<void> try_system() {
    const Directories& places = settings_.directories;
    const bool defaults = !by_ || !by_->library->dynamic.no_default_directories;
    if (const auto cached = places.cache.paths.find(name_); cached != places.cache.paths.end())
      if (defaults || !is_default(directory_of(cached->second)))
        XAAS_CHECK(try_file(cached->second, Way::system));
    std::vector<std::string> configured = places.configured;
    if (!defaults)
      std::erase_if(configured, [&](const std::string& directory) { return is_default(directory); });
    XAAS_CHECK(try_all(configured, Way::system));
    return defaults ? try_all(places.defaults, Way::system) : Result<void>();
  }

  bool is_default(const std::string& directory) const {
    const std::vector<std::string>& defaults = settings_.directories.defaults;
    return std::any_of(defaults.begin(), defaults.end(),
                       [&](const std::string& each) { return (directory + "/").starts_with(each + "/"); });
  }

  Result<void> try_all(const std::vector<std::string>& directories, Way way) {
    for (const std::string& directory : directories) {
      for (const std::string& hwcap : settings_.hwcaps)
        XAAS_CHECK(try_file(directory + "/glibc-hwcaps/" + hwcap + "/" + name_, way));
      XAAS_CHECK(try_file(directory + "/" + name_, way));
    }
    return {};
  }

  // Does nothing once the search has ended.
  Result<void> try_file(const std::string& path, Way way) {
    if (found_.library || !found_.no_library.empty() || !path.starts_with("/"))
      return {};
    XAAS_TRY(const Candidate candidate, root_.look(path));
    if (candidate.kind == Candidate::Kind::no_library)
      found_.no_library = path;
    else if (candidate.kind == Candidate::Kind::library)
      found_ = {candidate.library, path, way, {}};
    return {};
  }

  Root& root_;
  const Settings& settings_;
  const Object* by_;
  const std::string& name_;
  Found found_;
};

} // namespace

Settings settings_for(const fs::path& root, const std::string& arch, std::vector<std::string> library_path) {
  return {arch, std::move(library_path), directories_of(root, arch), {}, {}};
}

std::string expanded(const std::string& text, const std::string& origin, const Settings& settings) {
  const std::pair<std::string_view, std::string_view> tokens[] = {
      {"ORIGIN", origin}, {"LIB", settings.directories.lib}, {"PLATFORM", settings.arch}};
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const char character = text[at++];
    size_t length = 0;
    for (const auto& [name, value] : tokens)
      if (character == '$' && length == 0 &&
          (length = token_length(std::string_view(text).substr(at), name)) > 0)
        result += value;
    if (length == 0)
      result += character; // any other `$` is literal
    at += length;
  }
  return result;
}

Result<Found> find_library(Root& root, const Settings& settings, const Object* by, const std::string& name) {
  return Search(root, settings, by, name).run();
}

} // namespace xaas::loader
