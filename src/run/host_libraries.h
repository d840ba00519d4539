// Libraries of the host in the place of the image's.
//
// An MPI library is bound to the machine: its network, its launcher's protocol; a BLAS or FFT of the machine
// may be made for its CPU. Within one ABI a program runs with any; which one it loads is decided by
// LD_LIBRARY_PATH. So the host's library and all that it needs, but for the C library, are bound into a
// directory that comes first there. The C library stays the image's: the loader is part of it, and was chosen
// by the program. What decides is read from the ELF files: a library that would not load, or lacks what the
// program calls, is refused here, and not in a thousand processes.
//
// Several are taken one after the other into that one directory, each only if it goes with those before it.
#pragma once

#include <xaas/runtimes/knowledge.h>

#include <xaas/loader/loading.h>
#include <xaas/run/run.h>

#include <memory>

namespace xaas::run {

// Where libraries of the host are bound.
inline constexpr const char* host_libraries = "/.xaas/host";

// What of the image is replaced together.
struct Replaced {
  std::string what; // "mpi", "fftw3"
  std::string abi;  // of an MPI; else empty
  struct Library {
    std::vector<std::string> names;   // that the image has for it
    std::vector<std::string> of_host; // that the host may have for it: the first that is there
  };
  std::vector<Library> libraries; // none: the image has no such thing
};

class HostLibraries {
public:
  // `program` may be null: a script, or nothing of the image's. Then it is what the loader finds in the image
  // that is replaced, and nothing is known of who uses it. `library_path`: the host's LD_LIBRARY_PATH.
  static Result<HostLibraries> open(loader::Loader& image, const loader::Library* program, std::string arch,
                                    std::vector<std::string> library_path);

  // The MPI that the program loads, else the one in the image.
  Result<Replaced> mpi_of_image();
  // Those of these libraries that are in the image.
  Result<Replaced> libraries_of_image(const std::string& what, const std::vector<std::string>& sonames);
  // What the program loads of that name (belongs_to), or of that soname.
  Replaced named(const std::string& what) const;

  // The host's, from the first of `directories` that has all of it; the answer is that directory.
  // unsatisfied, with the reason, if there is none or it does not fit; then nothing has changed.
  Result<std::string> take(const Replaced& replaced, const std::vector<std::string>& directories);

  // All that was taken.
  std::vector<Bind> binds() const;

private:
  using Library = loader::Library;
  using Loader = loader::Loader;
  struct Taking {                                    // what is bound
    std::map<std::string, const Library*> libraries; // by the name in the image
    std::set<std::string> asked;                     // paths of those that are not only needed by others
    std::vector<Bind> parts;
  };
  class Attempt;

  HostLibraries(Loader& image, std::string arch, std::vector<std::string> library_path)
      : image_(&image), arch_(std::move(arch)), library_path_(std::move(library_path)),
        finder_("/", arch_, true) {}

  Result<std::string> directory_of(const Replaced& replaced, const std::vector<std::string>& directories);
  std::string found_by_rpath(const Replaced& replaced) const;

  Loader* image_;
  std::string arch_;
  std::vector<std::string> library_path_;
  loader::DirectoryRoot finder_;        // of the host, by paths alone
  loader::Loading closure_;             // of the program
  std::vector<const Library*> loading_; // the program, and its closure
  std::vector<std::unique_ptr<Loader>> hosts_;
  Taking taking_;
};

} // namespace xaas::run
