#include <xaas/loader/loading.h>

#include <algorithm>

namespace xaas::loader {

namespace {

class Process {
public:
  Process(Root& root, const Settings& settings, const Start& start)
      : root_(root), settings_(settings), start_(start) {}

  Result<Loading> run() {
    for (const Library* library : start_.libraries) {
      XAAS_CHECK(add_loader(*library));
      add(library, {}, {library, library->path, nullptr, Way::started});
    }
    // Breadth first like _dl_map_object_deps: direct dependencies of the program come before theirs.
    for (size_t next = 0; next < loading_.objects.size(); ++next) {
      const Object& object = *loading_.objects[next];
      for (const std::string& name : object.library->dynamic.needed)
        XAAS_CHECK(need(object, name, false));
      if (start_.by_name && next + 1 == loading_.objects.size())
        XAAS_CHECK(need_by_name());
    }
    return std::move(loading_);
  }

private:
  Result<void> add_loader(const Library& program) {
    if (program.dynamic.interpreter.empty())
      return {};
    XAAS_TRY(const Candidate candidate, root_.look(program.dynamic.interpreter));
    if (!candidate.library || candidate.library == &program)
      return {};
    const Object* const loader =
        loading_.loaders
            .emplace_back(std::make_unique<Object>(
                Object{candidate.library, program.dynamic.interpreter, nullptr, Way::given}))
            .get();
    loading_.names.emplace(fs::path(program.dynamic.interpreter).filename(), loader);
    loading_.names.emplace(candidate.library->dynamic.soname, loader);
    return {};
  }

  const Object* add(const Library* library, const std::string& name, Object object) {
    // A file is loaded only once, whatever its names.
    const auto same = std::find_if(loading_.objects.begin(), loading_.objects.end(),
                                   [&](const auto& each) { return each->library == library; });
    const Object* loaded = nullptr;
    if (same != loading_.objects.end())
      loaded = same->get();
    else
      loaded = loading_.objects.emplace_back(std::make_unique<Object>(std::move(object))).get();
    if (!name.empty())
      loading_.names.emplace(name, loaded);
    if (!library->dynamic.soname.empty())
      loading_.names.emplace(library->dynamic.soname, loaded);
    return loaded;
  }

  Result<void> need(const Object& by, const std::string& name, bool by_name) {
    if (const auto known = loading_.names.find(name); known != loading_.names.end()) {
      loading_.needed.emplace(name, known->second);
      return {};
    }
    const auto given = start_.given.find(name);
    const bool is_given = given != start_.given.end();
    if (is_given && (start_.served.empty() || start_.served.count(by.library))) {
      give(by, name, given->second);
      return {};
    }
    if (missing_.count(name) || elsewhere_.count(name))
      return {};
    XAAS_TRY(const Found found, find_library(root_, settings_, &by, name));
    if (found.library) {
      loading_.needed.emplace(name, add(found.library, name, {found.library, found.place, &by, found.way}));
    } else if (is_given) {
      give(by, name, given->second);
    } else {
      missing_.insert(name);
      loading_.missing.push_back({&by, name, found.no_library, by_name});
    }
    return {};
  }

  void give(const Object& by, const std::string& name, const Library* library) {
    if (library)
      loading_.needed.emplace(name, add(library, name, {library, library->path, &by, Way::given}));
    else
      elsewhere_.insert(name);
  }

  Result<void> need_by_name() {
    if (const auto libc = loading_.names.find("libc.so.6"); libc != loading_.names.end())
      return need(*libc->second, "libgcc_s.so.1", true);
    return {};
  }

  Root& root_;
  const Settings& settings_;
  const Start& start_;
  Loading loading_;
  std::set<std::string> missing_, elsewhere_; // names without a library here
};

} // namespace

std::string to_string(const Missing& missing) {
  return missing.by->library->path + " needs " + missing.name + (missing.by_name ? " for threads" : "");
}

Result<Loading> load(Root& root, const Settings& settings, const Start& start) {
  return Process(root, settings, start).run();
}

Result<const Library*> Loader::find(const std::string& name) {
  XAAS_TRY(const Found found, find_library(root_, settings_, nullptr, name));
  return found.library;
}

} // namespace xaas::loader
