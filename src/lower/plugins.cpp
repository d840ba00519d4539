// Problem: a plugin is code of somebody else that runs among our own, and shares LLVM's state with it. A
// plugin that brings a second LLVM hangs or corrupts memory, and one for another version of LLVM reads our
// structures wrongly.
//
// Example: what becomes of some libraries.
//
//     needs libLLVM.so.22.1, as -lLLVM makes it       refused: relink without it
//     takes LLVM's functions from the program         loaded
//     takes one that this LLVM does not have          refused, with the function's name
//     reports another version of the plugin interface refused, with both numbers
//
// Approach: this program exports the LLVM that it contains, as `clang` and `opt` do. What can be read from
// the file is checked before anything of it runs. Then a worker loads it that can open only the plugin and
// the libraries that it names. Constructors run there, and later in each worker that lowers a module with it,
// never in this process.
//
// Rejected: a libLLVM of our own beside the program, which would be a second name for what packagers split in
// other ways and cost each start; running plugins in `opt` or `clang` of the machine, which it need not have.

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/base/worker.h>
#include <xaas/loader/dynamic.h>
#include <xaas/loader/loading.h>
#include <xaas/lower/plugins.h>
#include <xaas/target/cpu.h>

#include <llvm/Config/llvm-config.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <set>
#include <utility>

namespace xaas::lower {

namespace {

constexpr const char* relink_hint =
    "link its objects without LLVM's libraries: it takes LLVM's functions from the program that loads it";

constexpr const char* search_cache = "/etc/ld.so.cache"; // of the dynamic loader

Error refused(const std::string& why, const std::string& hint = {}) {
  return make_error(ErrorKind::unsatisfied, why, hint);
}

Result<void> check_needed(const std::string& library) {
  if (library.starts_with("libLLVM") || library.starts_with("libclang-cpp"))
    return refused("it needs " + library + ", and would bring a second LLVM into the process", relink_hint);
  return {};
}

// Checks of the file alone.
Result<void> check_file(const std::string& name, const std::string& bytes) {
  const std::string arch = target::host_cpu().arch;
  if (!loader::is_elf(bytes))
    return refused("it is not a library");
  if (!loader::is_elf_for(bytes, arch))
    return refused("it is not a library for " + arch);
  XAAS_TRY(const loader::Dynamic dynamic, loader::read_dynamic_in_worker(name, bytes));
  for (const std::string& library : dynamic.needed)
    XAAS_CHECK(check_needed(library));
  XAAS_TRY(const loader::Symbols symbols, loader::read_symbols_in_worker(name, bytes));
  if (!symbols.defined.contains("llvmGetPassPluginInfo"))
    return refused("it is not a pass plugin of LLVM: it does not define llvmGetPassPluginInfo");
  return {};
}

// The files that the dynamic loader opens for a plugin; those that this process has loaded are among them.
Result<std::vector<fs::path>> libraries_of(const fs::path& file) {
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  loader::Loader loader("/", target::host_cpu().arch, split(path ? path : "", ':'), true);
  XAAS_TRY(const loader::Library* const library, loader.read(file.string()));
  if (!library)
    return refused("it is not a library");
  loader::Start start;
  start.libraries = {library};
  XAAS_TRY(const loader::Loading loading, loader.load(start));
  if (!loading.missing.empty())
    return refused("it needs " + loading.missing.front().name + ", which this machine lacks");
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& object : loading.objects) {
    XAAS_CHECK(check_needed(fs::path(object->place).filename()));
    files.push_back(fs::canonical(object->place, code));
  }
  if (fs::exists(search_cache, code))
    files.emplace_back(search_cache);
  std::erase(files, fs::path());
  return files;
}

// The digest of the libraries that the plugin brings, which are a part of what it does; nothing if it has
// only those that this process has anyway.
Result<std::optional<Digest>> others_of(const fs::path& plugin, const std::vector<fs::path>& libraries) {
  std::string digests;
  for (const fs::path& library : libraries) {
    if (library == plugin || library == search_cache)
      continue;
    // The loader itself is known by its name alone.
    void* loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!loaded)
      loaded = dlopen(library.filename().c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (loaded) {
      dlclose(loaded);
      continue;
    }
    XAAS_TRY(const std::string bytes, read_file(library));
    digests += digest_of(bytes).to_string() + "\n";
  }
  return digests.empty() ? std::optional<Digest>() : digest_of(digests);
}

std::set<std::string> registered_options() {
  std::set<std::string> names;
  for (const auto& option : llvm::cl::getRegisteredOptions())
    names.insert(option.first.str());
  return names;
}

// "file: undefined symbol: _ZN4llvm5Value4dumpEv" becomes a sentence.
Error loader_error(std::string message, const fs::path& file) {
  constexpr std::string_view undefined = "undefined symbol: ";
  if (message.starts_with(file.string() + ": "))
    message.erase(0, file.string().size() + 2);
  const size_t at = message.find(undefined);
  if (at == std::string::npos)
    return refused("the dynamic loader refuses it: " + message);
  std::string symbol = message.substr(at + undefined.size());
  symbol.erase(std::min(symbol.size(), symbol.find_first_of(", \t\n")));
  return refused("it needs " + llvm::demangle(symbol) +
                 ", which LLVM " LLVM_VERSION_STRING " in this program does not have");
}

// Options that plugins have added to this process.
std::set<std::string>& added_options() {
  static std::set<std::string> names;
  return names;
}

Result<void> load_library(const fs::path& file) {
  const std::set<std::string> before = registered_options();
  // All of its symbols at once: otherwise, the first call of a missing function would end the process.
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL))
    return loader_error(dlerror(), file);
  for (const std::string& name : registered_options())
    if (!before.contains(name))
      added_options().insert(name);
  return {};
}

// As LLVM reads a command line.
Result<void> set_option(const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  const std::string value = name.size() == text.size() ? std::string() : text.substr(name.size() + 1);
  if (!added_options().contains(name))
    return refused("it adds no option -" + name);
  llvm::cl::Option* const option = llvm::cl::getRegisteredOptions().lookup(name);
  const bool is_list = (option->getMiscFlags() & llvm::cl::CommaSeparated) != 0;
  for (const std::string& each : is_list ? split(value, ',') : std::vector<std::string>{value})
    if (option->addOccurrence(0, option->ArgStr, each))
      return refused("option -" + name + ": '" + each + "' is not a value of it");
  return {};
}

// In a worker.
Result<std::string> ask_plugin(const fs::path& file) {
  XAAS_CHECK(load_library(file));
  llvm::Expected<llvm::PassPlugin> plugin = llvm::PassPlugin::Load(file.string());
  if (!plugin)
    return refused(llvm::toString(plugin.takeError()));
  const Json report = {{"name", plugin->getPluginName().str()},
                       {"version", plugin->getPluginVersion().str()},
                       {"options", added_options()}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

const char* const fault_of_plugin = "this is probably a fault of the plugin";

bool PassPlugin::adds(const std::string& option) const {
  return std::binary_search(options.begin(), options.end(), option.substr(0, option.find('=')));
}

std::string to_string(const PassPlugin& plugin) {
  return plugin.version.empty() ? plugin.name : plugin.name + " " + plugin.version;
}

Result<void> load_plugins(const std::vector<PluginUse>& plugins) {
  for (const PluginUse& use : plugins) {
    const std::string what = "pass plugin " + use.plugin.file.string();
    XAAS_CHECK(load_library(use.plugin.file).in(what));
    XAAS_TRY(const std::string bytes, read_file(use.plugin.file).in(what));
    if (digest_of(bytes) != use.plugin.digest)
      return make_error(ErrorKind::failed, what + ": the file has changed since it was opened");
  }
  return {};
}

Result<void> set_plugin_options(const std::vector<PluginUse>& plugins) {
  if (plugins.empty())
    return {};
  for (const std::string& name : added_options()) // an earlier job of this process may have set it
    llvm::cl::getRegisteredOptions().lookup(name)->reset();
  for (const PluginUse& use : plugins)
    for (const std::string& option : use.options)
      XAAS_CHECK(set_option(option).in("pass plugin " + use.plugin.file.string()));
  return {};
}

static Result<PassPlugin> open_checked(const fs::path& file, double cpu_seconds) {
  PassPlugin plugin;
  std::error_code code;
  plugin.file = fs::canonical(file, code);
  if (code)
    return errno_error(code.value(), "opening it");
  XAAS_TRY(const std::string bytes, read_file(plugin.file));
  plugin.digest = digest_of(bytes);
  XAAS_CHECK(check_file(plugin.file.string(), bytes));
  XAAS_TRY(plugin.libraries, libraries_of(plugin.file));
  XAAS_TRY(plugin.others, others_of(plugin.file, plugin.libraries));
  XAAS_TRY(const std::string answer,
           run_worker([&] { return ask_plugin(plugin.file); }, {.cpu_seconds = cpu_seconds,
                                                                .readable = plugin.libraries,
                                                                .name = "the process that loads it",
                                                                .fault = fault_of_plugin}));
  XAAS_TRY(const Json json, parse_json(answer, "what it reports", false, ErrorKind::failed));
  const JsonReader reader(json, "what it reports", ErrorKind::failed);
  XAAS_TRY(plugin.name, reader.string_at("name"));
  XAAS_TRY(plugin.version, reader.string_at("version"));
  XAAS_TRY(plugin.options, reader.strings_at("options"));
  if (plugin.name.empty())
    return refused("it reports no name");
  return plugin;
}

Result<PassPlugin> open_plugin(const fs::path& file, double cpu_seconds) {
  Result<PassPlugin> plugin = open_checked(file, cpu_seconds).in("pass plugin " + file.string());
  if (!plugin && plugin.error().kind == ErrorKind::unsatisfied && plugin.error().hint.empty())
    plugin.error().hint = "a plugin is built against LLVM " LLVM_VERSION_STRING
                          " for this machine, and without LLVM's own libraries";
  return plugin;
}

} // namespace xaas::lower
