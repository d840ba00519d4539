#include "space.h"

#include <set>

namespace xaas::build {

namespace {

struct SourceBytes {
  uint64_t all = 0, code = 0;
};

bool is_code(const fs::path& file) {
  static const std::set<std::string> endings = {".c",   ".cc",  ".cpp", ".cxx", ".C",   ".f",  ".F",
                                                ".f90", ".F90", ".f77", ".f95", ".f03", ".f08"};
  return endings.contains(file.extension().string());
}

SourceBytes bytes_below(const fs::path& directory) {
  constexpr size_t most = 200'000; // files; counting more would take longer than it is worth
  SourceBytes bytes;
  size_t seen = 0;
  std::error_code code;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, options, code), end;
       !code && it != end && ++seen < most; it.increment(code)) {
    std::error_code trouble;
    if (it->is_symlink(trouble) || !it->is_regular_file(trouble))
      continue;
    const uint64_t size = it->file_size(trouble);
    if (trouble)
      continue;
    bytes.all += size;
    if (is_code(it->path()))
      bytes.code += size;
  }
  return bytes;
}

} // namespace

std::vector<SpaceNeed> space_needs(const Request& request) {
  const SourceBytes bytes = bytes_below(request.source);
  const spec::BuildSystem system = request.application.build.system;
  const bool copied = request.application.build.copy || system == spec::BuildSystem::make ||
                      system == spec::BuildSystem::commands;
  // Objects, IR modules and programs. The image also has the libraries that programs need, at least the C
  // library.
  std::vector<SpaceNeed> needs = {
      {"temporary files", temporary_root(), 2 * bytes.code + (copied ? bytes.all : 0)}};
  constexpr uint64_t c_library = uint64_t(1) << 20; // compressed
  if (request.write_image && request.output.transport != oci::Transport::registry)
    needs.push_back({"the image", request.output.path, c_library + bytes.code / 4});
  if (request.cache)
    needs.push_back({"kept compiles", request.cache->root(), bytes.code / 2});
  return needs;
}

} // namespace xaas::build
