#include <xaas/merge/merge.h>

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/image/application_image.h>
#include <xaas/oci/operation.h>
#include <xaas/registry/architectures.h>
#include <xaas/store/content_store.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace xaas::merge {

namespace {

using Clock = std::chrono::steady_clock;

// Every content in the layers of an image of this bundle.
Result<std::set<Digest>> contents_of(const image::Bundle& bundle) {
  std::set<Digest> contents;
  for (const image::BundleConfiguration& configuration : bundle.configurations) {
    XAAS_TRY(const image::Usage usage, image::usage_of(bundle, configuration));
    for (const std::set<Digest>* each : {&usage.modules, &usage.kit, &usage.tree})
      contents.insert(each->begin(), each->end());
    for (const link::InstalledFile& file : configuration.runtime)
      if (file.kind == link::InstalledFile::Kind::file)
        contents.insert(file.digest);
  }
  return contents;
}

// The size of a content according to a bundle. Layers are grouped by it.
Result<void> check_size(const image::Bundle& bundle, const Digest& digest, uint64_t size) {
  const auto module = bundle.modules.find(digest);
  const auto kit = bundle.kit.find(digest);
  if ((module != bundle.modules.end() && module->second != size) ||
      (kit != bundle.kit.end() && kit->second.size != size))
    return make_error(ErrorKind::integrity,
                      "bundle: " + digest.to_string() + " does not have the size that the bundle says");
  return {};
}

// Images for one architecture.
class Group {
public:
  explicit Group(const store::ContentStore& content) : content_(content) {}

  void add(const image::ApplicationImage& input) { inputs_.push_back(&input); }
  const image::ApplicationImage& first() const { return *inputs_.front(); }

  Result<void> unite() {
    std::vector<image::NamedBundle> bundles;
    for (const image::ApplicationImage* input : inputs_)
      bundles.push_back({input->image().reference().text, input->bundle()});
    XAAS_TRY(bundle_, image::unite(bundles));
    return {};
  }

  // Contents that several images have are read once.
  Result<void> read(Progress& progress) {
    XAAS_TRY(std::set<Digest> wanted, contents_of(bundle_));
    std::set<Digest> layers;
    const auto keep = [&](const Digest& digest, const std::string& content) -> Result<void> {
      XAAS_CHECK(check_size(bundle_, digest, content.size()));
      const Result<Digest> kept = content_.put(content);
      return kept ? Result<void>() : kept.error();
    };
    for (const image::ApplicationImage* input : inputs_) {
      XAAS_CHECK(check_interrupt());
      XAAS_CHECK(input->fetch_all(wanted, layers, keep));
      progress.advance();
    }
    if (!wanted.empty())
      return make_error(ErrorKind::integrity, "content " + wanted.begin()->to_string() +
                                                  " is named in a bundle but in no layer of the images");
    return {};
  }

  Result<oci::NewImage> make(int64_t time) const {
    const image::ContentProvider provider = [&](const Digest& digest) { return content_.get(digest); };
    return image::make_application_image(bundle_, provider, time, image::most_groups, {},
                                         image::base_layers(first()));
  }

  Result<Merged> describe(const Digest& digest) const {
    XAAS_TRY(image::Coverage coverage, image::coverage_of(bundle_));
    return Merged{digest,
                  bundle_.arch,
                  std::move(coverage.configurations),
                  coverage.units,
                  coverage.modules,
                  coverage.unit_bytes,
                  coverage.module_bytes};
  }

private:
  const store::ContentStore& content_;
  std::vector<const image::ApplicationImage*> inputs_;
  image::Bundle bundle_;
};

class Merger {
public:
  Merger(const Request& request, Progress& progress, const fs::path& work)
      : request_(request), progress_(progress), content_(work) {}

  Result<Report> run() {
    XAAS_CHECK(open());
    for (const image::ApplicationImage& input : inputs_)
      groups_.try_emplace(target::oci_architecture(input.bundle().arch), content_).first->second.add(input);
    const image::ApplicationImage& first = groups_.begin()->second.first();
    for (auto& [architecture, group] : groups_) {
      XAAS_CHECK(
          image::check_same_application({first.image().reference().text, first.bundle()},
                                        {group.first().image().reference().text, group.first().bundle()}));
      XAAS_CHECK(group.unite());
    }
    progress_.start("reading images", inputs_.size());
    for (auto& [architecture, group] : groups_)
      XAAS_CHECK(group.read(progress_));
    progress_.finish();
    XAAS_CHECK(write());
    report_.name = first.bundle().name;
    return std::move(report_);
  }

private:
  Result<void> open() {
    std::vector<std::string> architectures;
    for (const std::string& arch : target::architectures())
      architectures.push_back(target::oci_architecture(arch));
    progress_.start("opening images", request_.images.size());
    for (const oci::Reference& reference : request_.images) {
      XAAS_CHECK(check_interrupt());
      XAAS_TRY(auto opened, registry::open_images(reference, architectures, request_.access));
      for (std::unique_ptr<oci::Image>& each : opened) {
        XAAS_TRY(image::ApplicationImage input, image::ApplicationImage::open(std::move(each)));
        if (input.bundle().source_build)
          return make_error(ErrorKind::usage,
                            reference.text + ": has configurations that are built from source",
                            "only images with nothing but IR can be merged; build one image of the others");
        Input said{reference.text, input.image().digest(), input.bundle().arch, {}};
        for (const image::BundleConfiguration& configuration : input.bundle().configurations)
          said.configurations.push_back(configuration.configuration.id());
        report_.inputs.push_back(std::move(said));
        inputs_.push_back(std::move(input));
      }
      progress_.advance();
    }
    progress_.finish();
    return {};
  }

  Result<int64_t> time() const {
    if (request_.time)
      return *request_.time;
    int64_t latest = 0;
    for (const image::ApplicationImage& input : inputs_) {
      XAAS_TRY(const int64_t time,
               image::parse_rfc3339(input.image().config().created).in(input.image().reference().text));
      latest = std::max(latest, time);
    }
    return latest;
  }

  Result<void> write() {
    XAAS_TRY(const int64_t created, time());
    std::vector<oci::NewImage> images;
    for (const auto& [architecture, group] : groups_) {
      XAAS_TRY(oci::NewImage image, group.make(created));
      XAAS_TRY(Merged merged, group.describe(oci::manifest_digest(image)));
      report_.images.push_back(std::move(merged));
      images.push_back(std::move(image));
    }
    XAAS_TRY(report_.digest,
             images.size() == 1
                 ? registry::write_image(request_.output, images.front(), request_.access, progress_)
                 : registry::write_index(request_.output, images, request_.access, progress_));
    return {};
  }

  const Request& request_;
  Progress& progress_;
  store::ContentStore content_;
  std::vector<image::ApplicationImage> inputs_;
  std::map<std::string, Group> groups_; // by architecture, as OCI names it
  Report report_;
};

} // namespace

Result<Report> merge_ir_images(const Request& request, Progress& progress) {
  const Clock::time_point start = Clock::now();
  if (request.images.empty())
    return make_error(ErrorKind::usage, "no images to merge");
  if (request.output.transport == oci::Transport::rootfs ||
      request.output.transport == oci::Transport::squashfs)
    return make_error(ErrorKind::usage,
                      request.output.text + ": an IR image cannot be unpacked into a directory",
                      "oci:DIR, oci-archive:FILE or docker://HOST/NAME");
  XAAS_CHECK(oci::in_operation(registry::check_writable(request.output, request.access), "writing",
                               request.output.text));
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-merge-"));
  XAAS_TRY(Report report, Merger(request, progress, work.path()).run());
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

} // namespace xaas::merge
