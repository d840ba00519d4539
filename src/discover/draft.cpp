// The draft of an application spec.
#include <xaas/base/text.h>
#include <xaas/discover/discover.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

// A makefile without an install step: the spec installs the files that it links.
void install_products(const Findings& findings, spec::Application& application) {
  if (!findings.products || findings.products->has_install)
    return;
  const auto file_name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  for (const std::string& program : findings.products->programs)
    application.build.install.push_back({program, "bin/" + file_name(program)});
  for (const std::string& library : findings.products->libraries)
    application.build.install.push_back({library, "lib/" + file_name(library)});
  if (findings.products->programs.size() == 1)
    application.image.entrypoint = {application.image.prefix + "/bin/" +
                                    file_name(findings.products->programs.front())};
}

} // namespace

spec::Application draft(const Findings& findings, const Discovery& discovery, const std::string& arch) {
  spec::Application application;
  application.name = to_lower(findings.name);
  for (char& c : application.name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-')
      c = '-';
  if (!findings.version.empty())
    application.version = findings.version;
  application.build.system = findings.system.value_or(spec::BuildSystem::make);
  application.build.directory = findings.directory;
  install_products(findings, application);
  for (const DiscoveredPoint& found : discovery.points) {
    application.points.push_back(found.point);
    const bool is_choice = found.point.category == "cpu" && !found.point.find("on");
    if (!is_choice || !application.configurations.empty())
      continue;
    if (const spec::Value* const none = found.point.find("default"); none && none->arguments.empty())
      application.configurations.push_back({{found.point.name, "default"}});
    for (const spec::Value& value : found.point.values) {
      const std::vector<std::string>& features = value.requires_.cpu;
      if (!features.empty() && std::all_of(features.begin(), features.end(), [&](const auto& feature) {
            return target::is_feature(arch, feature);
          }))
        application.configurations.push_back({{found.point.name, value.value}});
    }
  }
  if (application.configurations.empty() && !application.points.empty())
    application.configurations.push_back(
        {{application.points.front().name, application.points.front().default_}});
  return application;
}

} // namespace xaas::discover
