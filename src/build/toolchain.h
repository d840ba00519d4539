// The base layers of a source image: compilers and build tools.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/registry/images.h>
#include <xaas/spec/application.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::build {

struct ToolchainLayers {
  std::vector<oci::NewLayer> layers; // can be opened several times
  std::string path;                  // its PATH, if its image sets one
  // The image that they are from: its digest, and in a registry its name, whatever it was called here.
  std::string base;
  std::map<std::string, std::string>
      annotations; // annotations about the base, for the image that gets the layers
};

// The layers of the toolchain's image, byte for byte; or one that mmdebstrap makes from its packages and
// their dependencies, without documentation, in the directory `work`, which must exist until the layers have
// been written. Files of a made layer are dated at most `time`. Errors: those of opening an image;
// unsatisfied if it is for another architecture; missing_tool without mmdebstrap; failed with mmdebstrap's
// output; usage if the toolchain names neither.
Result<ToolchainLayers> toolchain_layers(const spec::Toolchain& toolchain, const std::string& arch,
                                         const fs::path& work, int64_t time, const registry::Access& access,
                                         Progress& progress);

// Notes problems that deploying would report later: a compiler that the spec names is not in the layers, or
// there is none for C or C++. The image can still be deployed with the host's compilers. Layers are read
// until the compilers are found, which is early in most of them; one that a later layer removes is only
// missed when deploying. Nothing is read if the layers go from one registry to another without passing
// through this machine.
Result<void> check_compilers(const ToolchainLayers& layers, const spec::Toolchain& toolchain,
                             const oci::Reference& output, Progress& progress);

} // namespace xaas::build
