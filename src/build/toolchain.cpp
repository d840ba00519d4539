// Sources: mmdebstrap(1); sources.list(5); os-release(5).
#include "toolchain.h"
#include "image_layers.h"

#include <xaas/base/directory.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/image/application_image.h>
#include <xaas/oci/layer.h>
#include <xaas/oci/name_tree.h>
#include <xaas/project/compilers.h>

#include <algorithm>

namespace xaas::build {

namespace {

Result<ToolchainLayers> layers_of_toolchain(const std::string& name, const std::string& arch,
                                            const registry::Access& access) {
  XAAS_TRY(ImageLayers layers, layers_of_image(name, arch, access));
  ToolchainLayers result;
  result.path = variables_of(layers.image->config().env)["PATH"];
  result.layers = std::move(layers.layers);
  result.base = std::move(layers.name);
  result.annotations =
      image::base_annotations({.digest = layers.image->digest(), .reference = layers.reference});
  return result;
}

// VERSION_CODENAME of the machine; empty: its system is not Debian's.
std::string own_suite() {
  const Result<std::string> text = read_file("/etc/os-release");
  if (!text)
    return {};
  for (const std::string& line : split(*text, '\n'))
    if (line.starts_with("VERSION_CODENAME="))
      return trim(line.substr(line.find('=') + 1));
  return {};
}

// This machine's package sources: the same mirrors and keys serve the image.
Result<std::vector<std::string>> own_sources() {
  XAAS_TRY(const std::vector<fs::path> entries, list_directory("/etc/apt/sources.list.d", IfMissing::empty));
  std::vector<std::string> files;
  for (const fs::path& entry : entries)
    if (entry.extension() == ".sources" || entry.extension() == ".list")
      files.push_back(entry);
  std::error_code none;
  if (const auto size = fs::file_size("/etc/apt/sources.list", none); !none && size > 0)
    files.insert(files.begin(), "/etc/apt/sources.list");
  return files;
}

std::string debian_architecture(const std::string& arch) {
  return arch == "x86_64" ? "amd64" : "arm64";
}

Result<ToolchainLayers> layers_of_packages(const spec::Toolchain& toolchain, const std::string& arch,
                                           const fs::path& work, int64_t time, Progress& progress) {
  if (!find_program("mmdebstrap"))
    return make_error(ErrorKind::missing_tool,
                      "a toolchain of packages needs mmdebstrap, which is not on PATH",
                      "install mmdebstrap, or name an image as `toolchain.base` (--base IMAGE)");
  const std::string suite = toolchain.suite.empty() ? own_suite() : toolchain.suite;
  if (suite.empty())
    return make_error(ErrorKind::usage, "toolchain.packages: this machine has no Debian suite",
                      "name one: \"suite\": \"bookworm\"");
  const fs::path tar = work / "toolchain.tar", log = work / "toolchain.log";
  Command command;
  command.arguments = {"mmdebstrap",
                       "--quiet",
                       "--variant=essential",
                       "--architectures=" + debian_architecture(arch),
                       "--skip=output/dev",
                       "--dpkgopt=path-exclude=/usr/share/man/*",
                       "--dpkgopt=path-exclude=/usr/share/info/*",
                       "--dpkgopt=path-exclude=/usr/share/doc/*",
                       "--dpkgopt=path-include=/usr/share/doc/*/copyright",
                       "--include=" + join(toolchain.packages, ","),
                       suite,
                       tar.string()};
  if (suite == own_suite()) {
    XAAS_TRY(const std::vector<std::string> sources, own_sources());
    command.arguments.insert(command.arguments.end(), sources.begin(), sources.end());
  }
  command.environment = {{"SOURCE_DATE_EPOCH", std::to_string(time)}, {"LC_ALL", "C.UTF-8"}};
  command.directory = work;
  command.output = log;
  progress.start("installing " + join(toolchain.packages, " ") + " of " + suite, 0);
  XAAS_TRY(const ProcessResult result, run_process(command).in("mmdebstrap"));
  if (result.exit_code != 0) {
    const Result<std::string> text = read_file(log);
    std::vector<std::string> lines = text ? split(*text, '\n') : std::vector<std::string>();
    if (lines.size() > 20)
      lines.erase(lines.begin(), lines.end() - 20);
    return make_error(ErrorKind::failed,
                      "mmdebstrap failed with exit code " + std::to_string(result.exit_code) + " for " +
                          join(toolchain.packages, " ") + " of " + suite,
                      "does this suite have these packages? Is there a network?")
        .with_output(join(lines, "\n"));
  }
  XAAS_TRY(oci::NewLayer layer,
           oci::layer_of_tar(tar, work / "toolchain.tar.gz", oci::Compression::gzip,
                             "xaas build: " + suite + ": " + join(toolchain.packages, " ")));
  std::error_code code;
  fs::remove(tar, code);
  progress.finish();
  ToolchainLayers layers;
  layers.layers.push_back(std::move(layer));
  return layers;
}

// Looks for compilers among the names in layers.
class CompilerSearch {
public:
  CompilerSearch(const spec::Toolchain& toolchain, const std::string& path)
      : toolchain_(toolchain),
        directories_(project::directories_of(path.empty() ? project::usual_path : path)) {}

  // Reads no more than necessary.
  Result<void> read(const oci::NewLayer& layer) {
    XAAS_TRY(const oci::BlobPtr blob, layer.open());
    names_.start_layer();
    size_t count = 0;
    const auto add = [&](const oci::LayerEntry& entry, oci::LayerContent&) -> Result<void> {
      XAAS_CHECK(check_interrupt());
      names_.add(entry);
      constexpr size_t seldom = 256; // the check is cheap, but not for every name
      if (++count % seldom == 0 && is_complete())
        return make_error(ErrorKind::failed, "enough was read");
      return {};
    };
    const Result<void> done =
        oci::stream_layer(blob, layer.descriptor.media_type, nullptr, oci::layer_limit, add);
    return is_complete() ? Result<void>() : done;
  }

  // Whether there is one for C or C++. missing_tool if a named one is missing.
  Result<bool> any() const {
    const auto find = [&](const std::string& name) -> std::optional<fs::path> {
      for (const std::string& place : project::program_places(name, directories_)) {
        const oci::NameTree::Entry* const file = names_.find(names_.resolve(place));
        if (file && file->kind == oci::NameTree::Kind::file && file->runs)
          return fs::path(place);
      }
      return std::nullopt;
    };
    XAAS_TRY(const project::CompilerPaths found, project::find_compilers(toolchain_, find));
    return !found.c.empty() || !found.cxx.empty();
  }

  bool is_complete() const {
    const Result<bool> found = any();
    return found && *found;
  }

private:
  const spec::Toolchain& toolchain_;
  std::vector<std::string> directories_;
  oci::NameTree names_;
};

} // namespace

Result<ToolchainLayers> toolchain_layers(const spec::Toolchain& toolchain, const std::string& arch,
                                         const fs::path& work, int64_t time, const registry::Access& access,
                                         Progress& progress) {
  if (!toolchain.base.empty()) {
    Result<ToolchainLayers> layers = layers_of_toolchain(toolchain.base, arch, access);
    return layers ? std::move(layers) : std::move(layers).error().in("toolchain image");
  }
  if (toolchain.packages.empty())
    return make_error(
        ErrorKind::usage, "a source image needs a toolchain: the spec names none",
        "\"toolchain\": {\"packages\": [\"gcc\", \"g++\", \"make\"]}, or an image with `--base`");
  return layers_of_packages(toolchain, arch, work, time, progress);
}

Result<void> check_compilers(const ToolchainLayers& layers, const spec::Toolchain& toolchain,
                             const oci::Reference& output, Progress& progress) {
  const auto is_far = [&](const oci::NewLayer& layer) {
    return layer.origin && layer.origin->transport == oci::Transport::registry &&
           output.transport == oci::Transport::registry;
  };
  if (std::any_of(layers.layers.begin(), layers.layers.end(), is_far))
    return {};
  CompilerSearch search(toolchain, toolchain.path.empty() ? layers.path : toolchain.path);
  progress.start("looking for compilers in the toolchain", 0);
  for (const oci::NewLayer& layer : layers.layers) {
    XAAS_CHECK(search.read(layer).in("layer " + layer.descriptor.digest.to_string()));
    if (search.is_complete())
      break;
  }
  progress.finish();
  const Result<bool> any = search.any();
  if (!any && any.error().kind != ErrorKind::missing_tool)
    return any.error();
  if (!any)
    progress.note(any.error().message + "; with `--runtime host` the host's can be used");
  else if (!*any)
    progress.note(project::no_compiler().message + "; " + project::no_compiler().hint);
  return {};
}

} // namespace xaas::build
