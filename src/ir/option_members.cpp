#include "option_members.h"

#include <clang/Basic/CodeGenOptions.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInvocation.h>

namespace xaas::ir {

namespace {

using Invocation = clang::CompilerInvocation;

constexpr const char* of_ir = "the front end writes it into IR, as attributes, metadata or module flags";
constexpr const char* of_front_end = "read by the front end alone";
constexpr const char* of_sanitizers = "read only with a sanitizer, which is refused";
constexpr const char* of_coverage = "read only with coverage, which is refused";
constexpr const char* of_messages = "messages of the compile, and files with them beside the object";
constexpr const char* of_other_formats = "read only for object files other than ELF, or other architectures";
constexpr const char* no_option = "no option sets it";

// Refused if the member is not empty.
#define XAAS_REFUSED(Class, Name, What)                                                                      \
  {                                                                                                          \
    #Name, Refused {                                                                                         \
      What, [](const Invocation& invocation) { return !invocation.get##Class().Name.empty(); }               \
    }                                                                                                        \
  }

#define XAAS_TEXT(Key, Class, Name)                                                                          \
  {                                                                                                          \
    #Name, CarriedText {                                                                                     \
      Key, [](Invocation& invocation) -> std::string& { return invocation.get##Class().Name; }               \
    }                                                                                                        \
  }

constexpr const char* profile_use = "a profile that is read while lowering (-fprofile-use)";
constexpr const char* instrumentation = "profile instrumentation";
constexpr const char* coverage_lists = "lists of what is instrumented (-fsanitize-coverage-allowlist)";
constexpr const char* thin_lto = "a compile that is a part of ThinLTO";
constexpr const char* split_dwarf = "debug information in a file of its own";

// In the order of clang/Basic/CodeGenOptions.h.
const OptionMember of_codegen[] = {
    XAAS_TEXT("BBSections", CodeGenOpts, BBSections),
    XAAS_TEXT("BinutilsVersion", CodeGenOpts, BinutilsVersion),
    XAAS_TEXT("CodeModel", CodeGenOpts, CodeModel),
    {"LargeDataThreshold", CarriedNumber{uint64_t(1) << 62,
                                         [](const clang::CodeGenOptions& options) {
                                           return static_cast<int64_t>(options.LargeDataThreshold);
                                         },
                                         [](clang::CodeGenOptions& options, int64_t value) {
                                           options.LargeDataThreshold = static_cast<uint64_t>(value);
                                         }}},
    XAAS_REFUSED(CodeGenOpts, CoverageDataFile, instrumentation),
    XAAS_REFUSED(CodeGenOpts, CoverageNotesFile, instrumentation),
    {"ProfileFilterFiles", WithoutEffect{of_coverage}},
    {"ProfileExcludeFiles", WithoutEffect{of_coverage}},
    {"CoverageVersion", WithoutEffect{of_coverage}},
    {"DebugPass", WithoutEffect{of_messages}},
    {"DebugCompilationDir", WithoutEffect{of_ir}},
    {"CoverageCompilationDir", WithoutEffect{of_coverage}},
    {"DwarfDebugFlags", WithoutEffect{of_ir}},
    {"RecordCommandLine", WithoutEffect{of_ir}},
    {"DebugPrefixMap", WithoutEffect{of_ir}},
    {"CoveragePrefixMap", WithoutEffect{of_coverage}},
    XAAS_TEXT("FloatABI", CodeGenOpts, FloatABI),
    {"DIBugsReportFilePath", WithoutEffect{of_messages}},
    {"FPDenormalMode", CarriedDenormalMode{&clang::CodeGenOptions::FPDenormalMode}},
    {"FP32DenormalMode", CarriedDenormalMode{&clang::CodeGenOptions::FP32DenormalMode}},
    XAAS_REFUSED(CodeGenOpts, LimitFloatPrecision,
                 "-mlimit-float-precision, which is state of the whole compiler process"),
    // The files of a unit for GPUs have become libraries of the unit by now.
    XAAS_REFUSED(CodeGenOpts, LinkBitcodeFiles, "bitcode linked in by the compiler"),
    {"MainFileName", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, SplitDwarfFile, split_dwarf),
    XAAS_REFUSED(CodeGenOpts, SplitDwarfOutput, split_dwarf),
    {"ObjectFilenameForDebug", WithoutEffect{of_other_formats}},
    {"RelocationModel", CarriedNumber{llvm::Reloc::ROPI_RWPI + 1,
                                      [](const clang::CodeGenOptions& options) {
                                        return static_cast<int64_t>(options.RelocationModel);
                                      },
                                      [](clang::CodeGenOptions& options, int64_t value) {
                                        options.RelocationModel = static_cast<llvm::Reloc::Model>(value);
                                      }}},
    XAAS_TEXT("TrapFuncName", CodeGenOpts, TrapFuncName),
    {"DependentLibraries", WithoutEffect{of_ir}},
    {"LinkerOptions", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, InstrProfileOutput, instrumentation),
    {"PatchableFunctionEntrySection", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, SampleProfileFile, profile_use),
    XAAS_REFUSED(CodeGenOpts, MemoryProfileOutput, "memory profile instrumentation (-fmemory-profile)"),
    XAAS_REFUSED(CodeGenOpts, MemoryProfileUsePath, profile_use),
    XAAS_REFUSED(CodeGenOpts, ProfileInstrumentUsePath, profile_use),
    XAAS_REFUSED(CodeGenOpts, ProfileRemappingFile, profile_use),
    XAAS_REFUSED(CodeGenOpts, ThinLTOIndexFile, thin_lto),
    XAAS_REFUSED(CodeGenOpts, ThinLinkBitcodeFile, thin_lto),
    {"SaveTempsFilePrefix", WithoutEffect{of_messages}},
    {"CudaGpuBinaryFileName", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, OffloadObjects,
                 "device code embedded by the compiler (-fembed-offload-object)"),
    {"OptRecordFile", WithoutEffect{of_messages}},
    {"OptRecordPasses", WithoutEffect{of_messages}},
    {"OptRecordFormat", WithoutEffect{of_messages}},
    {"SymbolPartition", WithoutEffect{of_ir}},
    {"UniqueSourceFileIdentifier", WithoutEffect{of_ir}},
    {"OptimizationRemark", WithoutEffect{of_messages}},
    {"OptimizationRemarkMissed", WithoutEffect{of_messages}},
    {"OptimizationRemarkAnalysis", WithoutEffect{of_messages}},
    {"SanitizeRecover", WithoutEffect{of_sanitizers}},
    {"SanitizeTrap", WithoutEffect{of_sanitizers}},
    {"SanitizeMergeHandlers", WithoutEffect{of_sanitizers}},
    {"SanitizeSkipHotCutoffs", WithoutEffect{of_sanitizers}},
    {"SanitizeAnnotateDebugInfo", WithoutEffect{of_sanitizers}},
    {"AllowRuntimeCheckSkipHotCutoff",
     Refused{"run-time checks that are left out by a profile (-fallow-runtime-check-skip-hot-cutoff)",
             [](const Invocation& invocation) {
               return invocation.getCodeGenOpts().AllowRuntimeCheckSkipHotCutoff.has_value();
             }}},
    {"CmdArgs", WithoutEffect{"read only to embed bitcode, which is refused"}},
    {"NoBuiltinFuncs", CarriedList{[](clang::CodeGenOptions& options) -> std::vector<std::string>& {
       return options.NoBuiltinFuncs;
     }}},
    {"Reciprocals", WithoutEffect{of_ir}},
    {"PointerAuth", WithoutEffect{of_ir}},
    XAAS_TEXT("PreferVectorWidth", CodeGenOpts, PreferVectorWidth),
    {"XRayInstrumentationBundle", WithoutEffect{of_ir}},
    {"DefaultFunctionAttrs", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, PassPlugins, "a pass plugin (-fpass-plugin)"),
    {"PassBuilderCallbacks", WithoutEffect{no_option}},
    {"TocDataVarsUserSpecified", WithoutEffect{of_other_formats}},
    {"NoTocDataVars", WithoutEffect{of_other_formats}},
    XAAS_REFUSED(CodeGenOpts, SanitizeCoverageAllowlistFiles, coverage_lists),
    {"StackProtectorGuard", WithoutEffect{of_ir}},
    {"StackProtectorGuardReg", WithoutEffect{of_ir}},
    {"StackProtectorGuardSymbol", WithoutEffect{of_ir}},
    XAAS_REFUSED(CodeGenOpts, SanitizeCoverageIgnorelistFiles, coverage_lists),
    XAAS_REFUSED(CodeGenOpts, SanitizeMetadataIgnorelistFiles,
                 "lists of what is instrumented (-fexperimental-sanitize-metadata-ignorelist)"),
    {"SanitizeKcfiHash", WithoutEffect{of_sanitizers}},
    {"StackUsageOutput", WithoutEffect{of_messages}},
    {"Argv0", WithoutEffect{of_other_formats}},
    {"CommandLineArgs", WithoutEffect{of_other_formats}},
    {"DiagnosticsHotnessThreshold", WithoutEffect{of_messages}},
    {"DiagnosticsMisExpectTolerance", WithoutEffect{of_messages}},
    {"AsSecureLogFile", WithoutEffect{of_other_formats}},
    {"LoaderReplaceableFunctionNames", WithoutEffect{of_ir}},
    {"MSSecureHotPatchFunctionsFile", WithoutEffect{of_other_formats}},
    {"MSSecureHotPatchFunctionsList", WithoutEffect{of_other_formats}},
};

// In the order of clang/Basic/LangOptions.h.
const OptionMember of_language[] = {
    {"LangStd", WithoutEffect{of_front_end}},
    {"Sanitize",
     Refused{"a sanitizer (-fsanitize)",
             [](const Invocation& invocation) { return !invocation.getLangOpts().Sanitize.empty(); }}},
    {"SanitizeCoverage", WithoutEffect{of_front_end}},
    {"NoSanitizeFiles", WithoutEffect{of_sanitizers}},
    {"XRayAlwaysInstrumentFiles", WithoutEffect{of_ir}},
    {"XRayNeverInstrumentFiles", WithoutEffect{of_ir}},
    {"XRayAttrListFiles", WithoutEffect{of_ir}},
    {"ProfileListFiles", WithoutEffect{of_ir}},
    {"ObjCRuntime", WithoutEffect{of_front_end}},
    {"CFRuntime", WithoutEffect{of_front_end}},
    {"ObjCConstantStringClass", WithoutEffect{of_front_end}},
    {"OverflowHandler", WithoutEffect{of_front_end}},
    {"ModuleName", WithoutEffect{of_front_end}},
    {"CurrentModule", WithoutEffect{of_front_end}},
    {"ModuleFeatures", WithoutEffect{of_front_end}},
    {"CommentOpts", WithoutEffect{of_front_end}},
    {"NoBuiltinFuncs", WithoutEffect{"the list of CodeGenOptions again, for the front end"}},
    {"MacroPrefixMap", WithoutEffect{of_front_end}},
    {"OMPTargetTriples", WithoutEffect{of_ir}},
    {"OMPHostIRFile", WithoutEffect{of_front_end}},
    {"CUID", WithoutEffect{of_ir}},
    {"CXXABI", WithoutEffect{of_front_end}},
    {"IsHeaderFile", WithoutEffect{of_front_end}},
    {"GPUDefaultStream", WithoutEffect{of_ir}},
    {"OverflowPatternExclusionMask", WithoutEffect{of_front_end}},
    {"OverflowPatternExclusionValues", WithoutEffect{of_front_end}},
    {"RandstructSeed", WithoutEffect{of_front_end}},
    {"UseTargetPathSeparator", WithoutEffect{of_front_end}},
    {"CheckNew", WithoutEffect{of_front_end}},
    {"HLSLRootSigVer", WithoutEffect{of_front_end}},
    {"HLSLRootSigOverride", WithoutEffect{of_front_end}},
    {"NoWasmOpt", WithoutEffect{of_front_end}},
    {"AtomicRemoteMemory", WithoutEffect{of_ir}},
    {"AtomicFineGrainedMemory", WithoutEffect{of_ir}},
    {"AtomicIgnoreDenormalMode", WithoutEffect{of_ir}},
    {"AllocTokenMax", Refused{"allocation tokens (-falloc-token-max)",
                              [](const Invocation& invocation) {
                                return invocation.getLangOpts().AllocTokenMax.has_value();
                              }}},
    {"AllocTokenMode", Refused{"allocation tokens (-falloc-token-mode)",
                               [](const Invocation& invocation) {
                                 return invocation.getLangOpts().AllocTokenMode.has_value();
                               }}},
};

// In the order of clang/Basic/TargetOptions.h.
const OptionMember of_target[] = {
    XAAS_TEXT("triple", TargetOpts, Triple),
    {"HostTriple", WithoutEffect{of_front_end}},
    {"CPU", CarriedByUnit{}},
    {"TuneCPU", CarriedByUnit{}},
    XAAS_TEXT("fpmath", TargetOpts, FPMath),
    XAAS_TEXT("abi", TargetOpts, ABI),
    {"EABIVersion", Refused{"another EABI (-meabi)",
                            [](const Invocation& invocation) {
                              return invocation.getTargetOpts().EABIVersion != llvm::EABI::Default;
                            }}},
    {"LinkerVersion", WithoutEffect{of_other_formats}},
    {"FeaturesAsWritten", CarriedByUnit{}},
    {"Features", WithoutEffect{"computed from the features as written"}},
    {"FeatureMap", WithoutEffect{"computed from the features as written"}},
    {"OpenCLFeaturesMap", WithoutEffect{of_front_end}},
    {"OpenCLExtensionsAsWritten", WithoutEffect{of_front_end}},
    {"ForceEnableInt128", WithoutEffect{of_front_end}},
    {"NVPTXUseShortPointers",
     Refused{"short pointers (-fcuda-short-ptr)",
             [](const Invocation& invocation) { return invocation.getTargetOpts().NVPTXUseShortPointers; }}},
    {"CodeObjectVersion", WithoutEffect{of_ir}},
    {"AMDGPUPrintfKindVal", WithoutEffect{of_ir}},
    XAAS_TEXT("target CodeModel", TargetOpts, CodeModel),
    {"LargeDataThreshold", WithoutEffect{"the same number as that of CodeGenOptions, for the front end"}},
    {"SDKVersion", WithoutEffect{of_ir}},
    {"DarwinTargetVariantTriple", WithoutEffect{of_other_formats}},
    {"DarwinTargetVariantSDKVersion", WithoutEffect{of_other_formats}},
    {"DxilValidatorVersion", WithoutEffect{of_other_formats}},
    {"HLSLEntry", WithoutEffect{of_other_formats}},
};

#undef XAAS_REFUSED
#undef XAAS_TEXT

} // namespace

std::span<const OptionMember> codegen_members() {
  return of_codegen;
}

std::span<const OptionMember> language_members() {
  return of_language;
}

std::span<const OptionMember> target_members() {
  return of_target;
}

} // namespace xaas::ir
