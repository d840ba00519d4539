#include <xaas/base/text.h>
#include <xaas/deploy/plugins.h>

#include <algorithm>
#include <utility>

namespace xaas::deploy {

namespace {

std::string name_of(const std::string& option) {
  return option.substr(0, option.find('='));
}

std::string described(const std::string& name, const std::string& version, const Digest& digest) {
  return name + (version.empty() ? "" : " " + version) + " (" + digest.to_string() + ")";
}
std::string described(const ir::AskedPlugin& plugin) {
  return described(plugin.name, plugin.version, plugin.digest);
}
std::string described(const lower::PassPlugin& plugin) {
  return described(plugin.name, plugin.version, plugin.digest);
}

class Chooser {
public:
  Chooser(const image::Bundle& bundle, const PluginRequest& request)
      : bundle_(bundle), request_(request), by_units_(request.given.size(), 0),
        by_links_(request.given.size(), 0) {}

  Result<PluginChoice> choose(const image::Usage& usage) {
    XAAS_CHECK(check_given());
    XAAS_CHECK(check_options());
    for (const Digest& id : usage.units) {
      const ir::Unit& unit = bundle_.units.at(id);
      XAAS_CHECK(take_asked(unit.source, unit.plugins, by_units_, choice_.units[id]));
    }
    for (const Digest& digest : usage.links) {
      const link::LinkRecord& record = bundle_.links.at(digest);
      XAAS_CHECK(take_asked("the link of " + record.name, record.plugins, by_links_, choice_.links[digest]));
    }
    for (size_t i = 0; i < request_.given.size(); ++i)
      XAAS_CHECK(use(i, usage.units));
    const auto is_empty = [](const auto& entry) { return entry.second.empty(); };
    std::erase_if(choice_.units, is_empty);
    std::erase_if(choice_.links, is_empty);
    return std::move(choice_);
  }

private:
  Result<void> check_given() const {
    std::set<Digest> seen;
    for (const lower::PassPlugin& plugin : request_.given)
      if (!seen.insert(plugin.digest).second)
        return make_error(ErrorKind::usage, "--pass-plugin " + plugin.file.string() + ": it is given twice");
    return {};
  }

  Result<void> check_options() const {
    for (const std::string& option : request_.options)
      if (std::none_of(request_.given.begin(), request_.given.end(),
                       [&](const lower::PassPlugin& plugin) { return plugin.adds(option); }))
        return make_error(ErrorKind::usage, "--plugin-option " + option + ": no plugin adds this option",
                          added_options());
    return {};
  }

  std::string added_options() const {
    std::vector<std::string> all;
    for (const lower::PassPlugin& plugin : request_.given)
      all.insert(all.end(), plugin.options.begin(), plugin.options.end());
    return all.empty() ? "the plugins add none" : "the plugins add " + join(all, ", ");
  }

  // Values that the user sets.
  std::vector<std::string> given_options(const lower::PassPlugin& plugin) const {
    std::vector<std::string> options;
    for (const std::string& option : request_.options)
      if (plugin.adds(option) && option.find('=') != std::string::npos)
        options.push_back(option);
    return options;
  }

  // `who` asks for these plugins, and `uses` receives them. A plugin that it names twice runs twice, with the
  // same options.
  Result<void> take_asked(const std::string& who, const std::vector<ir::AskedPlugin>& plugins,
                          std::vector<uint64_t>& counts, std::vector<lower::PluginUse>& uses) const {
    for (const ir::AskedPlugin& asked : plugins) {
      XAAS_TRY(const size_t index, find(who, asked));
      const lower::PassPlugin& plugin = request_.given[index];
      const bool again = std::any_of(uses.begin(), uses.end(), [&](const lower::PluginUse& use) {
        return use.plugin.digest == plugin.digest;
      });
      counts[index] += !again;
      std::vector<std::string> options = again ? std::vector<std::string>() : given_options(plugin);
      for (const std::string& option : asked.options) {
        XAAS_TRY(const bool given, check_allowed(who, plugin, option));
        if (!given)
          options.push_back(option);
      }
      uses.push_back({plugin, std::move(options)});
    }
    return {};
  }

  Result<size_t> find(const std::string& who, const ir::AskedPlugin& asked) const {
    const auto index_of = [&](const auto& is_it) {
      return static_cast<size_t>(std::find_if(request_.given.begin(), request_.given.end(), is_it) -
                                 request_.given.begin());
    };
    const size_t same =
        index_of([&](const lower::PassPlugin& plugin) { return plugin.digest == asked.digest; });
    if (same < request_.given.size())
      return same;
    const size_t other = index_of([&](const lower::PassPlugin& plugin) { return plugin.name == asked.name; });
    if (other < request_.given.size() && request_.any_build)
      return other;
    const std::string what = who + " asks for the pass plugin " + described(asked);
    if (other < request_.given.size())
      return make_error(ErrorKind::unsatisfied,
                        what + "; " + request_.given[other].file.string() + " is " +
                            described(request_.given[other]),
                        "--any-plugin-build takes another build of a plugin");
    return make_error(ErrorKind::unsatisfied, what, "give the plugin with --pass-plugin FILE");
  }

  // Whether the user's own value replaces that of the unit.
  Result<bool> check_allowed(const std::string& who, const lower::PassPlugin& plugin,
                             const std::string& option) const {
    const auto allows = [&](const std::string& each) { return name_of(each) == name_of(option); };
    if (std::none_of(request_.options.begin(), request_.options.end(), allows))
      return make_error(ErrorKind::unsatisfied,
                        who + " sets the option -" + option + " of the pass plugin " + plugin.name,
                        "--plugin-option " + name_of(option) + " allows it");
    if (!plugin.adds(option))
      return make_error(ErrorKind::unsatisfied, who + " sets the option -" + option +
                                                    ", which the pass plugin " + plugin.name +
                                                    " does not add");
    return std::any_of(request_.options.begin(), request_.options.end(), [&](const std::string& each) {
      return allows(each) && each.find('=') != std::string::npos;
    });
  }

  // Lists a plugin as used, and takes one that nothing asks for on all units.
  Result<void> use(size_t index, const std::set<Digest>& units) {
    const lower::PassPlugin& plugin = request_.given[index];
    const bool for_all = by_units_[index] == 0 && by_links_[index] == 0;
    choice_.used.push_back({plugin.name, plugin.version, plugin.digest, for_all,
                            for_all ? units.size() : by_units_[index], by_links_[index],
                            given_options(plugin), plugin.others});
    if (!for_all)
      return {};
    if (!request_.for_all)
      return make_error(ErrorKind::usage,
                        plugin.file.string() + ": nothing in this configuration asks for the pass plugin " +
                            described(plugin),
                        "--for all runs it on all of the application's IR");
    for (const Digest& id : units)
      choice_.units[id].push_back({plugin, given_options(plugin)});
    return {};
  }

  const image::Bundle& bundle_;
  const PluginRequest& request_;
  std::vector<uint64_t> by_units_, by_links_; // how many ask for each of the given plugins
  PluginChoice choice_;
};

} // namespace

std::string PluginChoice::key(const Digest& unit) const {
  std::string key;
  for (const lower::PluginUse& use : of(unit))
    key += " plugin " + use.plugin.digest.to_string() +
           (use.plugin.others ? " with " + use.plugin.others->to_string() : "") + " " +
           Json(use.options).dump();
  return key;
}

const std::vector<lower::PluginUse>& PluginChoice::of(const Digest& unit) const {
  static const std::vector<lower::PluginUse> none;
  const auto found = units.find(unit);
  return found == units.end() ? none : found->second;
}

Result<PluginChoice> choose_plugins(const image::Bundle& bundle, const image::Usage& usage,
                                    const PluginRequest& request) {
  return Chooser(bundle, request).choose(usage);
}

} // namespace xaas::deploy
