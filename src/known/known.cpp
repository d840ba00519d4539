// Problem: a project is compiled once per configuration, and most of its files come out the same. The front
// end is most of the cost of a build, so a unit whose outcome is known must not be compiled again. But a
// wrong answer silently corrupts somebody's results.
//
// Example: four sources, built for x86-64 and then for x86-64-v3.
//
//     int twice(int a) { return 2 * a; }                            shared: found by its plain key
//     float widen(const _Float16 *a) { return *a; }                 compiled again: the word _Float16
//     __m128 zero(void) { return _mm_setzero_ps(); }                shared upward: an intrinsic
//     v8 twice8(v8 *a) { return *a + *a; }                          compiled again: v8 has 256 bits
//
// The plain key of `twice` covers its tokens with their places, its options, the source's name and the
// features that do more than add instructions. The exact key adds the CPU and all features. `widen` comes out
// equal all the same, and shares a module (ir/canonical.cpp); only the compile is not saved.
//
// Approach: an outcome is filed under everything that the front end reads (preprocess.cpp: tokens, places,
// pragmas; here: all options and the target). Flags like -mavx2 would keep the files of two configurations
// apart although few of them come out differently. So features that only add instructions are left out of the
// key of an outcome that has a witness: neither its tokens nor its syntax tree nor its IR have anything that
// makes Clang look at these features. What Clang 22 reads of them for x86-64, and the witness for each:
//
//   calling convention of vectors (TargetInfo::getABI)    none over 128 bits in the module, nor its alignment
//   default alignment for `omp simd aligned`              no such word in an OpenMP pragma
//   isa selectors (`declare variant`, `metadirective`)    no such word in an OpenMP pragma
//   _Float16 and __bf16 arithmetic                        no such word or number, none in the module
//   __builtin_ia32_* (exist or not)                       none that needs a feature, or upward
//   functions with a target attribute of their own        none in the module, or upward
//   width of inline atomics (cx16)                        below, else in the key
//   operands of inline assembly in vector registers       none in tokens and module
//   predefined macros, __has_builtin                      seen by the preprocessor: in the tokens
//
// Every C++ source that includes <memory> names builtins for atomics, so their words cannot be the witness.
// Operations wider than the inline ones are calls of libatomic (`__atomic_load`), which the module shows.
// Builtins that ask whether operations of a size are lock-free leave constants: the syntax tree has as many
// calls of them as the tokens have words, and none, instantiated or not, asks for a size that x86-64 does not
// always have (frontdoor/c/lock_free_queries.cpp).
//
// Intrinsics, and functions with a target attribute that adds features, look at features in one way only: it
// is an error if some are missing. What compiled with some features compiles with more of them, to the same
// canonical module. So an outcome with these, and with no vector over 128 bits in the module either (whose
// convention AVX changes), is filed upward, too: with its features, for all targets that have these.
//
// The working object of a plain outcome is made for the lowest level. That of an upward one is made for this
// level and the features that its module needs there (ir/needed_features.cpp). If these are not known, it is
// made for the level of the configuration, which decides, for instance, whether it has fused multiplications;
// it is then not filed upward.
//
// Clang's own headers of intrinsics may have these words: every function there has a target attribute, so one
// that is used shows in the module, and macros stand where they are used. <random> includes such headers.
//
// In a compile for a GPU, all features of the GPU stay in the key. The host is its auxiliary target, whose
// features only add instructions, too: they show in macros and builtins, because functions for the host are
// parsed but give no code. So its witness is the tokens alone.
//
// All other features (soft-float, retpoline, no SSE2) stay in the key. `xaas build --check-sharing` compiles
// in spite of a known outcome, and compares. On other architectures nothing is left out, because the features
// of AArch64 have not been examined in this way.
//
// Rejected: the digests of the files that a compile reads (a generated config.h differs between
// configurations); comparing IR after the compile, as canonical form does, because the compile is then
// already paid for.
#include "options.h"

#include <xaas/known/known.h>

#include <xaas/base/build_id.h>
#include <xaas/base/json.h>

#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/DependencyOutputOptions.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/PreprocessorOptions.h>

#include <algorithm>

namespace xaas::known {

namespace {

// Adds what options_of_meaning() leaves out of the host's CPU.
void add_auxiliary_target(Hasher& exact, const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& frontend = invocation.getFrontendOpts();
  exact.update_part(frontend.AuxTargetCPU.value_or(""));
  for (const std::string& feature : frontend.AuxTargetFeatures.value_or(std::vector<std::string>()))
    exact.update_part(feature);
}

constexpr uint64_t max_header = 1 << 20;

std::string packed(const KnownUnit& unit) {
  const Json header{{"plain", unit.plain},
                    {"reads_atomic_width", unit.reads_atomic_width},
                    {"upward", unit.upward},
                    {"features", unit.features},
                    {"working_features", unit.working_features ? Json(*unit.working_features) : Json()},
                    {"needs_optimization", unit.needs_optimization},
                    {"names_places", unit.names_places},
                    {"wants_device_image", unit.wants_device_image},
                    {"has_definitions", unit.has_definitions},
                    {"vector_returns", unit.vector_returns},
                    {"macros", unit.macros},
                    {"messages", unit.messages.size()},
                    {"bitcode", unit.bitcode.size()},
                    {"lesser", unit.lesser.size()},
                    {"object", unit.object.size()}};
  return header.dump() + "\n" + unit.messages + unit.bitcode + unit.lesser + unit.object;
}

std::optional<KnownUnit> unpacked(std::string_view value) {
  const size_t end = value.substr(0, max_header).find('\n');
  if (end == std::string_view::npos)
    return std::nullopt;
  const Result<Json> header = parse_json(std::string(value.substr(0, end)), "cache entry");
  if (!header)
    return std::nullopt;
  value.remove_prefix(end + 1);
  const JsonReader reader(*header, "cache entry");
  KnownUnit unit;
  for (const auto& [name, flag] :
       {std::pair{"plain", &unit.plain}, std::pair{"reads_atomic_width", &unit.reads_atomic_width},
        std::pair{"upward", &unit.upward}, std::pair{"needs_optimization", &unit.needs_optimization},
        std::pair{"names_places", &unit.names_places},
        std::pair{"wants_device_image", &unit.wants_device_image},
        std::pair{"has_definitions", &unit.has_definitions}}) {
    const Result<bool> read = reader.boolean_or(name, false);
    if (!read)
      return std::nullopt;
    *flag = *read;
  }
  Result<std::vector<std::string>> features = reader.strings_at("features");
  if (!features)
    return std::nullopt;
  unit.features = *std::move(features);
  if (!(*header)["working_features"].is_null()) {
    Result<std::vector<std::string>> working = reader.strings_at("working_features");
    if (!working)
      return std::nullopt;
    unit.working_features = *std::move(working);
  }
  Result<std::string> macros = reader.string_at("macros");
  if (!macros)
    return std::nullopt;
  unit.macros = *std::move(macros);
  const auto returns = header->find("vector_returns");
  if (returns == header->end() || !returns->is_number_unsigned())
    return std::nullopt;
  unit.vector_returns = returns->get<unsigned>();
  for (const auto& [name, part] : {std::pair{"messages", &unit.messages}, std::pair{"bitcode", &unit.bitcode},
                                   std::pair{"lesser", &unit.lesser}, std::pair{"object", &unit.object}}) {
    const auto size = header->find(name);
    if (size == header->end() || !size->is_number_unsigned() || size->get<uint64_t>() > value.size())
      return std::nullopt;
    part->assign(value.substr(0, size->get<uint64_t>()));
    value.remove_prefix(size->get<uint64_t>());
  }
  return value.empty() && !unit.bitcode.empty() ? std::optional(std::move(unit)) : std::nullopt;
}

} // namespace

store::Cache cache_of(const session::Session& session) {
  store::Cache cache = store::Cache::at(session.cache);
  if (!session.shared_cache.empty())
    cache.also_read(store::SharedCache::at(session.shared_cache, session.shared_cache_vouched));
  return cache;
}

// C++20 switches modules on; a source that uses one shows it in its tokens.
static bool reads_no_modules(const clang::CompilerInvocation& invocation) {
  const clang::LangOptions& language = invocation.getLangOpts();
  return (!language.Modules || language.CPlusPlusModules) &&
         !invocation.getHeaderSearchOpts().ImplicitModuleMaps &&
         invocation.getFrontendOpts().ModuleMapFiles.empty();
}

// False if a file lists functions to instrument or not to instrument, which tokens do not show.
static bool names_no_lists(const clang::LangOptions& options) {
  return options.NoSanitizeFiles.empty() && options.ProfileListFiles.empty() &&
         options.XRayAlwaysInstrumentFiles.empty() && options.XRayNeverInstrumentFiles.empty() &&
         options.XRayAttrListFiles.empty();
}

// Layouts are printed by a front end that runs.
static bool prints_no_layouts(const clang::LangOptions& options) {
  return !options.DumpRecordLayouts && !options.DumpRecordLayoutsSimple &&
         !options.DumpRecordLayoutsCanonical && !options.DumpRecordLayoutsComplete &&
         !options.DumpVTableLayouts;
}

// OpenMP's code for devices depends on the module for the host. The code for CUDA and HIP does not, and the
// host's module contains only the session's placeholder for it.
static bool offloads_by_tokens(const session::Session& session, const clang::CompilerInvocation& invocation) {
  const clang::LangOptions& language = invocation.getLangOpts();
  const std::string& image = invocation.getCodeGenOpts().CudaGpuBinaryFileName;
  return language.OMPTargetTriples.empty() && !language.OpenMPIsTargetDevice &&
         invocation.getCodeGenOpts().LinkBitcodeFiles.empty() &&
         (image.empty() || fs::path(image).parent_path() == session.directory);
}

bool may_be_known(const session::Session& session, const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& frontend = invocation.getFrontendOpts();
  const clang::PreprocessorOptions& preprocessor = invocation.getPreprocessorOpts();
  const clang::CodeGenOptions& codegen = invocation.getCodeGenOpts();
  const clang::DependencyOutputOptions& dependencies = invocation.getDependencyOutputOpts();
  return frontend.Inputs.size() == 1 && frontend.Inputs.front().isFile() && frontend.ModuleFiles.empty() &&
         frontend.TimeTracePath.empty() && !frontend.ShowStats && frontend.StatsFile.empty() &&
         preprocessor.ImplicitPCHInclude.empty() && preprocessor.ChainedIncludes.empty() &&
         preprocessor.RemappedFiles.empty() &&
         invocation.getDiagnosticOpts().DiagnosticSerializationFile.empty() &&
         invocation.getDiagnosticOpts().DiagnosticLogFile.empty() &&
         !invocation.getDiagnosticOpts().VerifyDiagnostics && codegen.OptRecordFile.empty() &&
         codegen.StackUsageOutput.empty() && !codegen.MacroDebugInfo && !dependencies.ShowHeaderIncludes &&
         dependencies.HeaderIncludeOutputFile.empty() && dependencies.DOTOutputFile.empty() &&
         reads_no_modules(invocation) && frontend.Plugins.empty() &&
         frontend.OverrideRecordLayoutsFile.empty() &&
         invocation.getDiagnosticOpts().DiagnosticSuppressionMappingsFile.empty() &&
         names_no_lists(invocation.getLangOpts()) && prints_no_layouts(invocation.getLangOpts()) &&
         offloads_by_tokens(session, invocation) &&
         invocation.getHeaderSearchOpts().PrebuiltModuleFiles.empty() &&
         invocation.getHeaderSearchOpts().PrebuiltModulePaths.empty();
}

Marks marks_of(const session::Session& session, const clang::CompilerInvocation& invocation,
               const ir::Unit& unit) {
  Hasher common;
  common.update_part("mark 1");
  common.update_part(build_id());
  common.update_part(unit.source);
  for (const std::string& option : options_of_meaning(session, invocation))
    common.update_part(option);
  Marks marks;
  marks.plain = common.finish();
  const clang::TargetOptions& target = invocation.getTargetOpts();
  Hasher exact;
  exact.update_part(marks.plain.to_string());
  exact.update_part(target.CPU);
  exact.update_part(target.TuneCPU);
  for (const std::string& feature : target.FeaturesAsWritten)
    exact.update_part(feature);
  add_auxiliary_target(exact, invocation);
  marks.exact = exact.finish();
  return marks;
}

bool may_be_found(const session::Session& session, const Marks& marks) {
  const store::Cache cache = cache_of(session);
  return cache.get(marks.plain) || cache.get(marks.exact);
}

Keys keys_of(const session::Session& session, const clang::CompilerInvocation& invocation,
             const ir::Unit& unit, const Preprocessed& preprocessed, const std::string& working_level) {
  Hasher common;
  common.update_part("capture 3");
  common.update_part(build_id()); // another build of this program may have another canonical form
  common.update_part(preprocessed.text.to_string());
  common.update_part(unit.source);
  common.update_number(session.strip_debug);
  for (const std::string& option : options_of_meaning(session, invocation))
    common.update_part(option);
  add_target(common, invocation, preprocessed.features);
  const clang::TargetOptions& target = invocation.getTargetOpts();
  Keys keys;
  keys.plain = common.finish();
  Hasher of_width;
  of_width.update_part(keys.plain.to_string());
  of_width.update_number(preprocessed.atomic_width);
  keys.of_width = of_width.finish();
  keys.features = preprocessed.features;
  if (is_for_x86(invocation) && (session.level.empty() || session.level == working_level)) {
    Hasher upward;
    upward.update_part(keys.plain.to_string());
    upward.update_part("upward");
    keys.upward = upward.finish();
  }

  Hasher exact;
  exact.update_part(keys.plain.to_string());
  exact.update_part(target.CPU);
  exact.update_part(target.TuneCPU);
  // The working object is made for these settings.
  exact.update_part(working_level);
  exact.update_part(session.level);
  exact.update_part(unit.machine.cpu);
  exact.update_part(unit.machine.tune);
  for (const std::vector<std::string>* list :
       {&preprocessed.features, &target.FeaturesAsWritten, &unit.machine.features}) {
    exact.update_number(list->size());
    for (const std::string& feature : *list)
      exact.update_part(feature);
  }
  add_auxiliary_target(exact, invocation);
  keys.exact = exact.finish();
  return keys;
}

static const Digest& plain_key(const Keys& keys, const KnownUnit& unit) {
  return unit.reads_atomic_width ? keys.of_width : keys.plain;
}

static std::vector<Digest> all_of(const Keys& keys) {
  std::vector<Digest> all = {keys.plain, keys.of_width, keys.exact};
  if (keys.upward)
    all.push_back(*keys.upward);
  return all;
}

// True if the outcome may be what was filed under the key, and holds for the compile that has the keys.
static bool holds(const KnownUnit& unit, const Keys& keys, const Digest& key) {
  if (unit.plain)
    return key == plain_key(keys, unit);
  return key == keys.exact || (unit.upward && key == keys.upward &&
                               std::includes(keys.features.begin(), keys.features.end(),
                                             unit.features.begin(), unit.features.end()));
}

bool serves(const KnownUnit& unit, const Keys& keys, const Keys& other) {
  if (unit.plain)
    return plain_key(keys, unit) == plain_key(other, unit);
  return unit.upward && keys.upward && other.upward == keys.upward && holds(unit, other, *other.upward);
}

std::optional<KnownUnit> find_known(const session::Session& session, const Keys& keys) {
  const store::Cache cache = cache_of(session);
  for (const Digest& key : all_of(keys))
    if (const std::optional<std::string> value = cache.get(key))
      if (std::optional<KnownUnit> unit = unpacked(*value); unit && holds(*unit, keys, key))
        return unit;
  return std::nullopt;
}

void forget(const session::Session& session, const Keys& keys) {
  for (const Digest& key : all_of(keys)) // an empty value hides that of a shared cache
    static_cast<void>(cache_of(session).put(key, {}));
}

void look_next_time(const session::Session& session, const Marks& marks) {
  static_cast<void>(cache_of(session).put(marks.plain, {}));
}

void remember(const session::Session& session, const Marks& marks, const Keys& keys, const KnownUnit& unit) {
  const store::Cache cache = cache_of(session);
  // The mark comes first: without it, nobody looks for the outcome.
  if (unit.plain) {
    static_cast<void>(cache.put(marks.plain, {}));
    static_cast<void>(cache.put(plain_key(keys, unit), packed(unit)));
    return;
  }
  static_cast<void>(cache.put(marks.exact, {}));
  static_cast<void>(cache.put(keys.exact, packed(unit)));
  if (!unit.upward || !keys.upward)
    return;
  KnownUnit shared = unit;
  if (!shared.working_features)
    shared.object.clear();
  static_cast<void>(cache.put(marks.plain, {}));
  static_cast<void>(cache.put(*keys.upward, packed(shared)));
}

} // namespace xaas::known
