// Plugins in the process that lowers.
#pragma once

#include <xaas/lower/plugins.h>

#include <string>
#include <vector>

namespace xaas::lower {

inline constexpr const char* fault_of_plugin = "this is probably a fault of the plugin"; // a crash

// Loads the plugins, and sets their options, for good: the process is a worker, or a compiler that runs once.
// unsatisfied: the dynamic loader refuses one, or it does not add an option. Loading one again is no error.
Result<void> load_plugins(const std::vector<PluginUse>& plugins);

} // namespace xaas::lower
