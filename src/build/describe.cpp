#include "describe.h"
#include "revision.h"

namespace xaas::build {

Result<void> describe(const Request& request, image::Bundle& bundle) {
  const spec::Application& application = request.application;
  bundle.name = application.name;
  bundle.version = application.version;
  bundle.license = application.license;
  bundle.arch = request.arch;
  bundle.tool = image::tool_version();
  bundle.image = application.image;
  bundle.host = application.host;
  bundle.source = application.source;
  bundle.revision = application.revision;
  if (bundle.revision.empty()) {
    XAAS_TRY(bundle.revision, read_revision(request.source));
  }
  return {};
}

std::vector<fs::path> own_paths(const Request& request, const fs::path& work) {
  std::vector<fs::path> own = {temporary_root(), work, request.logs.parent_path()};
  if (!request.output.path.empty())
    own.push_back(request.output.path);
  if (request.cache)
    own.push_back(request.cache->root());
  return own;
}

} // namespace xaas::build
