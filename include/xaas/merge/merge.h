// Merging: IR images of one application, built apart for different configurations, become one.
//
// The result is a function of the set of the inputs' configurations: the image that one build of all of them
// writes, byte for byte, in whatever order the inputs are given. What must be equal and what may differ:
// image::unite. Images for several architectures become one for each, and an index over these.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/image/coverage.h>
#include <xaas/oci/image.h>
#include <xaas/registry/images.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::merge {

struct Request {
  std::vector<oci::Reference> images;
  oci::Reference output;
  registry::Access access;     // where one of them is in a registry
  std::optional<int64_t> time; // of the merged image, seconds since 1970; absent: the latest of the images'
};

struct Input {
  std::string image;
  Digest digest; // of the manifest
  std::string arch;
  std::vector<std::string> configurations; // ids
};

// The image for one architecture.
struct Merged {
  Digest digest;
  std::string arch;
  std::vector<image::ConfigurationCoverage> configurations;
  uint64_t units = 0, modules = 0; // as build::Report
  uint64_t unit_bytes = 0, module_bytes = 0;
};

struct Report {
  Digest digest; // of what was written: the image, or the index over several
  std::string name;
  std::vector<Input> inputs;  // in the order in which they were given, of an index its images
  std::vector<Merged> images; // sorted by architecture
  double seconds = 0;
};

// Contents are kept in files, not in memory. Errors: those of opening the images, with their names; of
// image::unite; content that no image has: integrity; those of writing.
Result<Report> merge_ir_images(const Request& request, Progress& progress = no_progress());

} // namespace xaas::merge
