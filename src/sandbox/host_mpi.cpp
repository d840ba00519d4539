#include "host_mpi.h"

#include "knowledge.h"

#include <xaas/base/text.h>
#include <xaas/system/loader.h>

#include <algorithm>
#include <set>

namespace xaas::sandbox {

namespace {

using Library = Loader::Library;

const MpiFamily* family_of(const std::string& abi) {
  for (const MpiFamily& family : Knowledge::get().mpi)
    if (family.abi == abi)
      return &family;
  return nullptr;
}

std::set<std::string> libc_names() {
  const std::vector<std::string>& names = Knowledge::get().libc;
  return {names.begin(), names.end()};
}

bool has_version(const Library& library, const std::string& version) {
  const std::vector<std::string>& versions = library.dynamic.versions;
  return versions.empty() || std::find(versions.begin(), versions.end(), version) != versions.end();
}

// The first version of `name` that `by` needs and `library` lacks; empty: none.
std::string lacking(const Library& by, const std::string& name, const Library& library) {
  const auto needed = by.dynamic.needed_versions.find(name);
  if (needed != by.dynamic.needed_versions.end())
    for (const std::string& version : needed->second)
      if (!has_version(library, version))
        return version;
  return {};
}

Error refusal(const std::string& reason) {
  return make_error(ErrorKind::unsatisfied, reason, "`--mpi image` uses the MPI that the image brings");
}

// Collects what is bound, and refuses what would not load.
class Gathering {
public:
  Gathering(Loader& image, Loader& host) : image_(image), host_(host) {}

  // The host's `library`, by each of these names.
  void add(const Library& library, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      taken_[name] = &library;
    start_.push_back(&library);
  }

  Result<std::vector<Bind>> finish() {
    XAAS_TRY(Loader::Closure closure, host_.closure(start_, libc_names()));
    add_parts(closure);
    if (!closure.missing.empty())
      return refusal("the host's " + closure.missing.front() + ", which is not there");
    for (const auto& [name, library] : closure.libraries)
      taken_.try_emplace(name, library);
    XAAS_CHECK(leave_out_known());
    for (const auto& [name, library] : taken_)
      XAAS_CHECK(check_libc(*library));
    for (const auto& [name, library] : taken_)
      binds_.push_back({library->path, std::string(host_libraries) + "/" + name, true});
    return std::move(binds_);
  }

private:
  // What is loaded by name: where its library looks for it, beside the place where it is bound as well as in
  // its own.
  void add_parts(const Loader::Closure& closure) {
    for (const Parts& parts : Knowledge::get().parts) {
      const auto needed = closure.libraries.find(parts.library);
      const Library* library = needed == closure.libraries.end() ? nullptr : needed->second;
      if (const auto own = taken_.find(parts.library); !library && own != taken_.end())
        library = own->second;
      if (!library)
        continue;
      std::error_code code;
      for (const std::string& name : parts.directories) {
        const fs::path directory = fs::path(library->path).parent_path() / name;
        if (!fs::is_directory(directory, code))
          continue;
        binds_.push_back({directory, directory, true});
        binds_.push_back({directory, std::string(host_libraries) + "/" + name, true});
      }
      for (const std::string& file : parts.files)
        if (fs::exists(file, code))
          binds_.push_back({file, file, true});
    }
  }

  // A library that both have: the program may need versions of symbols that the host's lacks, and the host's
  // libraries such that the image's lacks. One of them must serve both.
  Result<void> leave_out_known() {
    for (auto at = taken_.begin(); at != taken_.end();) {
      const Library& host = *at->second;
      XAAS_TRY(const Library* const own, image_.find(at->first, nullptr));
      if (!own || std::find(start_.begin(), start_.end(), &host) != start_.end() ||
          host.dynamic.versions.empty() || covers(host, *own)) {
        ++at;
        continue;
      }
      if (!covers(*own, host))
        return refusal(at->first + ": neither the host's (" + host.path + ") nor the image's (" + own->path +
                       ") has all versions of symbols that the other has");
      at = taken_.erase(at);
    }
    return {};
  }

  static bool covers(const Library& library, const Library& other) {
    return std::all_of(other.dynamic.versions.begin(), other.dynamic.versions.end(),
                       [&](const std::string& version) { return has_version(library, version); });
  }

  Result<void> check_libc(const Library& library) {
    for (const std::string& name : Knowledge::get().libc) {
      if (!library.dynamic.needed_versions.count(name))
        continue;
      XAAS_TRY(const Library* const own, image_.find(name, nullptr));
      if (!own)
        return refusal("the host's " + library.path + " needs " + name + ", which the image does not have");
      if (const std::string version = lacking(library, name, *own); !version.empty())
        return refusal("the host's " + library.path + " needs " + version + " of " + name +
                       ", which the image's does not have: the host's C library is newer");
    }
    return {};
  }

  Loader& image_;
  Loader& host_;
  std::vector<const Library*> start_;
  std::map<std::string, const Library*> taken_; // by the name in the image
  std::vector<Bind> binds_;
};

// The file that finds one of these libraries by DT_RPATH; empty: none does.
std::string found_by_rpath(const std::vector<const Library*>& loading,
                           const std::vector<std::string>& names) {
  for (const Library* by : loading)
    for (const std::string& name : by->dynamic.needed)
      if (by->dynamic.rpath_is_first && !by->dynamic.runpath.empty() &&
          std::find(names.begin(), names.end(), name) != names.end())
        return by->path;
  return {};
}

} // namespace

Result<ImageMpi> image_mpi(Loader& image, const Library* program) {
  Loader::Closure closure;
  std::vector<const Library*> loading;
  if (program) {
    XAAS_TRY(closure, image.closure({program}, {}));
    loading.push_back(program);
    for (const auto& [name, library] : closure.libraries)
      loading.push_back(library);
  }
  ImageMpi best;
  for (const MpiFamily& family : Knowledge::get().mpi) {
    ImageMpi found{family.abi, {}, {}};
    for (size_t i = 0; i < family.libraries.size(); ++i)
      for (const std::string& name : family.libraries[i]) {
        XAAS_TRY(const Library* const library, image.find(name, nullptr));
        if (library || closure.libraries.count(name))
          found.names[i].push_back(name);
      }
    if (!found.names.count(0))
      continue;
    found.rpath = found_by_rpath(loading, found.names[0]);
    if (std::any_of(found.names[0].begin(), found.names[0].end(),
                    [&](const std::string& name) { return closure.libraries.count(name) > 0; }))
      return found;
    // A program that loads none itself may start one that does: a script, an interpreter.
    if (best.abi.empty())
      best = std::move(found);
  }
  return best;
}

Result<HostMpi> host_mpi(const ImageMpi& needed, Loader& image, const std::vector<system::Mpi>& available,
                         const std::string& arch, const std::vector<std::string>& library_path) {
  const MpiFamily* const family = family_of(needed.abi);
  if (!family)
    return refusal("the image has no MPI library of an ABI that is known");
  if (!needed.rpath.empty())
    return refusal(needed.rpath + " finds its MPI by DT_RPATH, before any other");
  std::string others;
  const system::Mpi* chosen = nullptr;
  for (const system::Mpi& mpi : available) {
    if (mpi.abi == needed.abi && !chosen)
      chosen = &mpi;
    others += (others.empty() ? "" : ", ") + mpi.implementation + " (" + mpi.abi + ") in " + mpi.libdir;
  }
  if (!chosen)
    return refusal("the image's MPI has the ABI " + needed.abi + ", this machine has " +
                   (others.empty() ? "no MPI that was found" : others));
  // Its own directory first: there may be another one of the same names in those that follow.
  std::vector<std::string> path = {chosen->libdir};
  path.insert(path.end(), library_path.begin(), library_path.end());
  Loader host("/", arch, path, system::loader_directories(arch), true);
  Gathering gathering(image, host);
  for (const auto& [index, names] : needed.names) {
    const Library* library = nullptr;
    for (const std::string& name : family->libraries[index])
      if (!library) {
        XAAS_TRY(library, host.read(chosen->libdir + "/" + name));
      }
    if (!library)
      return refusal("the image has " + names.front() + ", the host's " + chosen->libdir + " has none");
    gathering.add(*library, names);
  }
  XAAS_TRY(std::vector<Bind> binds, gathering.finish());
  return HostMpi{trim(chosen->implementation + " " + chosen->version) + " in " + chosen->libdir,
                 std::move(binds)};
}

} // namespace xaas::sandbox
