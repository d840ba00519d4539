#include <xaas/merge/merge.h>

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/image/ir_image.h>
#include <xaas/store/content_store.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <chrono>

namespace xaas::merge {

namespace {

using Clock = std::chrono::steady_clock;

// Every content that the layers of an image of this bundle hold.
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

// How large a bundle says that a content is; layers are grouped by it.
Result<void> check_size(const image::Bundle& bundle, const Digest& digest, uint64_t size) {
  const auto module = bundle.modules.find(digest);
  const auto kit = bundle.kit.find(digest);
  if ((module != bundle.modules.end() && module->second != size) ||
      (kit != bundle.kit.end() && kit->second.size != size))
    return make_error(ErrorKind::integrity,
                      "bundle: " + digest.to_string() + " does not have the size that is said of it");
  return {};
}

class Merger {
public:
  Merger(const Request& request, Progress& progress, const fs::path& work)
      : request_(request), progress_(progress), content_(work) {}

  Result<Report> run() {
    XAAS_CHECK(open());
    std::vector<image::NamedBundle> bundles;
    for (const image::IrImage& input : inputs_)
      bundles.push_back({input.image().reference().text, input.bundle()});
    XAAS_TRY(bundle_, image::unite(bundles));
    XAAS_CHECK(read());
    XAAS_CHECK(write());
    XAAS_CHECK(fill_report());
    return std::move(report_);
  }

private:
  Result<void> open() {
    progress_.start("opening images", request_.images.size());
    for (const oci::Reference& reference : request_.images) {
      XAAS_CHECK(check_interrupt());
      // Of an index, the machine's own architecture: other images then say that they are of another.
      XAAS_TRY(auto opened, registry::open_image(reference, target::oci_architecture(target::host_arch()),
                                                 request_.access));
      XAAS_TRY(image::IrImage input, image::IrImage::open(std::move(opened)));
      Input said{reference.text, input.image().digest(), {}};
      for (const image::BundleConfiguration& each : input.bundle().configurations)
        said.configurations.push_back(each.configuration.id());
      report_.inputs.push_back(std::move(said));
      inputs_.push_back(std::move(input));
      progress_.advance();
    }
    progress_.finish();
    return {};
  }

  // What several images have is read once.
  Result<void> read() {
    XAAS_TRY(std::set<Digest> wanted, contents_of(bundle_));
    std::set<Digest> layers;
    progress_.start("reading images", inputs_.size());
    for (const image::IrImage& input : inputs_) {
      XAAS_CHECK(check_interrupt());
      const auto keep = [&](const Digest& digest, const std::string& content) -> Result<void> {
        XAAS_CHECK(check_size(bundle_, digest, content.size()));
        const Result<Digest> kept = content_.put(content);
        return kept ? Result<void>() : kept.error();
      };
      XAAS_CHECK(input.fetch_all(wanted, layers, keep));
      progress_.advance();
    }
    progress_.finish();
    if (!wanted.empty())
      return make_error(ErrorKind::integrity, "content " + wanted.begin()->to_string() +
                                                  " is named in a bundle but in no layer of the images");
    return {};
  }

  Result<int64_t> time() const {
    if (request_.time)
      return *request_.time;
    int64_t latest = 0;
    for (const image::IrImage& input : inputs_) {
      XAAS_TRY(const int64_t time,
               image::parse_rfc3339(input.image().config().created).in(input.image().reference().text));
      latest = std::max(latest, time);
    }
    return latest;
  }

  Result<void> write() {
    progress_.start("writing " + request_.output.text, 0);
    XAAS_TRY(const int64_t created, time());
    const image::ContentProvider provider = [&](const Digest& digest) { return content_.get(digest); };
    XAAS_TRY(const oci::NewImage image, image::make_ir_image(bundle_, provider, created));
    XAAS_TRY(report_.digest, registry::write_image(request_.output, image, request_.access, progress_)
                                 .in("writing " + request_.output.text));
    progress_.finish();
    return {};
  }

  Result<void> fill_report() {
    XAAS_TRY(const image::Coverage coverage, image::coverage_of(bundle_));
    report_.name = bundle_.name;
    report_.arch = bundle_.arch;
    report_.configurations = coverage.configurations;
    report_.units = coverage.units;
    report_.modules = coverage.modules;
    report_.unit_bytes = coverage.unit_bytes;
    report_.module_bytes = coverage.module_bytes;
    return {};
  }

  const Request& request_;
  Progress& progress_;
  store::ContentStore content_;
  std::vector<image::IrImage> inputs_;
  image::Bundle bundle_;
  Report report_;
};

} // namespace

Result<Report> merge_ir_images(const Request& request, Progress& progress) {
  const Clock::time_point start = Clock::now();
  if (request.output.transport == oci::Transport::rootfs)
    return make_error(ErrorKind::usage,
                      request.output.text + ": an IR image cannot be unpacked into a directory",
                      "oci:DIR, oci-archive:FILE or docker://HOST/NAME");
  XAAS_CHECK(registry::check_writable(request.output, request.access).in("writing " + request.output.text));
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-merge-"));
  XAAS_TRY(Report report, Merger(request, progress, work.path()).run());
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

} // namespace xaas::merge
