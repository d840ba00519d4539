// From findings to specialization points: the options of a build that matter for performance on a machine.
#pragma once

#include <xaas/base/json.h>
#include <xaas/discover/findings.h>
#include <xaas/spec/application.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::discover {

// The role of a library, programming model or instruction set in the application.
struct Choice {
  enum class Group { parallel, gpu, linear_algebra, fft, simd };
  Group group = Group::parallel;
  std::string name; // the usual name, or that of a value
  std::string flag; // what a person types; empty: there is no flag
  bool by_default = false;
  bool built_in = false;
  std::string version; // the oldest that is accepted
  std::string condition;
  Place place;
};

struct DiscoveredPoint {
  spec::SpecializationPoint point;
  std::string option; // the build's option that sets it
  std::vector<Place> evidence;
  // If the point stands for one extension of an instruction set, on or off: its features (LLVM's names,
  // without those that they imply) and its architecture ("x86_64", "aarch64", "riscv64", "powerpc64le", ...:
  // as in LLVM's triples). Empty: the point is something else.
  std::vector<std::string> simd_features = {};
  std::string simd_arch = {};
};

struct Discovery {
  std::vector<DiscoveredPoint> points; // in the order of the options
  std::vector<Choice> choices;         // for the document of `--schema paper`
  bool uses_gpus = false;              // also through a library whose programming models are unknown
  std::string gpu_flag;                // the general switch for GPUs
  std::string own_library, own_flag;   // a library that the build can make itself
};

// Classifies findings with the knowledge in specs/discovery.json.
Discovery classify(const Findings& findings);

// What a library, programming model or instruction set of this name needs from a system, according to the
// knowledge; empty if it says nothing. Absent: an instruction set of another architecture.
std::optional<spec::Requirement> needs_of(const std::string& name);

// True for a path in a directory of tests, examples or documentation, which may use and build what the
// application does not.
bool is_for_developers(const std::string& path);

// True for the name or path of a makefile that make reads as it is, which one of Autotools is not.
bool is_makefile(const std::string& path);

// Whether a path is below a directory for the sources of other projects.
bool is_bundled(const std::string& path);

// The error of a tree whose findings have no build system.
Error no_build_system(const fs::path& tree, const Findings& findings,
                      const std::string& problem = "no known build system");

// The document in the JSON schema of the published evaluation: gpu_build, gpu_backends, ..., internal_build.
Json paper_document(const Findings& findings, const Discovery& discovery);

} // namespace xaas::discover
