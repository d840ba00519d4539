// A configuration that the target builds itself, from the sources and with the toolchain of a source image.
#pragma once

#include "assemble.h"
#include "source_closure.h"
#include "toolchain.h"

#include <xaas/base/progress.h>
#include <xaas/deploy/deploy.h>
#include <xaas/image/application_image.h>

#include <string>
#include <vector>

namespace xaas::deploy {

struct SourceBuilt {
  image::BundleConfiguration configuration; // the installed files and the closure, as files of this image
  Assembly assembly;
  SourceClosure closure;
  std::optional<image::Base> base; // with its directories and libraries that this configuration uses
  Compilers compilers;
  std::string runtime; // in which the build ran
  project::StepTimes times;
};

// Unpacks toolchain and sources unless they are there already, builds in `work`, and takes the installed
// files. Errors: those of enclose::choose_builder and project::build, whose log is kept and named; failed if
// a file was installed that an image cannot have; integrity for a damaged image.
Result<SourceBuilt> build_from_source(const Request& request, const image::ApplicationImage& source,
                                      const spec::Configuration& configuration, const target::Cpu& cpu,
                                      int64_t time, const fs::path& work, Progress& progress);

} // namespace xaas::deploy
