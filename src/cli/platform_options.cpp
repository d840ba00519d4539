#include "platform_options.h"

#include <xaas/base/text.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::cli {

Result<std::string> architecture_of_platform(const std::string& platform) {
  const std::string hint = "linux/amd64 or linux/arm64";
  const std::vector<std::string> parts = split(platform, '/');
  if (parts.empty() || parts[0] != "linux")
    return make_error(ErrorKind::usage, "--platform " + platform + ": the operating system is not linux",
                      hint);
  if (parts.size() < 2 || parts[1].empty())
    return make_error(ErrorKind::usage, "--platform " + platform + ": no architecture", hint);
  // OCI image index specification: v8 is the only variant of arm64. It is also the default.
  const bool default_variant = parts.size() == 3 && parts[1] == "arm64" && parts[2] == "v8";
  if (parts.size() > 2 && !default_variant)
    return make_error(ErrorKind::usage, "--platform " + platform + ": unknown variant of " + parts[1], hint);
  for (const std::string& arch : target::architectures())
    if (target::oci_architecture(arch) == parts[1])
      return arch;
  return parts[1];
}

void PlatformOptions::add(CLI::App& app, const std::string& meaning, bool several) {
  CLI::Option* const arch = app.add_option("--arch", archs_, meaning);
  CLI::Option* const platform =
      app.add_option("--platform", platforms_, "The same in OCI's names, as in linux/arm64");
  platform->excludes(arch);
  arch->type_name(several ? "ARCH,..." : "ARCH");
  platform->type_name(several ? "OS/ARCH,..." : "OS/ARCH");
  for (CLI::Option* const option : {arch, platform})
    if (several)
      option->delimiter(',');
    else
      option->allow_extra_args(false)->expected(1); // a list would take the next argument, too
}

Result<std::vector<std::string>> PlatformOptions::read() const {
  std::vector<std::string> named = archs_, once;
  for (const std::string& platform : platforms_) {
    XAAS_TRY(std::string arch, architecture_of_platform(platform));
    named.push_back(std::move(arch));
  }
  for (std::string& arch : named)
    if (std::find(once.begin(), once.end(), arch) == once.end())
      once.push_back(std::move(arch));
  return once;
}

} // namespace xaas::cli
