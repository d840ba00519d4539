// From findings to specialization points: what of a build's options matters for performance on a machine.
#pragma once

#include <xaas/base/json.h>
#include <xaas/discover/findings.h>
#include <xaas/spec/application.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::discover {

// What a library, programming model or instruction set is to the application.
struct Choice {
  enum class Group { parallel, gpu, linear_algebra, fft, simd };
  Group group = Group::parallel;
  std::string name; // usual name, or a value's own
  std::string flag; // what a person types; empty: nothing
  bool by_default = false;
  bool built_in = false;
  std::string version; // at least
  std::string condition;
  Place place;
};

struct DiscoveredPoint {
  spec::SpecializationPoint point;
  std::string option; // of the build, that sets it
  std::vector<Place> evidence;
};

struct Discovery {
  std::vector<DiscoveredPoint> points; // in the order of the options
  std::vector<Choice> choices;         // for the document of `--schema paper`
  bool uses_gpus = false;              // also by way of a library whose programming models are not known
  std::string gpu_flag;                // the switch for GPUs as such
  std::string own_library, own_flag;   // a library that the build can make itself
};

// Classifies findings by the knowledge in specs/discovery.json.
Discovery classify(const Findings& findings);

// What the knowledge says that a library, programming model or instruction set of this name needs of a
// system; empty where it says nothing. Absent: it is an instruction set of an architecture that is not ours.
std::optional<spec::Requirement> needs_of(const std::string& name);

// The document of the published evaluation's JSON schema: gpu_build, gpu_backends, ..., internal_build.
Json paper_document(const Findings& findings, const Discovery& discovery);

// An application spec with the discovered points, for its author to edit. Its configurations are the defaults
// of all points and, of one point with instruction sets to choose from, each value that `arch` can have: all
// combinations would be too many, and which values exclude each other is not known.
spec::Application draft(const Findings& findings, const Discovery& discovery, const std::string& arch);

} // namespace xaas::discover
