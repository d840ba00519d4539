// Pass plugins: libraries that add passes of their own to LLVM's pipelines, as with Clang's -fpass-plugin.
//
// Source: llvm/Plugins/PassPlugin.h.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::lower {

struct PassPlugin {
  fs::path file;                     // absolute, without links
  Digest digest;                     // of the file
  std::string name, version;         // as the plugin reports them
  std::vector<std::string> options;  // names of the LLVM options that it adds, sorted
  std::vector<fs::path> libraries;   // files that the dynamic loader may open for it
  std::optional<Digest> others = {}; // of the contents of those that this program does not have itself
  bool adds(const std::string& option) const; // "name" or "name=value"
};

// A plugin that runs on a module, with options of its own ("name" or "name=value").
struct PluginUse {
  PassPlugin plugin;
  std::vector<std::string> options;
};

extern const char* const fault_of_plugin;   // whose fault a crash is, for messages
constexpr double longest_plugin_start = 60; // CPU seconds

// Checks a plugin, and loads it in a confined worker, which can open only the plugin and its libraries.
// not_found: there is no such file. unsatisfied: it is no library for this machine, brings an LLVM of its
// own, is for another LLVM, or lacks a library. failed: it crashed, or took longer than `cpu_seconds`.
// Messages name the file. Must be called from a process with one thread.
Result<PassPlugin> open_plugin(const fs::path& file, double cpu_seconds = longest_plugin_start);

// For the process in which they run: loads the plugins, for good. unsatisfied: the dynamic loader refuses
// one. failed: its file is another one than when it was opened. Loading one again is no error.
Result<void> load_plugins(const std::vector<PluginUse>& plugins);

// Sets their options for the next module; those that are not set have their defaults. Values may come from an
// image, so the process must be confined by now. unsatisfied: a plugin does not add an option, or refuses the
// value.
Result<void> set_plugin_options(const std::vector<PluginUse>& plugins);

// "NAME VERSION", for messages.
std::string to_string(const PassPlugin& plugin);

} // namespace xaas::lower
