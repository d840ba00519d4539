// One index over images for several targets, or one file tree. Each image is deployed as if alone, to a
// temporary layout.
#include "reuse.h"
#include "sbom.h"

#include <xaas/base/stopwatch.h>
#include <xaas/deploy/deploy.h>
#include <xaas/deploy/target_tree.h>
#include <xaas/image/deployed.h>
#include <xaas/image/targets.h>
#include <xaas/launcher/launcher.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/publication.h>
#include <xaas/registry/referrers.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace xaas::deploy {

namespace {

bool is_tree(const oci::Reference& reference) {
  return reference.transport == oci::Transport::rootfs || reference.transport == oci::Transport::squashfs;
}

// The name of a request's target. That of a file with a system description is the file's.
std::string name_of(const Request& request) {
  if (request.target.empty())
    return request.system.cpu.name;
  return request.target.find('/') == std::string::npos && !request.target.ends_with(".json")
             ? request.target
             : fs::path(request.target).stem().string();
}

Result<void> check_requests(const std::vector<Request>& requests) {
  const Request& first = requests.front();
  const std::string what = "deploying " + first.image.text;
  if (first.sbom)
    return make_error(ErrorKind::usage, what + ": an SBOM describes one image, not several",
                      "--attach-sbom attaches one to each");
  if (first.output && is_tree(*first.output))
    for (const Request& request : requests) {
      XAAS_CHECK(launcher::check_name(name_of(request)).in(what));
      XAAS_CHECK(launcher::check_arch(request.system.arch).in(what));
      if (request.system.arch != first.system.arch)
        return make_error(ErrorKind::usage,
                          what + ": targets for " + first.system.arch + " and " + request.system.arch +
                              " cannot share a file tree",
                          "write an index (oci:DIR), or a tree for each architecture");
    }
  if (first.dry_run)
    return {};
  if (first.attach_sbom && first.output &&
      (is_tree(*first.output) || first.output->transport == oci::Transport::archive))
    return make_error(ErrorKind::usage, what + ": SBOMs can be attached in a registry or a layout, not to " +
                                            first.output->text);
  return first.output ? oci::in_operation(registry::check_writable(*first.output, first.access), "writing",
                                          first.output->text)
                      : Result<void>();
}

// What was deployed for one target.
struct Target {
  Report report;
  std::vector<std::string> names; // of all requests with this image
  std::string arch;
  oci::Reference stored;
  std::string level() const { return target::isa_level(arch, report.target.features); }
};

// Weakest first.
auto order_of(const Target& target) {
  const std::vector<std::string> levels = target::isa_levels(target.arch);
  const auto level = std::find(levels.begin(), levels.end(), target.level()) - levels.begin();
  return std::tuple(target.arch, level, target.report.target.features.size(), target.report.target.name,
                    target.report.gpus, target.report.digest->to_string());
}

// The variant of the OCI image index specification on amd64: v2, v3, v4. Version 1 is the default.
std::string variant_of(const Target& target) {
  const std::string prefix = "x86-64-";
  const std::string level = target.level();
  return target.arch == "x86_64" && level.starts_with(prefix) ? level.substr(prefix.size()) : "";
}

Result<oci::Publication> read(const Target& target, const registry::Access& access) {
  XAAS_TRY(registry::OpenedSource opened, registry::open_source(target.stored, {}, access));
  return oci::read_publication(std::move(opened.source), opened.root, target.stored, {});
}

// Readers choose by features and device code. `targets` are sorted, so equal ones are neighbors.
Result<void> check_distinct(const std::vector<Target>& targets) {
  for (size_t i = 1; i < targets.size(); ++i) {
    const Target &a = targets[i - 1], &b = targets[i];
    if (a.arch == b.arch && a.report.target.features == b.report.target.features &&
        a.report.gpus == b.report.gpus)
      return make_error(ErrorKind::usage,
                        a.names.front() + " and " + b.names.front() +
                            " have the same CPU and device code, and different images (" +
                            a.report.selection.configuration.id() + "; " +
                            b.report.selection.configuration.id() + "), and nothing tells which a node takes",
                        "deploy for one of them with another tag");
  }
  return {};
}

oci::ListedImage listed(const Target& target, oci::Publication image,
                        const std::map<std::string, std::string>& annotations, bool first) {
  oci::ListedImage entry{std::move(image),
                         target::oci_architecture(target.arch),
                         first ? std::string() : variant_of(target),
                         {}};
  for (const char* key : {image::annotation::cpu, image::annotation::features, image::annotation::gpu,
                          image::annotation::gpu_code})
    if (const auto found = annotations.find(key); found != annotations.end())
      entry.annotations[key] = found->second;
  return entry;
}

// Deploys all, each distinct image once.
Result<std::vector<Target>> deploy_each(const std::vector<Request>& requests, const fs::path& directory,
                                        Progress& progress) {
  std::vector<Target> targets;
  std::map<Digest, size_t> known;
  for (const Request& request : requests) {
    const std::string name = name_of(request);
    progress.note("target " + name);
    Target target{{}, {name}, request.system.arch, {}};
    Request own = request;
    if (!request.dry_run && request.output) {
      const std::string place = (directory / std::to_string(targets.size())).string();
      XAAS_TRY(target.stored, oci::parse_reference("oci:" + place + ":image"));
      own.output = target.stored;
      own.keep = request.reuse && is_in(*request.output, *request.reuse);
    }
    const bool attach = std::exchange(own.attach_sbom, false);
    own.sbom = attach;
    XAAS_TRY(target.report, deploy(own, progress).in("target " + name));
    target.report.image = request.output ? request.output->text : "";
    if (!request.dry_run) {
      const auto [same, is_new] = known.emplace(*target.report.digest, targets.size());
      if (!is_new) {
        std::vector<std::string>& names = targets[same->second].names;
        if (std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
        continue;
      }
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<Digest> write_tree(std::vector<Target>& targets, const Request& common, Progress& progress) {
  if (targets.size() == 1) {
    XAAS_TRY(const registry::Copied copied,
             registry::copy(targets.front().stored, *common.output,
                            {.own_architecture = target::oci_architecture(targets.front().arch)},
                            common.access, progress));
    return copied.digest;
  }
  std::vector<TreeTarget> sides;
  for (const Target& target : targets) {
    XAAS_TRY(auto image,
             registry::open_image(target.stored, target::oci_architecture(target.arch), common.access));
    sides.push_back({target.names, std::move(image)});
  }
  std::set<image::Warning> warnings;
  XAAS_TRY(const oci::NewImage tree, target_tree(sides, warnings).in("writing " + common.output->text));
  for (Target& target : targets)
    target.report.warnings.insert(target.report.warnings.end(), warnings.begin(), warnings.end());
  return registry::write_image(*common.output, tree, common.access, progress);
}

Result<void> write_index(std::vector<Target>& targets, const Request& common, Progress& progress,
                         IndexReport& result) {
  std::vector<oci::ListedImage> entries;
  std::vector<oci::Artifact> sboms;
  for (const Target& target : targets) {
    const std::string architecture = target::oci_architecture(target.arch);
    XAAS_TRY(oci::Publication publication, read(target, common.access));
    XAAS_TRY(const auto image, registry::open_image(target.stored, architecture, common.access));
    const bool first = entries.empty() || entries.back().architecture != architecture;
    if (common.attach_sbom)
      sboms.push_back(sbom_artifact(*target.report.sbom, *target.report.digest, image->manifest_size(),
                                    image->config().created));
    entries.push_back(listed(target, std::move(publication), image->manifest().annotations, first));
  }
  XAAS_TRY(result.digest, registry::write_publication(*common.output, oci::index_of(std::move(entries)),
                                                      common.access, progress));
  for (size_t i = 0; i < sboms.size(); ++i) {
    XAAS_TRY(targets[i].report.attached, registry::attach(*common.output, sboms[i], common.access));
  }
  return {};
}

} // namespace

Result<IndexReport> deploy_index(const std::vector<Request>& requests, Progress& progress) {
  const Stopwatch watch;
  XAAS_CHECK(check_requests(requests));
  const Request& common = requests.front();
  XAAS_TRY(const TemporaryDirectory images, TemporaryDirectory::create(temporary_root(), "xaas-images-"));
  IndexReport result;
  result.image = common.output ? common.output->text : "";
  XAAS_TRY(std::vector<Target> targets, deploy_each(requests, images.path(), progress));
  if (!common.dry_run) {
    std::sort(targets.begin(), targets.end(),
              [](const Target& a, const Target& b) { return order_of(a) < order_of(b); });
    XAAS_CHECK(check_distinct(targets));
    if (is_tree(*common.output)) {
      XAAS_TRY(result.digest, write_tree(targets, common, progress));
    } else {
      XAAS_CHECK(write_index(targets, common, progress, result));
    }
  }
  for (Target& target : targets)
    result.images.push_back(std::move(target.report));
  result.seconds = watch.seconds().wall;
  return result;
}

} // namespace xaas::deploy
