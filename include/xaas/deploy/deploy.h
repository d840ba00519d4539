// Deploying: an IR image or source image and a system description become a specialized image.
//
// With IR this is pure file work: nothing is executed, and nothing of the machine is read except the image
// and the given system description. The result is a function of the image, this program's version, the
// configuration and the target.
//
// A configuration without IR is built here, from the image's sources and with its toolchain, inside the
// toolchain's tree (<xaas/enclose/enclose.h>). The deployed image has the installed files and their closure,
// and nothing that only the build needed.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/deploy/plugins.h>
#include <xaas/device/assembler.h>
#include <xaas/device/make.h>
#include <xaas/enclose/enclose.h>
#include <xaas/image/deployed.h>
#include <xaas/image/kernels.h>
#include <xaas/image/warning.h>
#include <xaas/lower/object_cache.h>
#include <xaas/oci/image.h>
#include <xaas/profile/profile.h>
#include <xaas/provenance/sbom.h>
#include <xaas/provenance/signature.h>
#include <xaas/registry/images.h>
#include <xaas/run/run.h>
#include <xaas/select/select.h>
#include <xaas/system/system.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::deploy {

// Whether the system seems to have something that the application prefers to take from the host. The image
// does not depend on it.
using HostChoice = run::HostChoice;

struct Request {
  oci::Reference image;
  std::optional<oci::Reference> output; // optional with dry_run
  registry::Access access;              // for references in a registry
  system::SystemDescription system;
  std::string target; // its name among several, for people; empty: that of the CPU
  // Only an IR image that is signed by this signer is used.
  std::optional<provenance::Signer> signer;
  std::map<std::string, std::string> set; // values chosen by hand
  bool sbom = false;                      // return an SBOM of the deployed image
  bool attach_sbom = false; // also attach it to the image, which must be in a registry or a layout
  // Where to look for an image that was deployed before: a repository or layout, without a tag. If the output
  // lies there, too, or with `keep`, later deploys can find it.
  std::optional<oci::Reference> reuse;
  bool keep = false; // of deploy_index(), whose outputs lie elsewhere first
  // For builds from source: runtimes in order (enclose::builder_choices; empty: the built-in order), their
  // options, and limits for every step.
  std::vector<std::string> runtimes, runtime_options;
  enclose::BuildLimits limits;
  fs::path trees;                         // where toolchains and sources are unpacked (run::TreeStore)
  fs::path logs;                          // where the log of a failed build is kept
  std::optional<fs::path> compiler_cache; // for toolchains that have ccache
  // For device code: where to look for an assembler; absent: the driver gets PTX. no_gpu: the programs get no
  // device code, whatever `system` has.
  std::optional<device::AssemblerPlaces> assembler;
  bool no_gpu = false;
  bool check_kernels = false; // kernels that run on the CPU check their accesses and barriers
  // Where kernels run on the CPU, replace libraries that need a GPU by stand-ins (device/plan.h).
  bool stand_ins = false;
  // Programs with counters, for a training run, or optimized by the counts of one (xaas/profile); at most one
  // of these.
  bool count = false;
  std::optional<profile::Profile> profile;
  bool attached_profile = false; // that which is attached to the IR image
  bool cold_for_size = false;    // what never ran in the training runs is optimized for size
  PluginRequest plugins;
  bool lto = false;     // optimize each program and library as a whole (ThinLTO)
  bool dry_run = false; // only select
  bool details = false; // also report every CPU feature that `system` lacks
  // With dry_run: also find out which form each kernel on the CPU has. This reads the kernels' modules.
  bool explain_kernels = false;
  unsigned jobs = 1;
  std::optional<int64_t> time;               // of the deployed image; absent: that of the IR image
  std::optional<lower::ObjectCache> objects; // from earlier deploys; absent: everything is lowered
  // LD_LIBRARY_PATH, if `system` is this machine: its libraries are also looked for in its files. Absent:
  // `system` is another machine, of which only the description is known.
  std::optional<std::vector<std::string>> library_path;
  // Called with the selection and Report::host, before the long work.
  std::function<void(const select::Selection&, const std::vector<HostChoice>&)> selected;
};

struct Seconds {
  double fetch = 0, build = 0, lower = 0, link = 0, package = 0, total = 0;
};

struct Lto {
  uint64_t units = 0;                      // that took part
  std::map<std::string, uint64_t> without; // by reason, units that are linked without taking part
};

// How a profile fits. Functions of modules that were lowered, or taken from the cache.
struct ProfileUse {
  Digest digest;
  uint64_t functions = 0; // that a profile can have counts of
  uint64_t matched = 0;   // that this one has counts of
};

// CPU seconds of lowering. However many cores work, lowering takes at least the longest module.
struct CriticalPath {
  double sum = 0, longest = 0;
  std::string source; // of the longest module
  void add(const std::string& module, double seconds) {
    sum += seconds;
    if (seconds > longest) {
      longest = seconds;
      source = module;
    }
  }
};

struct Report {
  std::string image;                              // the output as given
  std::optional<Digest> digest;                   // of the deployed image; absent with dry_run
  std::optional<provenance::Signature> signature; // of the IR image, if a signer was given
  std::optional<Json> sbom;                       // SPDX, if requested
  std::optional<Digest> attached;                 // the manifest of the attached SBOM
  select::Selection selection;
  std::vector<HostChoice> host; // in the order of the preferences
  target::Cpu target;
  bool has_device_code = false;                       // the configuration has code for GPUs
  std::vector<std::string> gpus;                      // architectures of the GPUs that it was made for
  std::vector<image::GpuCode> gpu_code;               // the code that each of them gets
  image::CpuKernels kernels;                          // made for the CPU, or refused; demangled
  bool checked_kernels = false;                       // they have checks
  std::vector<device::DeviceCode::Replaced> replaced; // libraries that need a GPU
  bool from_source = false;             // the configuration has no IR, so it was, or would be, built here
  std::string runtime;                  // in which it was built
  std::string compiler;                 // its version line
  std::vector<std::string> flags;       // the flags that it got for the target
  std::optional<std::string> reused;    // REFERENCE@DIGEST that was copied or, with dry_run, would be
  std::optional<std::string> looked_at; // where an earlier image would be, with Request::reuse
  uint64_t lowered = 0, cached = 0;     // objects that were lowered, and objects from the cache
  uint64_t unneeded = 0;                // members of archives that no link takes
  CriticalPath path;                    // of the host's modules that were lowered
  uint64_t native_objects = 0, links = 0;
  std::optional<Lto> lto;
  bool counts = false;               // the programs have counters
  bool atomic_counts = false;        // which threads share
  std::optional<ProfileUse> profile; // by which they were optimized
  std::vector<image::UsedPlugin> plugins;
  std::vector<image::Warning> warnings; // about the deployed image, sorted
  Seconds seconds;
};

// Errors: those of opening an image, of selection (unsatisfied, with reasons), of lowering and linking, of
// writing.
Result<Report> deploy(const Request& request, Progress& progress = no_progress());

// Several images under one name.
struct IndexReport {
  std::string image;            // the output as given
  std::optional<Digest> digest; // of the index; absent with dry_run
  std::vector<Report> images;   // in the order of the index; with dry_run in that of the requests
  double seconds = 0;
};

// Deploys for several targets: the same request, except for the system. Each image is the one that deploying
// for it alone writes, and has the same digest. The output is an OCI index. Its entries are sorted by
// architecture, ISA level, number of features and name of the CPU, then by GPUs, those without code for any
// first, because clients that know no more than the architecture take the first; each has the annotations
// `dev.xaas.cpu`, `dev.xaas.features`, `dev.xaas.gpu` and `dev.xaas.gpu.code`, and on x86-64, except for the
// first, the level as `variant`. Targets with the same image are one entry. A file tree gets the files of
// all, and programs that choose among them when they start (target_tree.h). Usage errors: `sbom`;
// targets with the same CPU and device code, and different images; for a file tree what target_tree.h lists.
Result<IndexReport> deploy_index(const std::vector<Request>& requests, Progress& progress = no_progress());

} // namespace xaas::deploy
