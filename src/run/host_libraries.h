// Libraries of the host in place of the image's.
//
// An MPI library depends on the machine's network and its launcher's protocol; a machine's BLAS or FFT may be
// tuned for its CPU. A program runs with any library of the same ABI, and LD_LIBRARY_PATH decides which one
// it loads. So the host's library and everything that it needs, except the C library, are bound into a
// directory that comes first on that path. The C library stays the image's, because the loader is part of it
// and the program names its loader. The decision is made from the ELF files: a library that would not load,
// or lacks a symbol that the program calls, is refused here and not in a thousand processes.
//
// Several libraries are taken one after the other into the same directory, each only if it fits with those
// before it.
#pragma once

#include <xaas/runtimes/knowledge.h>

#include <xaas/loader/loading.h>
#include <xaas/run/run.h>

#include <memory>

namespace xaas::run {

// A set of the image's libraries that are replaced together.
struct Replaced {
  std::string what; // "mpi", "fftw3"
  std::string abi;  // of an MPI; otherwise empty
  struct Library {
    std::vector<std::string> names; // the names that the image has for it
    std::vector<std::string>
        of_host; // the names that the host may have for it; the first that exists is used
  };
  std::vector<Library> libraries; // empty: the image has no such library
};

class HostLibraries {
public:
  // `program` may be null: a script, or a program that is not the image's. Then the libraries that the loader
  // finds in the image are replaced, and nothing is known of their users. `library_path`: the host's
  // LD_LIBRARY_PATH.
  static Result<HostLibraries> open(loader::Loader& image, const loader::Library* program, std::string arch,
                                    std::vector<std::string> library_path);

  // The MPI that the program loads, or else the one in the image.
  Result<Replaced> mpi_of_image();
  // The ones of these libraries that the image has.
  Result<Replaced> libraries_of_image(const std::string& what, const std::vector<std::string>& sonames);
  // The libraries that the program loads by this name (belongs_to) or soname.
  Replaced named(const std::string& what) const;

  // Takes the host's libraries from the first of `directories` that has all of them, and returns that
  // directory. unsatisfied, with the reason, if there is none or it does not fit; then nothing has changed.
  Result<std::string> take(const Replaced& replaced, const std::vector<std::string>& directories);

  // Whether the last take() failed because no directory has the libraries.
  bool found_nothing() const { return found_nothing_; }

  // Everything that was taken.
  std::vector<Bind> binds() const;

private:
  using Library = loader::Library;
  using Loader = loader::Loader;
  struct Taking {                                    // the binds so far
    std::map<std::string, const Library*> libraries; // by name in the image
    std::set<std::string> asked; // paths of libraries taken for themselves, not only because others need them
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
  loader::DirectoryRoot finder_;        // finds the host's libraries, by paths alone
  loader::Loading closure_;             // the libraries that the program loads
  std::vector<const Library*> loading_; // the program and its closure
  std::vector<std::unique_ptr<Loader>> hosts_;
  Taking taking_;
  bool found_nothing_ = false;
};

} // namespace xaas::run
