// Pass plugins in a deploy: which of them runs on which unit, and in which link.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/image/deployed.h>
#include <xaas/lower/plugins.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

// The plugins that the user gives, and what they may do.
struct PluginRequest {
  std::vector<lower::PassPlugin> given;
  bool any_build = false; // a plugin that the image names may be another build, with another digest
  bool for_all = false;   // plugins that no unit asks for run on all units
  // "name": units may set this option of a plugin. "name=value": it has this value for all units.
  std::vector<std::string> options;
};

struct PluginChoice {
  std::map<Digest, std::vector<lower::PluginUse>> units; // by unit; units without plugins are absent
  std::map<Digest, std::vector<lower::PluginUse>> links; // by link record, in the same way
  std::vector<image::UsedPlugin> used;                   // in the order in which they are given
  std::string key(const Digest& unit) const;             // for the object cache; empty: none
  const std::vector<lower::PluginUse>& of(const Digest& unit) const;
};

// Each of these units and links gets the plugins that it asks for, and each unit then those for all.
// Unsatisfied: a plugin is missing, is another build, or a unit or a link sets an option that is not allowed
// or that the plugin does not add. Usage error: nothing asks for a plugin that is given, or no plugin has an
// option. Messages name the source or the link, and the plugin.
Result<PluginChoice> choose_plugins(const image::Bundle& bundle, const image::Usage& usage,
                                    const PluginRequest& request);

} // namespace xaas::deploy
