#include "package.h"

#include "host_choice.h"

#include <xaas/base/text.h>
#include <xaas/base/utf8.h>
#include <xaas/base/version.h>
#include <xaas/image/deployed.h>
#include <xaas/image/packages.h>
#include <xaas/image/warning.h>
#include <xaas/link/note.h>
#include <xaas/loader/search.h>
#include <xaas/oci/layer.h>

#include <algorithm>
#include <memory>

namespace xaas::deploy {

namespace {

using FileKind = link::InstalledFile::Kind;

Result<oci::NewLayer> application_layer(const image::BundleConfiguration& configuration,
                                        const std::optional<image::Base>& base, Assembly& assembly,
                                        int64_t time, const oci::CompressedLayers* known,
                                        provenance::FileList* files) {
  oci::LayerBuilder builder(time, base ? base->directories : oci::Directories());
  for (const link::InstalledFile& file : configuration.installed) {
    if (files && (file.kind == FileKind::directory || file.kind == FileKind::symlink))
      files->take_other(file.path);
    else if (files)
      files->take_file(file.path, assembly.contents.at(file.path));
    if (file.kind == FileKind::directory)
      XAAS_CHECK(builder.add_directory(file.path, file.mode));
    else if (file.kind == FileKind::symlink)
      XAAS_CHECK(builder.add_symlink(file.path, file.destination));
    else
      XAAS_CHECK(builder.add_file(file.path, std::move(assembly.contents.at(file.path)), file.mode));
  }
  return builder.finish(oci::Compression::gzip, "xaas deploy: application",
                        {{image::annotation::role, "application"}}, known);
}

// Whether the RUNPATH of the file at `path` names the directory.
bool leads_to(const loader::Dynamic& dynamic, const std::string& path, const std::string& directory,
              const loader::Settings& settings) {
  const std::string origin = "/" + fs::path(path).parent_path().string();
  for (const std::string& entry : dynamic.runpath) {
    fs::path place = fs::path(loader::expanded(entry, origin, settings)).lexically_normal();
    if (!place.has_filename())
      place = place.parent_path();
    if (place == fs::path(directory))
      return true;
  }
  return false;
}

struct Needs {
  std::string glibc; // the highest GLIBC_* version that an installed file needs
  std::set<std::string>
      library_directories; // of installed libraries that the loader does not find by default
};

// Code for another target can call further functions of the compiler's and the C library.
Result<void> check_base(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                        const std::string& path, const loader::Dynamic& dynamic) {
  for (const std::string& name : configuration.base_libraries) {
    const auto needed = dynamic.needed_versions.find(name);
    if (needed == dynamic.needed_versions.end())
      continue;
    const std::vector<std::string>& versions = bundle.base->libraries.at(name);
    for (const std::string& version : needed->second)
      if (std::find(versions.begin(), versions.end(), version) == versions.end())
        return make_error(ErrorKind::unsatisfied,
                          path + " needs " + version + " of " + name + ", which the base image lacks",
                          "build the image again on a newer base image, or on base `scratch`");
  }
  return {};
}

Result<Needs> needs_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                       const Assembly& assembly) {
  const std::string& arch = bundle.arch;
  std::map<std::string, std::string> libraries; // installed file name or symlink -> directory
  for (const link::InstalledFile& file : configuration.installed)
    if (file.path.find(".so") != std::string::npos)
      libraries[fs::path(file.path).filename().string()] = "/" + fs::path(file.path).parent_path().string();
  loader::Settings settings;
  settings.arch = arch;
  settings.directories.lib = "lib/" + arch + "-linux-gnu";
  Needs needs;
  for (const auto& [path, content] : assembly.contents) {
    if (!loader::is_elf_for(content, arch))
      continue; // a file for another machine counts as data
    XAAS_TRY(const loader::Dynamic dynamic, loader::read_dynamic_in_worker("/" + path, content));
    XAAS_CHECK(check_base(bundle, configuration, "/" + path, dynamic));
    for (const std::string& version : dynamic.glibc_versions)
      if (version_less(needs.glibc, version))
        needs.glibc = version;
    for (const std::string& needed : dynamic.needed)
      if (const auto found = libraries.find(needed);
          found != libraries.end() && !leads_to(dynamic, path, found->second, settings))
        needs.library_directories.insert(found->second);
  }
  return needs;
}

// The ABI of the host's MPI that the chosen values require; empty: none.
std::string mpi_of(const std::vector<image::ChosenNeeds>& needs) {
  for (const image::ChosenNeeds& each : needs)
    if (!each.required.mpi.empty())
      return each.required.mpi;
  return {};
}

// For checkers of the image: the files that were linked here, and the code in each that is not for the target
// alone.
Result<std::string> code_annotation(const Assembly& assembly) {
  Json files = Json::object();
  for (const auto& [path, origin] : assembly.origins)
    files["/" + path] =
        Json{{"own", origin.own.features}, {"assembly", origin.own.assembly}, {"native", origin.native}};
  return json_text(files, "installed files");
}

// A layer that is passed on byte for byte is read all the same, to check it against config and manifest.
Result<void> check_kept_layer(const image::ApplicationImage& source, size_t index,
                              provenance::FileList* files) {
  const oci::Descriptor& layer = source.image().manifest().layers[index];
  const bool is_of_base = image::layer_role(layer) == image::base_role;
  if (!is_of_base && layer.media_type != oci::media_type::layer_gzip &&
      layer.media_type != oci::media_type::docker_layer_gzip)
    return make_error(ErrorKind::integrity, "run-time layer " + layer.digest.to_string() + ": is " +
                                                layer.media_type + ", not " + oci::media_type::layer_gzip);
  XAAS_TRY(const oci::BlobPtr blob, source.image().open_blob(layer));
  const auto check = [&](const oci::LayerEntry& entry, oci::LayerContent& content) -> Result<void> {
    if (entry.kind == oci::LayerEntry::Kind::other && !is_of_base)
      return make_error(ErrorKind::integrity, "/" + entry.path + ": a special file");
    if (files)
      return files->take(entry, content);
    while (entry.kind == oci::LayerEntry::Kind::file) {
      XAAS_TRY(const std::string_view piece, content.next());
      if (piece.empty())
        break;
    }
    return {};
  };
  return oci::stream_layer(blob, layer.media_type, &source.image().config().diff_ids[index], oci::layer_limit,
                           check);
}

// Like FROM in a Containerfile: values of the spec replace those of the base, and a new entry point discards
// the base's command.
void fill_config(const image::ApplicationImage& source, const Needs& needs, oci::NewImage& image) {
  const spec::Image& wanted = source.bundle().image;
  if (source.bundle().base)
    image.config = source.bundle().base->config;
  image.config.architecture = source.image().config().architecture;
  std::map<std::string, std::string> variables = variables_of(image.config.env);
  const std::map<std::string, std::string> of_base = variables;
  for (const auto& [name, value] : wanted.env)
    variables[name] = value;
  if (!wanted.entrypoint.empty()) {
    image.config.entrypoint = wanted.entrypoint;
    image.config.cmd.clear();
  }
  variables["PATH"] = image::path_of(source.bundle());
  // No ld.so.cache has the application's libraries. ldconfig would write them there on a machine.
  if (!needs.library_directories.empty() && !wanted.env.count("LD_LIBRARY_PATH")) {
    std::vector<std::string> directories(needs.library_directories.begin(), needs.library_directories.end());
    if (const auto more = of_base.find("LD_LIBRARY_PATH"); more != of_base.end() && !more->second.empty())
      directories.push_back(more->second);
    variables["LD_LIBRARY_PATH"] = join(directories, ":");
  }
  image.config.env.clear();
  for (const auto& [name, value] : variables)
    image.config.env.push_back(name + "=" + value);
}

// The layers of the base and the closure byte for byte. A layer is read again only when it must be written,
// because they must not stay in memory.
Result<void> add_kept_layers(const image::ApplicationImage& source, const std::vector<size_t>& layers,
                             provenance::FileList* files, oci::NewImage& image) {
  for (const size_t index : layers) {
    oci::NewLayer layer = oci::layer_of(source.image(), index);
    const std::string role = image::layer_role(layer.descriptor);
    layer.descriptor.annotations = {{image::annotation::role, role}};
    if (role != image::base_role)
      layer.created_by = "xaas build: runtime";
    // An SBOM names the base as one package: its own lists what is in it.
    XAAS_CHECK(check_kept_layer(source, index, role == image::base_role ? nullptr : files));
    image.layers.push_back(std::move(layer));
  }
  return {};
}

// The closure of a toolchain.
Result<void> add_runtime_layer(const SourceClosure& closure, const std::optional<image::Base>& base,
                               int64_t time, const oci::CompressedLayers* known, provenance::FileList* files,
                               oci::NewImage& image) {
  if (closure.files.empty())
    return {};
  oci::LayerBuilder builder(time, base ? base->directories : oci::Directories());
  for (const link::InstalledFile& file : closure.files) {
    XAAS_TRY(std::string content, read_file(closure.places.at(file.path)));
    if (files)
      files->take_file(file.path, content);
    XAAS_CHECK(builder.add_file(file.path, std::move(content), file.mode));
  }
  XAAS_TRY(oci::NewLayer layer, builder.finish(oci::Compression::gzip, "xaas deploy: runtime",
                                               {{image::annotation::role, "runtime"}}, known));
  image.layers.push_back(std::move(layer));
  return {};
}

// The parts that every deployed image has after its closure. `bundle`: what the image was made from.
Result<void> add_application(const image::ApplicationImage& source, const image::Bundle& bundle,
                             const image::BundleConfiguration& configuration, Assembly& assembly,
                             const Inputs& inputs, int64_t time, Needs needs,
                             const oci::CompressedLayers* known, provenance::FileList* files,
                             oci::NewImage& image) {
  XAAS_TRY(oci::NewLayer application,
           application_layer(configuration, bundle.base, assembly, time, known, files));
  XAAS_TRY(const std::vector<image::PackageUse> packages, image::package_uses(bundle, configuration));
  XAAS_TRY(const std::string code, code_annotation(assembly));
  image.layers.push_back(std::move(application));

  fill_config(source, needs, image);
  image.config.created = image::rfc3339(time);
  const std::vector<image::ChosenNeeds> chosen = image::needs_of(bundle, configuration.configuration);
  image.annotations.insert(inputs.begin(), inputs.end());
  image.annotations.insert({{image::annotation::made_from_name, bundle.name + ":" + bundle.version},
                            {image::annotation::made_from_tool, bundle.tool},
                            {"dev.xaas.code", code},
                            {"dev.xaas.glibc", needs.glibc},
                            {"dev.xaas.mpi", mpi_of(chosen)},
                            {image::annotation::packages, image::to_annotation(packages)},
                            {image::annotation::needs, image::to_annotation(chosen)}});
  std::vector<image::PreferredOfHost> preferred = preferred_of(bundle, configuration);
  std::erase_if(preferred, [](const image::PreferredOfHost& each) { return each.sonames.empty(); });
  if (!preferred.empty())
    image.annotations[image::annotation::host] = image::to_annotation(preferred);
  if (assembly.kernels)
    image.annotations[image::annotation::kernels] = image::to_annotation(*assembly.kernels);
  if (!bundle.llvm.empty())
    image.annotations[image::annotation::made_from_llvm] = bundle.llvm;
  image.annotations.merge(image::application_annotations(bundle));
  // The toolchain of an image with sources is left behind.
  if (bundle.base)
    image.annotations.merge(image::base_annotations(*bundle.base));
  image.config.labels.insert(image.annotations.begin(), image.annotations.end());
  return {};
}

} // namespace

Result<oci::NewImage> package(const image::ApplicationImage& source,
                              const image::BundleConfiguration& configuration, Assembly assembly,
                              const Inputs& inputs, int64_t time, const oci::CompressedLayers* known,
                              provenance::FileList* files) {
  oci::NewImage image;
  XAAS_CHECK(add_kept_layers(source, source.kept_layers(configuration.configuration.id()), files, image));
  XAAS_TRY(const Needs needs, needs_of(source.bundle(), configuration, assembly));
  XAAS_CHECK(add_application(source, source.bundle(), configuration, assembly, inputs, time, needs, known,
                             files, image));
  return image;
}

Result<oci::NewImage> package(const image::ApplicationImage& source, SourceBuilt built, const Inputs& inputs,
                              int64_t time, const oci::CompressedLayers* known, provenance::FileList* files) {
  image::Bundle bundle = source.bundle();
  bundle.packages = built.closure.packages;
  bundle.base = std::move(built.base);
  oci::NewImage image;
  XAAS_CHECK(add_kept_layers(source, source.layers_with_role(image::base_role), files, image));
  XAAS_CHECK(add_runtime_layer(built.closure, bundle.base, time, known, files, image));
  XAAS_TRY(Needs needs, needs_of(bundle, built.configuration, built.assembly));
  needs.library_directories.merge(built.closure.library_directories);
  image.annotations = {{image::annotation::compiler, built.compilers.version},
                       {image::annotation::compiler_flags, join(built.compilers.flags, " ")}};
  XAAS_CHECK(add_application(source, bundle, built.configuration, built.assembly, inputs, time,
                             std::move(needs), known, files, image));
  return image;
}

} // namespace xaas::deploy
