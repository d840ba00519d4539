// One index over IR images for several architectures: each is built as if alone, and then they are merged.
#include <xaas/base/text.h>
#include <xaas/build/build.h>
#include <xaas/merge/merge.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::build {

namespace {

bool has(const std::vector<spec::SpecializationPoint>& points, const std::string& name,
         const std::string& value) {
  return std::any_of(points.begin(), points.end(),
                     [&](const auto& point) { return point.name == name && point.find(value); });
}

// Keeps the levels and configurations given on the command line that belong to this architecture. One that
// belongs to none is kept everywhere, so that building reports what is wrong with it.
Result<Request> for_its_architecture(const Request& request, const std::vector<Request>& all) {
  Request own = request;
  const auto is_level_of = [](const std::string& arch, const std::string& level) {
    const std::vector<std::string> known = target::isa_levels(arch);
    return std::find(known.begin(), known.end(), level) != known.end();
  };
  std::erase_if(own.isa, [&](const std::string& level) {
    return !is_level_of(own.arch, level) && std::any_of(all.begin(), all.end(), [&](const Request& other) {
      return is_level_of(other.arch, level);
    });
  });
  if (own.isa.empty() && !request.isa.empty())
    return make_error(ErrorKind::usage,
                      "none of the ISA levels " + join(request.isa, ",") + " is one of " + request.arch,
                      "known levels: " + join(target::isa_levels(request.arch), ", "));
  const auto fits = [](const Request& candidate, const std::map<std::string, std::string>& values) {
    const auto points = spec::all_points(candidate.application, candidate.arch, {});
    return points && std::all_of(values.begin(), values.end(),
                                 [&](const auto& value) { return has(*points, value.first, value.second); });
  };
  std::erase_if(own.configurations, [&](const auto& values) {
    return !fits(own, values) &&
           std::any_of(all.begin(), all.end(), [&](const Request& other) { return fits(other, values); });
  });
  if (own.configurations.empty() && !request.configurations.empty())
    return make_error(ErrorKind::usage, "none of the given configurations is for " + request.arch);
  return own;
}

} // namespace

Result<IndexReport> build_ir_index(const std::vector<Request>& requests, Progress& progress) {
  const Stopwatch watch;
  const Request& first = requests.front();
  std::vector<Request> each;
  for (const Request& request : requests) {
    XAAS_CHECK(check(request));
    XAAS_TRY(Request own, for_its_architecture(request, requests));
    each.push_back(std::move(own));
  }
  XAAS_TRY(const TemporaryDirectory images, TemporaryDirectory::create(temporary_root(), "xaas-images-"));
  merge::Request merging;
  merging.output = first.output;
  merging.access = first.access;
  merging.time = first.time;
  IndexReport report;
  for (Request& request : each) {
    progress.note("architecture " + request.arch);
    XAAS_TRY(request.output, oci::parse_reference("oci:" + (images.path() / request.arch).string() + ":ir"));
    merging.images.push_back(request.output);
    XAAS_TRY(Report built, build_ir_image(request, progress));
    report.images.push_back({request.arch, std::move(built)});
  }
  XAAS_TRY(const merge::Report merged, merge::merge_ir_images(merging, progress));
  report.digest = merged.digest;
  report.seconds = watch.seconds();
  return report;
}

} // namespace xaas::build
