#include "source_part.h"
#include "downloads.h"
#include "git.h"
#include "secrets.h"
#include "source_files.h"
#include "toolchain.h"

#include <xaas/base/text.h>
#include <xaas/oci/layer.h>

#include <algorithm>

namespace xaas::build {

namespace {

constexpr const char* place = ".xaas/source/";
constexpr size_t shown = 10;

class SourceLayer {
public:
  SourceLayer(const Request& request, Progress& progress)
      : request_(request), progress_(progress), builder_(request.time) {}

  Result<oci::NewLayer> make(const SourceFiles& sources, SourceReport& report) {
    progress_.start("reading the sources", sources.files.size());
    for (const fs::path& path : sources.files) {
      XAAS_CHECK(add(path));
      progress_.advance();
    }
    progress_.finish();
    XAAS_CHECK(check_secrets());
    XAAS_TRY(auto downloads, download(request_.application.fetch, request_.access.offline, progress_));
    for (auto& [to, content] : downloads) {
      bytes_ += content.size();
      XAAS_CHECK(builder_.add_file(place + to, std::move(content)).in("fetch"));
    }
    report.files = sources.files.size() + downloads.size();
    report.bytes = bytes_;
    report.ignored = sources.ignored.size();
    return builder_.finish(oci::Compression::zstd, "xaas build: source");
  }

private:
  Result<void> add(const fs::path& path) {
    const fs::path file = request_.source / path;
    std::error_code code;
    if (fs::is_symlink(file, code))
      return builder_.add_symlink(place + path.string(), fs::read_symlink(file, code).string());
    const bool runs = (fs::status(file, code).permissions() & fs::perms::owner_exec) != fs::perms::none;
    XAAS_TRY(std::string content, read_file(file));
    if (!is_meant(path))
      for (Secret& secret : find_secrets(path.string(), content))
        secrets_.push_back(std::move(secret));
    bytes_ += content.size();
    return builder_.add_file(place + path.string(), std::move(content), runs ? 0755 : 0644);
  }

  // Named by the spec: whoever did that knows the file.
  bool is_meant(const fs::path& path) const {
    const std::vector<std::string>& include = request_.application.include;
    return std::find(include.begin(), include.end(), path.string()) != include.end();
  }

  Result<void> check_secrets() const {
    if (secrets_.empty())
      return {};
    std::vector<std::string> lines;
    for (const Secret& secret : secrets_)
      if (lines.size() < shown)
        lines.push_back(secret.file + (secret.line ? ":" + std::to_string(secret.line) : "") + ": " +
                        secret.what);
    if (secrets_.size() > shown)
      lines.push_back("and " + std::to_string(secrets_.size() - shown) + " more");
    return make_error(ErrorKind::failed,
                      request_.source.string() + ": the sources have what looks like secrets",
                      "take them out, name them in a .gitignore, or, if everybody may know them, name the "
                      "files in `include` of the application spec")
        .with_output(join(lines, "\n"));
  }

  const Request& request_;
  Progress& progress_;
  oci::LayerBuilder builder_;
  std::vector<Secret> secrets_;
  uint64_t bytes_ = 0;
};

} // namespace

Result<SourcePart> make_source_part(const Request& request, const std::vector<fs::path>& own_paths,
                                    const fs::path& work, Progress& progress) {
  SourcePart part;
  XAAS_TRY(const SourceFiles sources, list_sources(request.source, request.application.include, own_paths));
  if (sources.files.empty())
    return make_error(ErrorKind::not_found, request.source.string() + ": there are no sources",
                      sources.ignored.empty() ? "" : "a .gitignore names all of them");
  if (!sources.ignored.empty())
    progress.note(std::to_string(sources.ignored.size()) + " files that a .gitignore names are left out, " +
                  sources.ignored.front().string() + " among them" +
                  (lies_in_repository(request.source)
                       ? ""
                       : "; this is no git checkout, and an archive may need them: `include` of the "
                         "application spec brings files back"));
  XAAS_TRY(part.layers.source, SourceLayer(request, progress).make(sources, part.report));
  XAAS_TRY(ToolchainLayers toolchain, toolchain_layers(request.application.toolchain, request.arch, work,
                                                       request.time, request.access, progress));
  part.layers.base = std::move(toolchain.layers);
  part.layers.annotations = std::move(toolchain.annotations);
  part.toolchain = request.application.toolchain;
  part.toolchain.base = toolchain.base;
  if (part.toolchain.path.empty())
    part.toolchain.path = toolchain.path;
  return part;
}

} // namespace xaas::build
