// Installing a deployed image as people use software: below a prefix, with programs on PATH and module files.
//
//   PREFIX/bin/NAME                    a script for each program of the application
//   PREFIX/rootfs/                     the image's tree
//   PREFIX/modulefiles/NAME/VERSION    module files for Tcl, and with .lua for Lmod
//   PREFIX/install.json                the manifest (docs/image-format.md)
//
// The programs run on the host, without a container, if nothing of the tree depends on its place: then
// programs and libraries get the paths below the prefix (src/install/relocate.h). Otherwise the scripts start
// a container runtime of the site. Neither needs xaas.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/reference.h>
#include <xaas/registry/images.h>
#include <xaas/run/run.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::install {

// When programs run in a container. automatic: if they would not run without.
enum class Container { automatic, always, never };

struct Request {
  oci::Reference image; // a deployed image, or an index of them for several targets; no tree
  fs::path prefix;
  // The parts of the module's name; empty: the image's title and version, else the names of the prefix's
  // directories.
  std::string name, version;
  std::optional<fs::path> modules; // also write the module files below this directory
  Container container = Container::automatic;
  bool replace = false;                     // replace an installation at the prefix
  std::vector<std::string> runtimes;        // as run::Request
  std::vector<std::string> runtime_options; // as run::Request
  std::vector<run::Bind> binds;             // for containers
  run::Mpi mpi = run::Mpi::automatic;       // as for a program that a launcher starts
  std::optional<std::vector<std::string>> host;
  registry::Access access;
};

// Why a program needs a container.
struct Obstacle {
  std::string file; // in the image
  std::string reason;
};

struct Report {
  std::string image;
  Digest digest; // of the image, or of the index
  fs::path prefix;
  std::string name, version;
  std::vector<std::string> programs; // in PREFIX/bin
  std::vector<std::string> targets;  // of a tree for several
  std::string runtime;               // of containers; empty: without
  std::vector<Obstacle> obstacles;   // with a container, or overruled by Container::never
  fs::path module_directory;         // for `module use`
  std::vector<fs::path> modules;     // module files
  std::vector<std::string> texts;    // of the image, in which paths were changed
  std::vector<run::HostChoice> host;
  std::string mpi_abi; // of the image's MPI, if there is one
  bool host_mpi = false;
  std::vector<std::string> notes; // for users
};

// The installation appears whole. With `replace`, the old one disappears at the same moment, or, on a file
// system that cannot exchange directories, a moment before.
//
// Errors: usage for a prefix that exists and, with `replace`, is no installation or has files that were added
// or changed; for a prefix with characters that a search path cannot have; for a foreign or IR image, and one
// without programs; for a module file that another installation wrote. missing_tool if programs need a
// container, and no runtime works. unsatisfied if they need one, and Container::never forbids it, and for an
// image for another architecture. Otherwise
// those of run::prepare() and registry::copy().
Result<Report> install(const Request& request, Progress& progress = no_progress());

struct Removed {
  fs::path prefix;
  uint64_t files = 0;
  std::vector<fs::path> kept; // files that were added or changed; nothing else is left
};
// Removes the installation at a prefix: the files that its manifest lists, if they are unchanged. It follows
// no links, and goes on after errors, of which it returns the first; then it can be repeated.
// Errors: usage if there is no manifest.
Result<Removed> uninstall(const fs::path& prefix);

} // namespace xaas::install
