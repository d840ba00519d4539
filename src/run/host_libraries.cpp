#include "host_libraries.h"

#include <xaas/base/glob.h>
#include <xaas/base/text.h>
#include <xaas/loader/c_library.h>
#include <xaas/run/preferred.h>

#include <algorithm>

namespace xaas::run {

namespace {

using loader::Library, loader::Loader, loader::Loading;

// The C library always comes from the image.
std::map<std::string, const Library*> libc_names() {
  std::map<std::string, const Library*> names;
  for (const loader::CLibraryPart& part : loader::c_library_parts)
    names[std::string(part.name)] = nullptr;
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool has_version(const Library& library, const std::string& version) {
  return library.dynamic.versions.empty() || contains(library.dynamic.versions, version);
}

bool covers(const Library& library, const Library& other) {
  return std::all_of(other.dynamic.versions.begin(), other.dynamic.versions.end(),
                     [&](const std::string& version) { return has_version(library, version); });
}

// The first version of `name` that `by` needs and `library` lacks; empty: none.
std::string lacking_version(const Library& by, const std::string& name, const Library& library) {
  const auto needed = by.dynamic.needed_versions.find(name);
  if (needed != by.dynamic.needed_versions.end())
    for (const std::string& version : needed->second)
      if (!has_version(library, version))
        return version;
  return {};
}

std::vector<std::string> names_of(const Replaced& replaced) {
  std::vector<std::string> names;
  for (const Replaced::Library& library : replaced.libraries)
    names.insert(names.end(), library.names.begin(), library.names.end());
  return names;
}

bool is_mpi(const std::string& name) {
  for (const runtimes::MpiFamily& family : runtimes::Knowledge::get().mpi)
    for (const std::vector<std::string>& names : family.libraries)
      if (contains(names, name))
        return true;
  return false;
}

} // namespace

// Collects the binds for one set of libraries, and refuses a library that would not load or lacks a symbol.
class HostLibraries::Attempt {
public:
  Attempt(const HostLibraries& of, const Replaced& replaced, Loader& host)
      : of_(of), image_(*of.image_), replaced_(replaced), host_(host), taking_(of.taking_) {}

  Result<Taking> run(const std::string& directory) {
    XAAS_CHECK(add_asked(directory));
    XAAS_CHECK(add_beside(directory));
    XAAS_TRY(const Loading loading, host_.load({start_, libc_names()}));
    add_parts(loading);
    if (!loading.missing.empty())
      return refusal("the host's " + to_string(loading.missing.front()) + ", which does not exist");
    for (const auto& [name, object] : loading.needed) {
      const Library* const library = object->library;
      if (replaced_.abi.empty() && is_mpi(name) && !taking_.libraries.count(name))
        return refusal("the host's needs its MPI (" + library->path +
                       "), and the program does not load that");
      XAAS_CHECK(add(name, library));
    }
    XAAS_CHECK(leave_out_known());
    for (const auto& [name, library] : taking_.libraries)
      XAAS_CHECK(check_libc(*library));
    XAAS_CHECK(check_versions());
    XAAS_CHECK(check_symbols());
    return std::move(taking_);
  }

private:
  Error refusal(const std::string& reason) const {
    const bool mpi = !replaced_.abi.empty();
    return make_error(ErrorKind::unsatisfied, reason,
                      mpi ? "`--mpi image` uses the MPI that the image brings"
                          : "`--host none` uses the libraries that the image brings");
  }

  Result<void> add_asked(const std::string& directory) {
    for (const Replaced::Library& each : replaced_.libraries) {
      const Library* library = nullptr;
      for (const std::string& name : each.of_host) {
        if (library)
          break;
        XAAS_TRY(library, host_.read(directory + "/" + name));
        if (library)
          files_.push_back(name);
      }
      for (const std::string& name : each.names)
        XAAS_CHECK(add(name, library));
      taking_.asked.insert(library->path);
      start_.push_back(library);
    }
    return {};
  }

  // The files that these libraries load by name from their own directories.
  Result<void> add_beside(const std::string& directory) {
    std::error_code code;
    for (const runtimes::Parts& parts : runtimes::Knowledge::get().parts) {
      const bool applies = !parts.beside.empty() &&
                           std::any_of(files_.begin(), files_.end(),
                                       [&](const auto& name) { return glob_match(parts.library, name); });
      for (auto entry = fs::directory_iterator(directory, code);
           applies && !code && entry != fs::directory_iterator(); entry.increment(code)) {
        const std::string name = entry->path().filename();
        if (std::none_of(parts.beside.begin(), parts.beside.end(),
                         [&](const std::string& pattern) { return glob_match(pattern, name); }))
          continue;
        XAAS_TRY(const Library* const library, host_.read(entry->path()));
        if (!library || taking_.libraries.count(name))
          continue;
        XAAS_CHECK(add(name, library));
        start_.push_back(library);
      }
    }
    return {};
  }

  // Of two host libraries with the same name, the one taken first must have all versions of the other.
  Result<void> add(const std::string& name, const Library* library) {
    const auto [known, added] = taking_.libraries.try_emplace(name, library);
    if (!added && known->second->path != library->path && !covers(*known->second, *library))
      return refusal("the host's " + library->path + " would be loaded beside " + known->second->path +
                     ", which lacks some of its versions");
    return {};
  }

  // Files loaded by name. Their library looks for them relative to its own path, which is the place where it
  // is bound or the original one.
  void add_parts(const Loading& loading) {
    std::map<std::string, const Library*> all = taking_.libraries;
    for (const auto& [name, object] : loading.needed)
      all[name] = object->library;
    for (const runtimes::Parts& parts : runtimes::Knowledge::get().parts) {
      const auto found = std::find_if(
          all.begin(), all.end(), [&](const auto& each) { return glob_match(parts.library, each.first); });
      if (found != all.end())
        add_parts(parts, fs::path(found->second->path).parent_path());
    }
  }

  void add_parts(const runtimes::Parts& parts, const fs::path& place) {
    std::error_code code;
    for (const std::string& name : parts.directories) {
      const fs::path directory = place / name;
      if (!fs::is_directory(directory, code))
        continue;
      add_bind({directory, directory, true});
      add_bind({directory, std::string(host_libraries) + "/" + name, true});
    }
    for (const std::string& file : parts.files)
      if (fs::exists(file, code))
        add_bind({file, file, true});
  }

  void add_bind(const Bind& bind) {
    if (std::find(taking_.parts.begin(), taking_.parts.end(), bind) == taking_.parts.end())
      taking_.parts.push_back(bind);
  }

  // A library that both sides have. The program may need symbol versions that the host's lacks, and the
  // host's libraries some that the image's lacks. One of the two must have all of them.
  Result<void> leave_out_known() {
    for (auto at = taking_.libraries.begin(); at != taking_.libraries.end();) {
      const Library& host = *at->second;
      XAAS_TRY(const Library* const own, image_.find(at->first));
      if (!own || taking_.asked.count(host.path) || host.dynamic.versions.empty() || covers(host, *own)) {
        ++at;
        continue;
      }
      if (!covers(*own, host))
        return refusal(at->first + ": neither the host's (" + host.path + ") nor the image's (" + own->path +
                       ") has all symbol versions of the other");
      at = taking_.libraries.erase(at);
    }
    return {};
  }

  Result<void> check_libc(const Library& library) {
    for (const loader::CLibraryPart& part : loader::c_library_parts) {
      const std::string name(part.name);
      if (!library.dynamic.needed_versions.count(name) && !contains(library.dynamic.needed, name))
        continue;
      XAAS_TRY(const Library* const own, image_.find(name));
      if (!own)
        return refusal("the host's " + library.path + " needs " + name + ", which the image does not have");
      if (const std::string version = lacking_version(library, name, *own); !version.empty())
        return refusal("the host's " + library.path + " needs " + version + " of " + name +
                       ", which the image's does not have: the host's C library is newer");
    }
    return {};
  }

  // True if the host's library is loaded in place of this file of the image.
  bool is_replaced(const Library& library) const {
    return std::any_of(of_.closure_.needed.begin(), of_.closure_.needed.end(), [&](const auto& each) {
      return each.second->library == &library && taking_.libraries.count(each.first);
    });
  }

  // The symbol versions that a requested library must have: those that the image's files need, or all of the
  // image's library if these are not known.
  Result<void> check_versions() {
    for (const std::string& name : names_of(replaced_)) {
      const Library& host = *taking_.libraries.at(name);
      for (const Library* by : of_.loading_)
        if (const std::string version = lacking_version(*by, name, host);
            !version.empty() && !is_replaced(*by))
          return refusal("the image's " + by->path + " needs " + version + " of " + name +
                         ", which the host's " + host.path + " does not have");
      XAAS_TRY(const Library* const own, image_.find(name));
      if (of_.loading_.empty() && own && !covers(host, *own))
        return refusal("the host's " + host.path + " lacks some symbol versions of the image's " + own->path);
    }
    return {};
  }

  struct Use { // of a symbol of the image's library
    std::string by, symbol, library;
  };

  // Libraries without symbol versions, as most mathematical libraries are, can be compared only by their
  // symbols. The loader looks up functions when they are first called, long after the start.
  Result<void> check_symbols() {
    std::map<std::string, std::string>
        lost; // symbols of the image's libraries that are not loaded -> library
    std::set<std::string> provided;
    for (const auto& [name, host] : taking_.libraries) {
      const auto own = of_.closure_.needed.find(name);
      if (own == of_.closure_.needed.end() ||
          (!host->dynamic.versions.empty() && !taking_.asked.count(host->path)))
        continue; // its versions were compared already
      XAAS_TRY(const loader::Symbols symbols, image_.symbols(*own->second->library));
      for (const std::string& symbol : symbols.defined)
        lost.emplace(symbol, name);
    }
    if (lost.empty())
      return {};
    std::set<std::string> read;
    for (const auto& [name, host] : taking_.libraries)
      if (read.insert(host->path).second) {
        XAAS_TRY(loader::Symbols symbols, host_.symbols(*host));
        provided.merge(symbols.defined);
      }
    XAAS_TRY(std::vector<Use> uses, uses_of(lost, provided));
    if (!uses.empty())
      XAAS_CHECK(leave_out_provided(uses));
    if (uses.empty())
      return {};
    const Use& use = uses.front();
    return refusal("the image's " + use.by + " uses " + use.symbol + " of " + use.library +
                   ", which the host's " + taking_.libraries.at(use.library)->path + " does not have");
  }

  // The symbols that the image's files use, that are `lost`, and that `provided` does not have.
  Result<std::vector<Use>> uses_of(const std::map<std::string, std::string>& lost,
                                   const std::set<std::string>& provided) {
    std::vector<Use> uses;
    for (const Library* by : of_.loading_) {
      const std::vector<std::string>& needed = by->dynamic.needed;
      if (is_replaced(*by) || std::none_of(needed.begin(), needed.end(), [&](const std::string& name) {
            return taking_.libraries.count(name) > 0;
          }))
        continue;
      XAAS_TRY(const loader::Symbols symbols, image_.symbols(*by));
      for (const std::string& symbol : symbols.needed)
        if (const auto found = lost.find(symbol); found != lost.end() && !provided.count(symbol))
          uses.push_back({by->path, symbol, found->second});
    }
    return uses;
  }

  // Another library of the image may define the symbol, too.
  Result<void> leave_out_provided(std::vector<Use>& uses) {
    for (const Library* library : of_.loading_) {
      if (is_replaced(*library))
        continue;
      XAAS_TRY(const loader::Symbols symbols, image_.symbols(*library));
      std::erase_if(uses, [&](const Use& use) { return symbols.defined.count(use.symbol) > 0; });
    }
    return {};
  }

  const HostLibraries& of_;
  Loader& image_;
  const Replaced& replaced_;
  Loader& host_;
  std::vector<const Library*> start_;
  std::vector<std::string> files_; // names of the asked libraries on the host
  Taking taking_;
};

Result<HostLibraries> HostLibraries::open(Loader& image, const Library* program, std::string arch,
                                          std::vector<std::string> library_path) {
  HostLibraries libraries(image, std::move(arch), std::move(library_path));
  if (!program)
    return libraries;
  XAAS_TRY(libraries.closure_, image.load({{program}}));
  for (const auto& object : libraries.closure_.objects)
    libraries.loading_.push_back(object->library);
  return libraries;
}

Result<Replaced> HostLibraries::mpi_of_image() {
  Replaced best{"mpi", {}, {}};
  for (const runtimes::MpiFamily& family : runtimes::Knowledge::get().mpi) {
    Replaced found{"mpi", family.abi, {}};
    bool has_main = false, loads_main = false;
    for (size_t i = 0; i < family.libraries.size(); ++i) {
      Replaced::Library each{{}, family.libraries[i]};
      for (const std::string& name : family.libraries[i]) {
        XAAS_TRY(const Library* const library, image_->find(name));
        const bool loads = closure_.needed.count(name) > 0;
        if (library || loads)
          each.names.push_back(name);
        loads_main |= i == 0 && loads;
      }
      has_main |= i == 0 && !each.names.empty();
      if (!each.names.empty())
        found.libraries.push_back(std::move(each));
    }
    if (!has_main)
      continue;
    if (loads_main)
      return found;
    // A program that loads no such library itself may start one that does: a script, an interpreter.
    if (best.abi.empty())
      best = std::move(found);
  }
  return best;
}

Result<Replaced> HostLibraries::libraries_of_image(const std::string& what,
                                                   const std::vector<std::string>& sonames) {
  Replaced found{what, {}, {}};
  for (const std::string& name : sonames) {
    XAAS_TRY(const Library* const library, image_->find(name));
    if (library || closure_.needed.count(name))
      found.libraries.push_back({{name}, {name}});
  }
  return found;
}

Replaced HostLibraries::named(const std::string& what) const {
  Replaced found{what, {}, {}};
  for (const auto& [name, object] : closure_.needed)
    if (name == what || belongs_to(what, name))
      found.libraries.push_back({{name}, {name}});
  return found;
}

// The file that finds one of these libraries by DT_RPATH, its own or that of a file that loads it; empty:
// none.
std::string HostLibraries::found_by_rpath(const Replaced& replaced) const {
  for (const std::string& name : names_of(replaced))
    if (const auto found = closure_.needed.find(name);
        found != closure_.needed.end() && found->second->way == loader::Way::rpath)
      return found->second->by->library->path;
  return {};
}

// Takes all libraries from one directory, because two versions of libraries that belong together do not fit.
Result<std::string> HostLibraries::directory_of(const Replaced& replaced,
                                                const std::vector<std::string>& directories) {
  std::string reason;
  for (const std::string& directory : directories) {
    bool has_first = false;
    const Replaced::Library* absent = nullptr;
    for (const Replaced::Library& each : replaced.libraries) {
      const Library* library = nullptr;
      for (const std::string& name : each.of_host)
        if (!library) {
          XAAS_TRY(library, finder_.read(directory + "/" + name));
        }
      has_first |= library && &each == &replaced.libraries.front();
      if (!library && !absent)
        absent = &each;
    }
    if (!absent)
      return directory;
    if (has_first && reason.empty())
      reason = "the image has " + absent->names.front() + ", the host's " + directory + " has none";
  }
  return make_error(ErrorKind::unsatisfied,
                    reason.empty() ? "this machine has no " + replaced.libraries.front().names.front()
                                   : reason,
                    replaced.abi.empty() ? "`--host none` uses the libraries that the image brings"
                                         : "`--mpi image` uses the MPI that the image brings");
}

Result<std::string> HostLibraries::take(const Replaced& replaced,
                                        const std::vector<std::string>& directories) {
  if (const std::string by = found_by_rpath(replaced); !by.empty())
    return make_error(ErrorKind::unsatisfied,
                      by + " finds its " + (replaced.abi.empty() ? replaced.what : "MPI") +
                          " by DT_RPATH, before any other",
                      "link it with -Wl,--enable-new-dtags, for DT_RUNPATH");
  for (const std::string& name : names_of(replaced))
    if (loader::is_of_c_library(name))
      return make_error(ErrorKind::unsatisfied,
                        name + " belongs to the C library, which is always the image's");
  const Result<std::string> found = directory_of(replaced, directories);
  found_nothing_ = !found;
  XAAS_TRY(const std::string directory, found);
  // The library's own directory first: the following ones may have another library of the same name.
  std::vector<std::string> path = {directory};
  path.insert(path.end(), library_path_.begin(), library_path_.end());
  hosts_.push_back(std::make_unique<Loader>("/", arch_, path, true));
  XAAS_TRY(taking_, Attempt(*this, replaced, *hosts_.back()).run(directory));
  return directory;
}

std::vector<Bind> HostLibraries::binds() const {
  std::vector<Bind> binds = taking_.parts;
  for (const auto& [name, library] : taking_.libraries)
    binds.push_back({library->path, std::string(host_libraries) + "/" + name, true});
  return binds;
}

} // namespace xaas::run
