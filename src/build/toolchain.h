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
  std::vector<oci::NewLayer> layers; // which may be opened again and again
  std::string path;                  // PATH in it, if its image says so
  // Which image they are from, whatever it was called here: its digest, in a registry with its name.
  std::string base;
  std::map<std::string, std::string> annotations; // of the image that gets them, about its base
};

// Those of the toolchain's image, byte for byte, or one that mmdebstrap makes of its packages and those that
// they need, without documentation, in the directory `work`, which must stay until the layers have been
// written. Files of a made layer are dated at most `time`. Errors: those of opening an image, unsatisfied if
// it is for another architecture; missing_tool without mmdebstrap; failed with its words; usage where the
// toolchain names neither.
Result<ToolchainLayers> toolchain_layers(const spec::Toolchain& toolchain, const std::string& arch,
                                         const fs::path& work, int64_t time, const registry::Access& access,
                                         Progress& progress);

// Says now, in a note, what deploying would say later: a compiler that the spec names is not in the layers,
// or there is none for C or C++. It may still be deployed with the host's own. Layers are read until the
// compilers were seen, in most of them early on; what a later one removes is found when deploying. None is
// read where they go from one registry to another: they may never come here.
Result<void> check_compilers(const ToolchainLayers& layers, const spec::Toolchain& toolchain,
                             const oci::Reference& output, Progress& progress);

} // namespace xaas::build
