#include "plugins.h"

#include <clang/Frontend/CompilerInvocation.h>

#include <algorithm>
#include <utility>

namespace xaas::frontdoor {

namespace {

// An option of LLVM without the dashes: "name" or "name=value".
std::string without_dashes(const std::string& argument) {
  return argument.substr(std::min(argument.size(), argument.find_first_not_of('-')));
}

fs::path place_of(const session::Session& session, const Digest& plugin) {
  return session.directory / "plugins" / plugin.hex();
}

} // namespace

Result<std::vector<lower::PluginUse>> open_plugins(const std::vector<fs::path>& files) {
  std::vector<lower::PluginUse> plugins;
  for (const fs::path& file : files) {
    Result<lower::PassPlugin> plugin = lower::open_plugin(file);
    if (!plugin) {
      std::string why = plugin.error().message;
      if (const size_t at = why.find(file.string()); at != std::string::npos)
        why.replace(at, file.string().size(), file.filename().string());
      return make_error(plugin.error().kind, why);
    }
    plugins.push_back({*std::move(plugin), {}});
  }
  return plugins;
}

void take_options(std::vector<std::string>& options, std::vector<lower::PluginUse>& plugins) {
  std::erase_if(options, [&](const std::string& argument) {
    const std::string option = without_dashes(argument);
    const auto owner = std::find_if(plugins.begin(), plugins.end(),
                                    [&](const lower::PluginUse& use) { return use.plugin.adds(option); });
    if (owner == plugins.end())
      return false;
    owner->options.push_back(option);
    return true;
  });
}

Result<std::vector<lower::PluginUse>> take_plugins(clang::CompilerInvocation& invocation) {
  std::vector<std::string>& files = invocation.getCodeGenOpts().PassPlugins;
  XAAS_TRY(std::vector<lower::PluginUse> plugins, open_plugins({files.begin(), files.end()}));
  clang::FrontendOptions& options = invocation.getFrontendOpts();
  std::erase_if(options.Plugins, [&](const std::string& file) {
    std::error_code code;
    return std::any_of(plugins.begin(), plugins.end(), [&](const lower::PluginUse& use) {
      return fs::equivalent(use.plugin.file, file, code);
    });
  });
  take_options(options.LLVMArgs, plugins);
  files.clear();
  return plugins;
}

std::vector<ir::AskedPlugin> asked_plugins(const std::vector<lower::PluginUse>& plugins) {
  std::vector<ir::AskedPlugin> asked;
  for (const lower::PluginUse& use : plugins)
    asked.push_back({use.plugin.name, use.plugin.version, use.plugin.digest, use.options});
  return asked;
}

Result<void> remember_plugins(const session::Session& session, const std::vector<lower::PluginUse>& plugins) {
  for (const lower::PluginUse& use : plugins) {
    const fs::path place = place_of(session, use.plugin.digest);
    XAAS_CHECK(make_directories(place.parent_path()));
    XAAS_CHECK(write_file(place, use.plugin.file.string(), 0644, false));
  }
  return {};
}

Result<std::vector<lower::PluginUse>> remembered_plugins(const session::Session& session,
                                                         const std::vector<ir::AskedPlugin>& asked) {
  std::vector<lower::PluginUse> plugins;
  for (const ir::AskedPlugin& each : asked) {
    XAAS_TRY(const std::string file, read_file(place_of(session, each.digest)));
    XAAS_TRY(lower::PassPlugin plugin, lower::open_plugin(file));
    if (plugin.digest != each.digest)
      return make_error(ErrorKind::failed, "pass plugin " + file + " has changed during the build");
    plugins.push_back({std::move(plugin), each.options});
  }
  return plugins;
}

} // namespace xaas::frontdoor
