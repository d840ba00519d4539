// Plugins in the process that lowers.
#pragma once

#include <xaas/lower/plugins.h>

#include <string>
#include <vector>

namespace xaas::lower {

inline constexpr const char* fault_of_plugin = "this is probably a fault of the plugin"; // a crash

// Loads the plugins, for good. unsatisfied: the dynamic loader refuses one. failed: its file is another one
// than when it was opened. Loading one again is no error.
Result<void> load_plugins(const std::vector<PluginUse>& plugins);

// Sets their options for the next module; those that are not set have their defaults. Values may come from an
// image, so the process must be confined by now. unsatisfied: a plugin does not add an option, or refuses the
// value.
Result<void> set_plugin_options(const std::vector<PluginUse>& plugins);

} // namespace xaas::lower
