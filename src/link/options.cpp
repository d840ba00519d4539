#include "options.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

namespace xaas::link {
namespace {

// The `-z` keywords that lld understands; it ignores others.
constexpr std::string_view z_values =
    "bti-report=warning|bti-report=error|bti-report=none|cet-report=none|cet-report=warning|cet-report=error|"
    "combreloc|nocombreloc|common-page-size=|copyreloc|nocopyreloc|defs|undefs|execstack|noexecstack|force-"
    "bti|"
    "force-ibt|gcs=implicit|gcs=always|gcs=never|global|hazardplt|ifunc-noplt|initfirst|interpose|"
    "keep-data-section-prefix|nokeep-data-section-prefix|keep-text-section-prefix|nokeep-text-section-prefix|"
    "lazy|"
    "now|max-page-size=|muldefs|nodefaultlib|nodelete|nodlopen|nognustack|origin|pac-plt|pack-relative-"
    "relocs|"
    "nopack-relative-relocs|rel|rela|relro|norelro|retpolineplt|rodynamic|separate-code|noseparate-code|"
    "separate-loadable-segments|shstk|stack-size=|start-stop-gc|nostart-stop-gc|start-stop-visibility="
    "default|"
    "start-stop-visibility=internal|start-stop-visibility=hidden|start-stop-visibility=protected|text|notext|"
    "wxneeded|nobtcfi";

const std::vector<Option>& table() {
  using enum Option::Value;
  using enum Option::Use;
  using SymbolEffect::assigns;
  using SymbolEffect::defines;
  using SymbolEffect::exports;
  static const std::vector<Option> options = {
      // The kind of output.
      {"shared", none, parsed, ""},
      {"relocatable", none, parsed, ""},
      {"output", required, parsed, ""},
      {"pie", none, keep, ""},
      {"no-pie", none, keep, ""},
      {"m", required, keep, "elf_x86_64|aarch64linux|aarch64elf|elf64-littleaarch64"},
      {"oformat", required, parsed, ""},
      {"format", required, parsed, ""},
      // Where inputs are found, and how they are used.
      {"library-path", required, parsed, ""},
      {"library", required, parsed, ""},
      {"sysroot", required, parsed, ""},
      {"as-needed", none, keep, ""},
      {"no-as-needed", none, keep, ""},
      {"whole-archive", none, keep, ""},
      {"no-whole-archive", none, keep, ""},
      {"Bstatic", none, keep, ""},
      {"Bdynamic", none, keep, ""},
      {"push-state", none, keep, ""},
      {"pop-state", none, keep, ""},
      {"start-group", none, keep, ""},
      {"end-group", none, keep, ""},
      {"start-lib", none, keep, ""},
      {"end-lib", none, keep, ""},
      {"exclude-libs", required, keep, ""},
      {"just-symbols", required, file, "", defines},
      {"rpath-link", required, drop, ""},
      {"nostdlib", none, drop, ""},
      {"Y", required, drop, ""},
      {"add-needed", none, drop, ""},
      {"no-add-needed", none, drop, ""},
      {"copy-dt-needed-entries", none, drop, ""},
      {"no-copy-dt-needed-entries", none, drop, ""},
      {"dependent-libraries", none, drop, ""},
      {"no-dependent-libraries", none, drop, ""},
      // Symbols.
      {"entry", required, keep, ""},
      {"undefined", required, keep, ""},
      {"undefined-glob", required, keep, ""},
      {"init", required, keep, ""},
      {"fini", required, keep, ""},
      {"defsym", required, keep, "", assigns},
      {"wrap", required, keep, ""},
      {"export-dynamic", none, keep, "", exports},
      {"no-export-dynamic", none, keep, ""},
      {"export-dynamic-symbol", required, keep, "", exports},
      {"export-dynamic-symbol-list", required, file, "", exports},
      {"dynamic-list", required, file, "", exports},
      {"version-script", required, file, "", exports},
      {"undefined-version", none, keep, ""},
      {"no-undefined-version", none, keep, ""},
      {"retain-symbols-file", required, file, ""},
      {"Bsymbolic", none, keep, ""},
      {"Bno-symbolic", none, keep, ""},
      {"Bsymbolic-functions", none, keep, ""},
      {"Bsymbolic-non-weak", none, keep, ""},
      {"Bsymbolic-non-weak-functions", none, keep, ""},
      {"no-undefined", none, keep, ""},
      {"allow-shlib-undefined", none, keep, ""},
      {"no-allow-shlib-undefined", none, keep, ""},
      {"allow-multiple-definition", none, keep, ""},
      {"no-allow-multiple-definition", none, keep, ""},
      {"unresolved-symbols", required, keep,
       "ignore-all|report-all|ignore-in-object-files|ignore-in-shared-libs"},
      {"error-unresolved-symbols", none, keep, ""},
      {"warn-unresolved-symbols", none, keep, ""},
      {"noinhibit-exec", none, keep, ""},
      {"fortran-common", none, keep, ""},
      {"no-fortran-common", none, keep, ""},
      {"gnu-unique", none, keep, ""},
      {"no-gnu-unique", none, keep, ""},
      {"strip-all", none, keep, ""},
      {"strip-debug", none, keep, ""},
      {"discard-all", none, keep, ""},
      {"discard-locals", none, keep, ""},
      {"discard-none", none, keep, ""},
      // For the loader.
      {"soname", required, keep, ""},
      {"rpath", required, keep, ""},
      {"enable-new-dtags", none, keep, ""},
      {"disable-new-dtags", none, keep, ""},
      {"dynamic-linker", required, keep, ""},
      {"no-dynamic-linker", none, keep, ""},
      {"auxiliary", required, keep, ""},
      {"filter", required, keep, ""},
      {"hash-style", required, keep, "sysv|gnu|both"},
      {"build-id", optional, keep, "none|fast|md5|sha1|tree|0x"},
      {"package-metadata", required, keep, ""},
      {"pack-dyn-relocs", required, keep, "none|relr|android|android+relr"},
      {"apply-dynamic-relocs", none, keep, ""},
      {"no-apply-dynamic-relocs", none, keep, ""},
      {"z", required, keep, z_values},
      // Sections and layout.
      {"script", required, file, "", defines},
      {"default-script", required, file, "", defines},
      {"symbol-ordering-file", required, file, ""},
      {"call-graph-ordering-file", required, file, ""},
      {"call-graph-profile-sort", required, keep, "none|hfsort|cdsort"},
      {"gc-sections", none, keep, ""},
      {"no-gc-sections", none, keep, ""},
      {"icf", required, keep, "all|none|safe"},
      {"keep-unique", required, keep, ""},
      {"ignore-data-address-equality", none, keep, ""},
      {"ignore-function-address-equality", none, keep, ""},
      {"eh-frame-hdr", none, keep, ""},
      {"no-eh-frame-hdr", none, keep, ""},
      {"emit-relocs", none, keep, ""},
      {"force-group-allocation", none, keep, ""},
      {"unique", none, keep, ""},
      {"image-base", required, keep, "#"},
      {"section-start", required, keep, ""},
      {"Ttext", required, keep, "#"},
      {"Tdata", required, keep, "#"},
      {"Tbss", required, keep, "#"},
      {"sort-section", required, keep, "name|alignment|none"},
      {"orphan-handling", required, keep, "place|warn|error"},
      {"enable-non-contiguous-regions", none, keep, ""},
      {"check-sections", none, keep, ""},
      {"no-check-sections", none, keep, ""},
      {"nmagic", none, keep, ""},
      {"no-nmagic", none, keep, ""},
      {"omagic", none, keep, ""},
      {"no-omagic", none, keep, ""},
      {"rosegment", none, keep, ""},
      {"no-rosegment", none, keep, ""},
      {"xosegment", none, keep, ""},
      {"no-xosegment", none, keep, ""},
      {"execute-only", none, keep, ""},
      {"no-execute-only", none, keep, ""},
      {"compress-debug-sections", required, keep, "none|zlib|zstd"},
      {"compress-sections", required, keep, ""},
      {"gdb-index", none, keep, ""},
      {"no-gdb-index", none, keep, ""},
      {"debug-names", none, keep, ""},
      {"no-debug-names", none, keep, ""},
      {"O", required, keep, "#"},
      {"relax", none, keep, ""},
      {"no-relax", none, keep, ""},
      {"branch-to-branch", none, keep, ""},
      {"no-branch-to-branch", none, keep, ""},
      {"fix-cortex-a53-843419", none, keep, ""},
      {"pic-veneer", none, keep, ""},
      // Messages.
      {"fatal-warnings", none, keep, ""},
      {"no-fatal-warnings", none, keep, ""},
      {"no-warnings", none, keep, ""},
      {"no-warn-mismatch", none, keep, ""},
      {"color-diagnostics", optional, drop, ""},
      {"no-color-diagnostics", none, drop, ""},
      {"demangle", optional, drop, ""},
      {"no-demangle", none, drop, ""},
      {"error-limit", required, drop, ""},
      {"verbose", optional, drop, ""},
      {"trace", none, drop, ""},
      {"trace-symbol", required, drop, ""},
      {"print-map", none, drop, ""},
      {"cref", none, drop, ""},
      {"stats", none, drop, ""},
      {"print-gc-sections", optional, drop, ""},
      {"no-print-gc-sections", none, drop, ""},
      {"print-icf-sections", none, drop, ""},
      {"no-print-icf-sections", none, drop, ""},
      {"print-memory-usage", none, drop, ""},
      {"warn-backrefs-exclude", required, drop, ""},
      {"why-live", required, drop, ""},
      {"vs-diagnostics", none, drop, ""},
      {"Map", required, writes, ""},
      {"dependency-file", required, writes, ""},
      {"reproduce", required, writes, ""},
      {"why-extract", required, writes, ""},
      {"print-archive-stats", required, writes, ""},
      {"print-symbol-order", required, writes, ""},
      {"time-trace", optional, writes, ""},
      {"time-trace-granularity", required, drop, ""},
      // How the linker works, and options without effect in lld or GNU ld.
      {"threads", optional, drop, ""},
      {"no-threads", none, drop, ""},
      {"thread-count", required, drop, ""},
      {"mmap-output-file", none, drop, ""},
      {"no-mmap-output-file", none, drop, ""},
      {"map-whole-files", none, drop, ""},
      {"no-map-whole-files", none, drop, ""},
      {"keep-memory", none, drop, ""},
      {"no-keep-memory", none, drop, ""},
      {"reduce-memory-overheads", none, drop, ""},
      {"hash-size", required, drop, ""},
      {"rsp-quoting", required, drop, ""},
      {"ctors-in-init-array", none, drop, ""},
      {"no-ctors-in-init-array", none, drop, ""},
      {"sort-common", optional, drop, ""},
      {"long-plt", none, drop, ""},
      {"secure-plt", none, drop, ""},
      {"ld-generated-unwind-info", none, drop, ""},
      {"no-ld-generated-unwind-info", none, drop, ""},
      {"enable-linker-version", none, drop, ""},
      {"disable-linker-version", none, drop, ""},
      {"detect-odr-violations", none, drop, ""},
      {"fix-cortex-a53-835769", none, drop, ""},
      {"pipeline-knowledge", none, drop, ""},
      {"no-pipeline-knowledge", none, drop, ""},
      {"spare-dynamic-tags", required, drop, ""},
      {"EL", none, drop, ""},
      {"g", none, drop, ""},
      {"d", none, drop, ""},
      {"dc", none, drop, ""},
      {"dp", none, drop, ""},
      {"Qy", none, drop, ""},
      // Link-time optimization, which does not apply: our inputs are machine code.
      {"plugin", required, parsed, ""},
      {"plugin-opt", required, drop, ""},
      {"save-temps", optional, drop, ""},
      {"lto", required, drop, ""},
      {"fat-lto-objects", none, drop, ""},
      {"no-fat-lto-objects", none, drop, ""},
      {"optimize-bb-jumps", none, drop, ""},
      {"no-optimize-bb-jumps", none, drop, ""},
      {"opt-remarks-filename", required, writes, ""},
      {"opt-remarks-format", required, drop, ""},
      {"opt-remarks-passes", required, drop, ""},
      {"opt-remarks-hotness-threshold", required, drop, ""},
      {"opt-remarks-with-hotness", none, drop, ""},
      // Pass plugins, which the record names.
      {"load-pass-plugin", required, parsed, ""},
      {"mllvm", required, parsed, ""},
      // Refused by name.
      {"error-handling-script", required, refused, ""},
      {"chroot", required, refused, ""},
      {"remap-inputs", required, refused, ""},
      {"remap-inputs-file", required, refused, ""},
      {"in-implib", required, refused, ""},
      {"out-implib", required, refused, ""},
      {"shuffle-sections", required, refused, ""},
      {"randomize-section-padding", required, refused, ""},
      {"thinlto-distributor", required, refused, ""},
      {"thinlto-remote-compiler", required, refused, ""},
  };
  return options;
}

const std::map<std::string_view, std::string_view>& aliases() {
  static const std::map<std::string_view, std::string_view> names = {
      {"(", "start-group"},
      {")", "end-group"},
      {"Bshareable", "shared"},
      {"E", "export-dynamic"},
      {"F", "filter"},
      {"I", "dynamic-linker"},
      {"L", "library-path"},
      {"M", "print-map"},
      {"N", "omagic"},
      {"R", "rpath"},
      {"S", "strip-debug"},
      {"T", "script"},
      {"V", "verbose"},
      {"X", "discard-locals"},
      {"b", "format"},
      {"call_shared", "Bdynamic"},
      {"dT", "default-script"},
      {"dn", "Bstatic"},
      {"dy", "Bdynamic"},
      {"e", "entry"},
      {"f", "auxiliary"},
      {"h", "soname"},
      {"l", "library"},
      {"n", "nmagic"},
      {"no-pic-executable", "no-pie"},
      {"non_shared", "Bstatic"},
      {"o", "output"},
      {"pic-executable", "pie"},
      {"q", "emit-relocs"},
      {"r", "relocatable"},
      {"s", "strip-all"},
      {"static", "Bstatic"},
      {"t", "trace"},
      {"u", "undefined"},
      {"v", "verbose"},
      {"w", "no-warnings"},
      {"x", "discard-all"},
      {"y", "trace-symbol"},
  };
  return names;
}

bool is_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex)
    text.remove_prefix(2);
  // GNU ld reads addresses as hexadecimal, with or without the prefix.
  return !text.empty() && text.size() <= 16 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

} // namespace

const Option* find_option(std::string_view name) {
  static const std::map<std::string_view, const Option*> by_name = [] {
    std::map<std::string_view, const Option*> map;
    for (const Option& option : table())
      map[option.name] = &option;
    return map;
  }();
  static constexpr Option warning{"warn", Option::Value::none, Option::Use::drop, ""};
  static constexpr Option lto_option{"lto-option", Option::Value::optional, Option::Use::drop, ""};
  if (const auto alias = aliases().find(name); alias != aliases().end())
    name = alias->second;
  if (const auto found = by_name.find(name); found != by_name.end())
    return found->second;
  if (name.starts_with("warn-") || name.starts_with("no-warn-"))
    return &warning;
  if (name.starts_with("lto-") || name.starts_with("thinlto-") || name.starts_with("plugin-opt"))
    return &lto_option;
  return nullptr;
}

const Option* find_record_option(std::string_view option) {
  const size_t dashes = option.starts_with("--") ? 2 : 1;
  if (!option.starts_with("-"))
    return nullptr;
  const Option* found = find_option(option.substr(dashes));
  if (!found || (found->use != Option::Use::keep && found->use != Option::Use::file) ||
      canonical(*found) != option)
    return nullptr;
  return found;
}

std::string canonical(const Option& option) {
  return (option.name.size() == 1 ? "-" : "--") + std::string(option.name);
}

bool valid_value(const Option& option, std::string_view value) {
  if (option.value == Option::Value::none)
    return value.empty();
  if (value.empty())
    return option.value == Option::Value::optional || option.values.empty();
  if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return false;
  if (option.values.empty())
    return true;
  if (option.values == "#")
    return is_number(value);
  for (const std::string& allowed : split(option.values, '|')) {
    if (value == allowed)
      return true;
    if ((allowed.ends_with("=") || allowed == "0x") && value.starts_with(allowed) &&
        is_number(allowed == "0x" ? "0" : value.substr(allowed.size())))
      return allowed != "0x" ||
             value.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
  }
  return false;
}

SymbolEffect symbol_effect(const LinkItem& item) {
  const Option* const option = item.kind == LinkItem::Kind::input ? nullptr : find_record_option(item.option);
  return option ? option->symbols : SymbolEffect::none;
}

} // namespace xaas::link
