// Pass plugins of a compile (-fpass-plugin) or a link (--load-pass-plugin), and with them the -mllvm options
// that they add.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/lower/plugins.h>
#include <xaas/session/session.h>

#include <vector>

namespace clang {
class CompilerInvocation;
}

namespace xaas::frontdoor {

// The plugins of an invocation, which then has them no longer, nor their options, nor -fplugin for one of
// them (which Clang needs for these options). Errors as for open_plugins().
Result<std::vector<lower::PluginUse>> take_plugins(clang::CompilerInvocation& invocation);

// The message of an error says why a plugin cannot be used, without paths.
Result<std::vector<lower::PluginUse>> open_plugins(const std::vector<fs::path>& files);

// Moves the options ("name", "name=value") that a plugin adds to their plugin; dashes before them are
// dropped.
void take_options(std::vector<std::string>& options, std::vector<lower::PluginUse>& plugins);

std::vector<ir::AskedPlugin> asked_plugins(const std::vector<lower::PluginUse>& plugins);

// Keeps their places in the session, and finds them again for a working object or link.
Result<void> remember_plugins(const session::Session& session, const std::vector<lower::PluginUse>& plugins);
Result<std::vector<lower::PluginUse>> remembered_plugins(const session::Session& session,
                                                         const std::vector<ir::AskedPlugin>& asked);

} // namespace xaas::frontdoor
