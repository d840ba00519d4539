// Units: one translation unit of one configuration, as an IR module and everything needed to lower it.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::ir {

// The instruction set as the source's command line gave it. The target decides whatever it left open.
struct MachineFlags {
  std::string cpu;  // -march: "" if not given, "native", else the fixed CPU (LLVM's name)
  std::string tune; // -mtune, likewise
  std::vector<std::string>
      features; // from -m<feature> flags: "+avx2", "-sse4.1", in the order of Clang's driver
  bool operator==(const MachineFlags&) const = default;
};

// The code-generation, language and target options of a source invocation, as typed fields: names of Clang's
// own option tables (clang/Basic/CodeGenOptions.def, LangOptions.def) with integers, and an allow list of
// strings. Only values that differ from Clang's defaults are kept. There is never free argument text:
// `-fpass-plugin`, `-load` and `-mllvm` run code and access files.
struct UnitOptions {
  std::map<std::string, int64_t> codegen;
  std::map<std::string, int64_t> language;
  std::map<std::string, std::string> text;               // CodeModel, BBSections, FloatABI, triple, abi, ...
  std::map<std::string, std::vector<std::string>> lists; // NoBuiltinFuncs
  std::map<std::string, int64_t> gpu = {}; // of device code: names of gpu_options() (ir/options.h)
  bool operator==(const UnitOptions&) const = default;
  Digest digest() const;
};

// A pass plugin that a source's command line asks for (-fpass-plugin), or a link's (--load-pass-plugin).
// Images name plugins, and never bring them.
struct AskedPlugin {
  std::string name, version;        // as the plugin reports them
  Digest digest;                    // of its file
  std::vector<std::string> options; // LLVM options that it adds and the command sets: "name", "name=value"
  bool operator==(const AskedPlugin&) const = default;
};

// The CPU itself as a device, to which OpenMP can offload.
inline constexpr const char* host_device = "host";

// A source with device code becomes several units: one for the host, which names those for GPUs. Device code
// is compiled once for each architecture that the build names. Code that does not ask for its architecture
// gives the same IR for all.
struct Unit {
  std::string source; // path relative to the project; names local functions, so it is part of the unit
  Digest module;      // of the IR module in canonical form
  Digest options;     // of its UnitOptions
  MachineFlags machine;
  std::vector<Digest> libraries =
      {}; // of a unit for GPUs: bitcode of the link kit that it calls (CUDA's libdevice)
  std::map<std::string, Digest> device =
      {}; // of one for the host: the units for devices, by GPU architecture (LLVM's name, sm_90) or `host`
  // For the host: how a link gets the device code. Empty: it does not; the module has a place for the code
  // (ir/device_image.h). Otherwise the units' code for one device is linked on its own and registered at
  // start: "cuda" and "hip" (relocatable device code), "openmp" (target regions).
  std::string offload = {};
  // No -O option was written, so nothing is optimized. (With -O0, somebody wanted that.)
  bool unoptimized = false;
  // That run on the module, in this order. Such a module has no prepared form, because plugins add passes to
  // both halves of the optimizer.
  std::vector<AskedPlugin> plugins = {};
  // Of the link kit: counts that the project itself brings (-fprofile-use), in LLVM's indexed format. They
  // fit the module in Clang's own pipeline, after its first inlining.
  std::optional<Digest> profile = {};
  bool has_device_image() const { return !device.empty() && offload.empty(); }
  bool operator==(const Unit&) const = default;
  Digest id() const; // names the unit: of to_json(*this)
};

Json to_json(const MachineFlags& flags);
Json to_json(const std::vector<AskedPlugin>& plugins);
Json to_json(const UnitOptions& options);
Json to_json(const Unit& unit);
// Integrity error with JSON pointer: a wrong type, an unknown key, a feature without a sign.
Result<UnitOptions> parse_unit_options(const JsonReader& reader);
Result<Unit> parse_unit(const JsonReader& reader);
// Of the member `plugins` of a unit or a link, which may be absent.
Result<std::vector<AskedPlugin>> parse_asked_plugins(const JsonReader& reader);

} // namespace xaas::ir
