#include "source_part.h"
#include "downloads.h"
#include "git.h"
#include "secrets.h"
#include "source_files.h"
#include "toolchain.h"

#include <xaas/base/text.h>
#include <xaas/http/http.h>
#include <xaas/oci/archive.h>
#include <xaas/oci/layer.h>

#include <algorithm>
#include <functional>

namespace xaas::build {

namespace {

constexpr const char* source_directory = ".xaas/source/";
constexpr size_t shown = 10;
constexpr uint64_t largest_archive = uint64_t(4) << 30; // unpacked; an archive is held in memory

class SourceLayer {
public:
  SourceLayer(const Request& request, const fs::path& work, Progress& progress)
      : request_(request), work_(work), progress_(progress), builder_(request.time) {}

  Result<oci::NewLayer> make(const SourceFiles& sources, SourceReport& report) {
    progress_.start("reading the sources", sources.files.size());
    for (const fs::path& path : sources.files) {
      XAAS_CHECK(add_source(path));
      progress_.advance();
    }
    progress_.finish();
    XAAS_CHECK(check_secrets());
    XAAS_CHECK(add_fetched());
    report.files = files_;
    report.bytes = bytes_;
    report.ignored = sources.ignored.size();
    return builder_.finish(oci::Compression::zstd, "xaas build: source");
  }

private:
  Result<void> add_source(const fs::path& path) {
    const auto look = [&](const std::string& content) {
      if (!is_meant(path))
        for (Secret& secret : find_secrets(path.string(), content))
          secrets_.push_back(std::move(secret));
    };
    return add(request_.source / path, path, look);
  }

  // A file or a link, as `path` among the sources.
  Result<void> add(const fs::path& file, const fs::path& path,
                   const std::function<void(const std::string&)>& look) {
    std::error_code code;
    ++files_;
    if (fs::is_symlink(file, code))
      return builder_.add_symlink(source_directory + path.string(), fs::read_symlink(file, code).string());
    const bool runs = (fs::status(file, code).permissions() & fs::perms::owner_exec) != fs::perms::none;
    XAAS_TRY(std::string content, read_file(file));
    look(content);
    bytes_ += content.size();
    return builder_.add_file(source_directory + path.string(), std::move(content), runs ? 0755 : 0644);
  }

  Result<void> add_fetched() {
    const std::vector<spec::Download>& fetch = request_.application.fetch;
    XAAS_TRY(auto contents, download(fetch, request_.access.offline, progress_));
    for (const spec::Download& each : fetch) {
      std::string& content = contents.at(each.to);
      if (each.unpack) {
        XAAS_CHECK(add_archive(std::move(content), each.to).in("fetch: " + http::shown(each.url)));
        continue;
      }
      ++files_;
      bytes_ += content.size();
      XAAS_CHECK(builder_.add_file(source_directory + each.to, std::move(content)).in("fetch"));
    }
    return {};
  }

  Result<void> add_archive(std::string archive, const fs::path& to) {
    XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(work_));
    const fs::path tree = work.path() / "tree";
    XAAS_CHECK(oci::unpack_archive(oci::blob_of(std::move(archive)), tree, largest_archive));
    std::error_code code;
    for (fs::recursive_directory_iterator it(tree, code), end; !code && it != end; it.increment(code)) {
      const fs::path path = to / it->path().lexically_relative(tree);
      if (!it->is_symlink(code) && it->is_directory(code))
        XAAS_CHECK(builder_.add_directory(source_directory + path.string()));
      else
        XAAS_CHECK(add(it->path(), path, [](const std::string&) {}));
    }
    return code ? Result<void>(errno_error(code.value(), "reading " + tree.string())) : Result<void>();
  }

  // The spec names the file, so its author knows it.
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
    return make_error(ErrorKind::failed, request_.source.string() + ": the sources seem to contain secrets",
                      "remove them, name them in a .gitignore, or, if everybody may know them, name the "
                      "files in `include` of the application spec")
        .with_output(join(lines, "\n"));
  }

  const Request& request_;
  const fs::path& work_;
  Progress& progress_;
  oci::LayerBuilder builder_;
  std::vector<Secret> secrets_;
  uint64_t files_ = 0, bytes_ = 0;
};

} // namespace

Result<SourcePart> make_source_part(const Request& request, const std::vector<fs::path>& own_paths,
                                    const fs::path& work, Progress& progress) {
  SourcePart part;
  XAAS_TRY(const SourceFiles sources, list_sources(request.source, request.application.include, own_paths));
  if (sources.files.empty())
    return make_error(ErrorKind::not_found, request.source.string() + ": contains no sources",
                      sources.ignored.empty() ? "" : "a .gitignore names all of them");
  if (!sources.ignored.empty())
    progress.note(std::to_string(sources.ignored.size()) +
                  " files that a .gitignore names are left out, including " +
                  sources.ignored.front().string() +
                  (lies_in_repository(request.source)
                       ? ""
                       : "; this is not a git checkout, and an archive may need them: `include` of the "
                         "application spec brings files back"));
  XAAS_TRY(part.layers.source, SourceLayer(request, work, progress).make(sources, part.report));
  XAAS_TRY(ToolchainLayers toolchain, toolchain_layers(request.application.toolchain, request.arch, work,
                                                       request.time, request.access, progress));
  XAAS_CHECK(
      check_compilers(toolchain, request.application.toolchain, request.output, progress).in("toolchain"));
  part.layers.base = std::move(toolchain.layers);
  part.layers.annotations = std::move(toolchain.annotations);
  part.toolchain = request.application.toolchain;
  part.toolchain.base = toolchain.base;
  if (part.toolchain.path.empty())
    part.toolchain.path = toolchain.path;
  return part;
}

} // namespace xaas::build
