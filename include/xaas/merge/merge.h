// Merging: IR images of one application, built separately for different configurations, become one.
//
// The result depends only on the set of the inputs' configurations, not on the order of the inputs. It is,
// byte for byte, the image that a single build of all configurations would write. image::unite describes what
// must be equal and what may differ. Images for several architectures become one for each, and an index over
// these.
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
  registry::Access access; // for references in a registry
  std::optional<int64_t>
      time; // of the merged image, seconds since 1970; absent: the latest time of the inputs
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
  Digest digest; // of the output: the image, or the index over several
  std::string name;
  std::vector<Input> inputs;  // in the given order; an index counts as its images
  std::vector<Merged> images; // sorted by architecture
  double seconds = 0;
};

// Contents are kept in files, not in memory. Errors: those of opening the images, with their names; of
// image::unite; integrity for content that no image has; those of writing.
Result<Report> merge_ir_images(const Request& request, Progress& progress = no_progress());

} // namespace xaas::merge
