#include "report.h"

namespace xaas::build {

namespace {

// The installed programs that links of the build made. Scripts need an interpreter, which an image on base
// scratch does not have.
std::vector<std::string> executables_of(const image::Bundle& bundle,
                                        const image::BundleConfiguration& configuration) {
  std::vector<std::string> paths;
  for (const link::InstalledFile& file : configuration.installed)
    if (file.kind == link::InstalledFile::Kind::link &&
        bundle.links.at(file.digest).kind == link::OutputKind::executable)
      paths.push_back("/" + file.path);
  return paths;
}

} // namespace

void report_coverage(const image::Bundle& bundle, const image::Coverage& coverage, Progress& progress,
                     Report& report) {
  for (size_t i = 0; i < coverage.configurations.size(); ++i) {
    const image::ConfigurationCoverage& covered = coverage.configurations[i];
    ConfigurationReport& each = report.configurations[i];
    each.units = covered.units;
    each.modules = covered.modules;
    each.native_objects = covered.native_objects;
    each.programs = covered.programs;
    each.content = image::content_of(bundle.configurations[i]);
    each.executables = executables_of(bundle, bundle.configurations[i]);
    if (each.units == 0 && each.programs > 0)
      progress.note("configuration " + each.id +
                    ": no program has IR; does the build use the compilers that it is given (CC, CXX)?");
  }
  report.units = coverage.units;
  report.modules = coverage.modules;
  report.unit_bytes = coverage.unit_bytes;
  report.module_bytes = coverage.module_bytes;
  for (const image::NativeObject& native : coverage.native_objects)
    report.native_objects.push_back({native.name, native.reason});
}

} // namespace xaas::build
