#include "base.h"
#include "describe.h"
#include "forms.h"
#include "source_part.h"
#include "space.h"

#include <xaas/base/stopwatch.h>
#include <xaas/build/build.h>
#include <xaas/image/application_image.h>

namespace xaas::build {

Result<Report> build_source_image(const Request& request, Progress& progress) {
  const Stopwatch watch;
  XAAS_CHECK(check(request));
  for (const fs::path& left : remove_abandoned())
    progress.note("removed " + left.string() + ", which a killed run left");
  Request own = request;
  own.application.isa = std::vector<std::string>();
  image::Bundle bundle;
  XAAS_TRY(bundle.points, spec::all_points(own.application, own.arch, {}));
  XAAS_TRY(const std::vector<spec::Configuration> configurations,
           spec::expand(own.application, bundle.points, own.configurations, own.max_configurations));
  XAAS_CHECK(describe(own, bundle));
  XAAS_CHECK(check_space(space_needs(own)).in("building " + own.application.name));
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-build-"));
  XAAS_TRY(SourcePart part, make_source_part(own, own_paths(own, work.path()), work.path(), progress)
                                .in("building " + own.application.name));
  Report report;
  part.report.configurations = ids_of(configurations);
  report.source = std::move(part.report);
  report.revision = bundle.revision;
  bundle.source_build = {own.application, configurations};
  bundle.source_build->application.toolchain = part.toolchain;
  std::vector<oci::NewLayer> base_layers;
  if (own.application.image.base != image::no_base) {
    XAAS_TRY(OpenedBase base, open_base(own.application.image.base, own.arch, work.path() / "base",
                                        own.application.image.env, own.access, progress));
    bundle.base = base.image->description();
    bundle.image.base = base.name;
    base_layers = std::move(base.layers);
    report.base = {base.name, {}, {}};
  }

  const Stopwatch writing;
  progress.start("writing " + own.output.text, 0);
  const image::ContentProvider none = [](const Digest& digest) -> Result<std::string> {
    return make_error(ErrorKind::failed, "a source image has no content " + digest.to_string());
  };
  XAAS_TRY(const oci::NewImage image,
           image::make_application_image(bundle, none, own.time, image::most_groups, std::move(part.layers),
                                         std::move(base_layers)));
  XAAS_TRY(report.digest, registry::write_image(own.output, image, own.access, progress));
  progress.finish();
  report.write = writing.seconds();
  report.seconds = watch.seconds();
  return report;
}

} // namespace xaas::build
