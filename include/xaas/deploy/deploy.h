// Deploying: an IR image or source image and a system description become a specialised image.
//
// With IR it is pure file work: nothing is executed, nothing of the machine is read besides the image and the
// system description that is handed in. The result is a function of the image, this program's version, the
// configuration and the target.
//
// A configuration without IR is built here, from the sources and with the toolchain of the image, inside its
// tree (sandbox/building.h). What is deployed has the closure of the toolchain and what was installed, and
// nothing that only the build needed.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/device/assembler.h>
#include <xaas/enclose/enclose.h>
#include <xaas/image/deployed.h>
#include <xaas/lower/object_cache.h>
#include <xaas/oci/image.h>
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

namespace xaas::deploy {

// Of what the application would rather have from the host: whether the system seems to have it. The image
// does not depend on it.
using HostChoice = run::HostChoice;

struct Request {
  oci::Reference image;
  std::optional<oci::Reference> output; // may be left out with dry_run
  registry::Access access;              // where one of them is in a registry
  system::SystemDescription system;
  // Nothing of an IR image that is not signed by this key is used.
  std::optional<provenance::PublicKey> verify_key;
  std::map<std::string, std::string> set; // values by hand
  bool sbom = false;                      // give an SBOM of the deployed image
  bool attach_sbom = false;               // and attach it to the image, which is in a registry or a layout
  // Where an image that was deployed before is looked for: a repository or layout, without a tag. If the
  // output lies there, too, what is deployed can be found there afterwards.
  std::optional<oci::Reference> reuse;
  // Of building from source: runtimes in order (enclose::builder_choices; empty: the built-in order), options
  // that they get, and limits of every step.
  std::vector<std::string> runtimes, runtime_options;
  enclose::BuildLimits limits;
  fs::path trees;                         // where toolchains and sources are unpacked (run::TreeStore)
  fs::path logs;                          // where the log of a failed build is kept
  std::optional<fs::path> compiler_cache; // of toolchains that have ccache
  // Of device code: where an assembler for the GPU is looked for; absent: the driver gets PTX. No GPU: the
  // programs get no device code, whatever `system` has.
  std::optional<device::AssemblerPlaces> assembler;
  bool no_gpu = false;
  bool lto = false;     // optimise each program and library as a whole (ThinLTO)
  bool dry_run = false; // select only
  unsigned jobs = 1;
  std::optional<int64_t> time;               // of the deployed image; absent: as the IR image
  std::optional<lower::ObjectCache> objects; // of earlier deploys; absent: everything is lowered
  // LD_LIBRARY_PATH, where `system` is this machine: its libraries are also looked for in its files. Absent:
  // it is another one, of which only the description is known.
  std::optional<std::vector<std::string>> library_path;
  // Called with the selection and Report::host, before the long work.
  std::function<void(const select::Selection&, const std::vector<HostChoice>&)> selected;
};

struct Seconds {
  double fetch = 0, build = 0, lower = 0, link = 0, package = 0, total = 0;
};

struct Lto {
  uint64_t units = 0;                      // that took part
  std::map<std::string, uint64_t> without; // units that are linked but did not, by reason
};

struct Report {
  std::string image;                              // the output as it was given
  std::optional<Digest> digest;                   // of the deployed image; absent with dry_run
  std::optional<provenance::Signature> signature; // of the IR image, where a key was given
  std::optional<Json> sbom;                       // SPDX, where it was asked for
  std::optional<Digest> attached;                 // the manifest of the SBOM that was attached
  select::Selection selection;
  std::vector<HostChoice> host; // in the order of the preferences
  target::Cpu target;
  bool has_device_code = false;         // the configuration has code for GPUs
  std::vector<std::string> gpus;        // architectures of the GPUs that it was made for
  std::vector<image::GpuCode> gpu_code; // what each of them gets
  bool from_source = false;             // the configuration has no IR: it was, or would be, built here
  std::string runtime;                  // that it was built in
  std::string compiler;                 // what that says of itself
  std::vector<std::string> flags;       // that it got for the target
  std::optional<std::string> reused;    // REFERENCE@DIGEST that was copied or, with dry_run, would be
  std::optional<std::string> looked_at; // where it would be, if Request::reuse
  uint64_t lowered = 0, cached = 0;     // objects that were lowered, that were known
  uint64_t native_objects = 0, links = 0;
  std::optional<Lto> lto;
  Seconds seconds;
};

// Errors: those of opening an image, of selection (unsatisfied, with reasons), of lowering and linking, of
// writing.
Result<Report> deploy(const Request& request, Progress& progress = no_progress());

} // namespace xaas::deploy
