// One file tree for several targets.
//
// Problem. A program of a tree has one name and one place, and needs different code on different machines; a
// tree has no manifest from which a client could choose. Example, for the targets x86-64 and haswell:
//
//   usr/local/bin/solver                                    the launcher
//   usr/local/lib/libsolver.so                              that of x86-64, the weakest
//   usr/local/share/solver/data
//   .xaas/targets/x86-64/usr/local/bin/solver
//   .xaas/targets/x86-64/usr/local/lib/libsolver.so
//   .xaas/targets/x86-64/usr/local/share/solver/data
//   .xaas/targets/haswell/usr/local/...                     the same files
//
// Approach. Each target has its whole install tree below /.xaas/targets, where programs find their libraries
// and data relative to themselves ($ORIGIN, /proc/self/exe). At each path of the application lies the
// launcher for a program, and the file of the weakest target for everything else. Equal files are one file
// with several names. All targets share the run-time closure, which has no code for a target.
//
// Foreign programs know nothing of launchers: Python of the closure loads a module of the application, which
// needs the application's libraries. glibc chooses for them, if a target is exactly an ISA level: it asks for
// no more than the level, and a library for `haswell` may use instructions that its level lacks. Libraries
// that are found by their sonames lie in `glibc-hwcaps/LEVEL` beside those of the weakest target. A module is
// opened by its path, where nothing is searched, so a library without code that needs it stands there
// (dlsym() finds its symbols). glibc knows no levels of AArch64: there, modules are those of the weakest
// target.
//
//   usr/local/lib/m/_solver.so                                         needs _solver.so.target
//   .xaas/modules/usr/local/lib/m/_solver.so.target                    needs that of x86-64
//   .xaas/modules/usr/local/lib/m/glibc-hwcaps/x86-64-v3/_solver.so.target   needs that of x86-64-v3
//
// Rejected: one directory for each target with links to the others' equal files (a program would find itself
// in another target's directory), and a RUNPATH with a directory for each target (it is written when
// linking, and the single images keep their digests).
#pragma once

#include <xaas/base/result.h>
#include <xaas/image/warning.h>
#include <xaas/oci/image.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

// A deployed image for one target.
struct TreeTarget {
  std::vector<std::string> names; // at least one; the first is that of its directory
  std::unique_ptr<oci::Image> image;
};

// The image of the tree: for `targets`, weakest first, at least two, with names and an architecture that
// <xaas/launcher/launcher.h> accepts. They were deployed from one image, so files of their closures with the
// same path are equal. Configuration and annotations are those of the weakest target, and annotation::targets
// has the names of the directories. The targets' images must live until the layers are written. Usage errors:
// a name that stands for two targets; two targets for different GPUs of one vendor. Failed errors and
// warnings (kind "tree"): directories_to_search(); a path that is a directory for one target alone; files
// that differ and are no code.
Result<oci::NewImage> target_tree(const std::vector<TreeTarget>& targets, std::set<image::Warning>& warnings);

} // namespace xaas::deploy
