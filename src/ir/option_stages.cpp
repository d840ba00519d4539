#include "option_stages.h"

#include <xaas/ir/options.h>

#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace xaas::ir {

namespace {

using enum OptionStage;

struct Option {
  std::string_view name;
  OptionStage stage;
};

// Options of the code generator and the target machine: clang/lib/CodeGen/BackendUtil.cpp, initTargetOptions.
// Options of the pipeline, for instrumentation, coverage, profiles, sanitizers and what a linker does with
// vtables: RunOptimizationPipeline there.
constexpr Option options_by_name[] = {
    {"AAPCSBitfieldWidth", code_generator},
    {"AMDGPUExpandWaitcntProfiling", pipeline},
    {"Addrsig", ir},
    {"AllResourcesBound", pipeline},
    {"AllTocData", code_generator},
    {"AsmVerbose", ir},
    {"AssignmentTrackingMode", ir},
    {"AssumeSaneOperatorNew", ir},
    {"AssumeUniqueVTables", ir},
    {"AtomicProfileUpdate", pipeline},
    {"AutoImport", code_generator},
    {"Autolink", ir},
    {"BBAddrMap", code_generator},
    {"Backchain", code_generator},
    {"CFBranchLabelScheme", code_generator},
    {"CFProtectionBranch", ir},
    {"CFProtectionReturn", ir},
    {"CXAAtExit", ir},
    {"CXXCtorDtorAliases", ir},
    {"CallFEntry", pipeline},
    {"CallGraphSection", pipeline},
    {"ClearASTBeforeBackend", compile},
    {"CodeViewCommandLine", ir},
    {"CodeViewGHash", code_generator},
    {"CompressDebugSections", code_generator},
    {"ContinuousProfileSync", pipeline},
    {"ControlFlowGuard", code_generator},
    {"ControlFlowGuardNoChecks", code_generator},
    {"CoverageMapping", pipeline},
    {"Crel", code_generator},
    {"CtorDtorReturnThis", code_generator},
    {"DataSections", ir},
    {"DebugCallSiteInfo", code_generator},
    {"DebugColumnInfo", ir},
    {"DebugExplicitImport", code_generator},
    {"DebugFwdTemplateParams", code_generator},
    {"DebugInfo", ir},
    {"DebugInfoForProfiling", pipeline},
    {"DebugInfoMacroExpansionLoc", code_generator},
    {"DebugKeyInstructions", ir},
    {"DebugNameTable", ir},
    {"DebugOmitUnreferencedMethods", code_generator},
    {"DebugPassManager", compile},
    {"DebugRangesBaseAddress", code_generator},
    {"DebugSimpleTemplateNames", code_generator},
    {"DebugSrcHash", code_generator},
    {"DebugStrictDwarf", ir},
    {"DebugStructorDeclLinkageNames", ir},
    {"DebugTemplateAlias", code_generator},
    {"DebugTypeExtRefs", code_generator},
    {"DebuggerTuning", ir},
    {"DefaultTLSModel", ir},
    {"DevirtualizeSpeculatively", pipeline},
    {"DiagnosticsWithHotness", pipeline},
    {"DirectAccessExternalData", ir},
    {"DisableBlockSignatureString", code_generator},
    {"DisableFree", compile},
    {"DisableIntegratedAS", pipeline},
    {"DisableLLVMPasses", compile},
    {"DisableLifetimeMarkers", code_generator},
    {"DisableO0ImplyOptNone", code_generator},
    {"DisableRedZone", ir},
    {"DisableTailCalls", code_generator},
    {"DiscardValueNames", compile},
    {"DumpCoverageMapping", pipeline},
    {"Dwarf2CFIAsm", ir},
    {"Dwarf64", code_generator},
    {"DwarfVersion", ir},
    {"EHContGuard", code_generator},
    {"EmbedBitcode", pipeline},
    {"EmbedSource", code_generator},
    {"EmitCallSiteInfo", ir},
    {"EmitCheckPathComponentsToStrip", pipeline},
    {"EmitCodeView", code_generator},
    {"EmitCompactUnwindNonCanonical", code_generator},
    {"EmitDeclMetadata", code_generator},
    {"EmitDwarfUnwind", code_generator},
    {"EmitIEEENaNCompliantInsts", code_generator},
    {"EmitLLVMUseLists", compile},
    {"EmitOpenCLArgMetadata", code_generator},
    {"EmitSFrameUnwind", code_generator},
    {"EmitVersionIdentMetadata", compile},
    {"EmulatedTLS", code_generator},
    {"EnableAIXExtendedAltivecABI", code_generator},
    {"EnableDIPreservationVerify", compile},
    {"EnableNoundefAttrs", ir},
    {"EnableSegmentedStacks", pipeline},
    {"EnableSplitLTOUnit", compile},
    {"EnableTLSDESC", code_generator},
    {"ExceptionHandling", code_generator},
    {"ExperimentalStrictFloatingPoint", code_generator},
    {"ExtendVariableLiveness", code_generator},
    {"FatLTO", compile},
    {"FatalWarnings", code_generator},
    {"FineGrainedBitfieldAccesses", code_generator},
    {"FiniteLoops", ir},
    {"ForbidGuardVariables", code_generator},
    {"ForceAAPCSBitfieldLoad", code_generator},
    {"ForceDwarfFrameSection", code_generator},
    {"ForceEmitVTables", code_generator},
    {"FramePointer", ir},
    {"FunctionReturnThunks", code_generator},
    {"FunctionSections", ir},
    {"FuseLoops", code_generator},
    {"HIPCorrectlyRoundedDivSqrt", code_generator},
    {"HIPSaveKernelArgName", code_generator},
    {"HotPatch", pipeline},
    {"ImplicitMapSyms", code_generator},
    {"ImportCallOptimization", pipeline},
    {"IncrementalLinkerCompatible", code_generator},
    {"IndirectBranchCSPrefix", code_generator},
    {"IndirectTlsSegRefs", ir},
    {"InlineAsmDialect", code_generator},
    {"InlineMaxStackSize", pipeline},
    {"Inlining", ir},
    {"InstrumentForProfiling", pipeline},
    {"InstrumentFunctionEntryBare", pipeline},
    {"InstrumentFunctions", pipeline},
    {"InstrumentFunctionsAfterInlining", pipeline},
    {"InterchangeLoops", code_generator},
    {"JMCInstrument", pipeline},
    {"KeepPersistentStorageVariables", code_generator},
    {"KeepStaticConsts", code_generator},
    {"LTOUnit", compile},
    {"LTOVisibilityPublicStd", pipeline},
    {"LargeDataThreshold", code_generator},
    {"LessPreciseFPMAD", code_generator},
    {"LinkBitcodePostopt", pipeline},
    {"LoopAlignment", code_generator},
    {"MCDCCoverage", pipeline},
    {"MCDCMaxConds", pipeline},
    {"MCDCMaxTVs", pipeline},
    {"MNopMCount", pipeline},
    {"MacroDebugInfo", code_generator},
    {"MergeAllConstants", ir},
    {"MergeFunctions", code_generator},
    {"MipsMsa", code_generator},
    {"MisExpect", pipeline},
    {"NewInfallibleRewrites", compile},
    {"NewStructPathTBAA", code_generator},
    {"NoCommon", ir},
    {"NoDwarfDirectoryAsm", code_generator},
    {"NoEscapingBlockTailCalls", code_generator},
    {"NoExecStack", code_generator},
    {"NoImplicitFloat", ir},
    {"NoInlineLineTables", code_generator},
    {"NoPLT", ir},
    {"NoStackArgProbe", code_generator},
    {"NoTypeCheck", code_generator},
    {"NoUseJumpTables", code_generator},
    {"NoWarn", code_generator},
    {"NoZeroInitializedInBSS", code_generator},
    {"NullPointerIsValid", ir},
    {"NumRegisterParameters", code_generator},
    {"ObjCAutoRefCountExceptions", pipeline},
    {"ObjCAvoidHeapifyLocalBlocks", code_generator},
    {"ObjCConvertMessagesToRuntimeCalls", pipeline},
    {"ObjCDirectPreconditionThunk", code_generator},
    {"ObjCDispatchMethod", code_generator},
    {"OpenCLCorrectlyRoundedDivSqrt", code_generator},
    {"OptimizationLevel", ir},
    {"OptimizeSize", ir},
    {"OutputAsmVariant", code_generator},
    {"PPCUseFullRegisterNames", code_generator},
    {"PackedStack", code_generator},
    {"PartitionStaticDataSections", pipeline},
    {"PassByValueIsNoAlias", code_generator},
    {"PatchableFunctionEntryCount", code_generator},
    {"PatchableFunctionEntryOffset", code_generator},
    {"PointerTBAA", ir},
    {"PrepareForLTO", compile},
    {"PrepareForThinLTO", compile},
    {"PreserveAsmComments", code_generator},
    {"ProfileInstr", pipeline},
    {"ProfileSampleAccurate", pipeline},
    {"ProfileSelectedFunctionGroup", pipeline},
    {"ProfileTotalFunctionGroups", pipeline},
    {"ProfileUse", pipeline},
    {"PseudoProbeForProfiling", pipeline},
    {"RecordMCount", pipeline},
    {"RegisterGlobalDtorsWithAtExit", ir},
    {"RelaxAll", code_generator},
    {"RelaxedAliasing", ir},
    {"RelocationModel", ir},
    {"RerollLoops", pipeline},
    {"ResMayAlias", pipeline},
    {"SSPBufferSize", ir},
    {"SanitizeAddressDtor", pipeline},
    {"SanitizeAddressGlobalsDeadStripping", pipeline},
    {"SanitizeAddressPoisonCustomArrayCookie", pipeline},
    {"SanitizeAddressUseAfterReturn", pipeline},
    {"SanitizeAddressUseAfterScope", pipeline},
    {"SanitizeAddressUseOdrIndicator", ir},
    {"SanitizeAllocTokenExtended", pipeline},
    {"SanitizeAllocTokenFastABI", pipeline},
    {"SanitizeBinaryMetadataAtomics", pipeline},
    {"SanitizeBinaryMetadataCovered", pipeline},
    {"SanitizeBinaryMetadataUAR", pipeline},
    {"SanitizeCfiCanonicalJumpTables", pipeline},
    {"SanitizeCfiCrossDso", pipeline},
    {"SanitizeCfiICallGeneralizePointers", pipeline},
    {"SanitizeCfiICallNormalizeIntegers", pipeline},
    {"SanitizeCoverage8bitCounters", pipeline},
    {"SanitizeCoverageControlFlow", pipeline},
    {"SanitizeCoverageIndirectCalls", pipeline},
    {"SanitizeCoverageInline8bitCounters", pipeline},
    {"SanitizeCoverageInlineBoolFlag", pipeline},
    {"SanitizeCoverageNoPrune", pipeline},
    {"SanitizeCoveragePCTable", pipeline},
    {"SanitizeCoverageStackDepth", pipeline},
    {"SanitizeCoverageStackDepthCallbackMin", pipeline},
    {"SanitizeCoverageTraceBB", pipeline},
    {"SanitizeCoverageTraceCmp", pipeline},
    {"SanitizeCoverageTraceDiv", pipeline},
    {"SanitizeCoverageTraceGep", pipeline},
    {"SanitizeCoverageTraceLoads", pipeline},
    {"SanitizeCoverageTracePC", pipeline},
    {"SanitizeCoverageTracePCGuard", pipeline},
    {"SanitizeCoverageTraceStores", pipeline},
    {"SanitizeCoverageType", pipeline},
    {"SanitizeDebugTrapReasons", pipeline},
    {"SanitizeHandlerPreserveAllRegs", pipeline},
    {"SanitizeKcfiArity", pipeline},
    {"SanitizeMemoryParamRetval", ir},
    {"SanitizeMemoryTrackOrigins", pipeline},
    {"SanitizeMemoryUseAfterDtor", pipeline},
    {"SanitizeMinimalRuntime", pipeline},
    {"SanitizeStats", pipeline},
    {"SaveRegParams", code_generator},
    {"SaveTempLabels", compile},
    {"SeparateNamedSections", code_generator},
    {"ShowNoObjCARC", compile},
    {"SimplifyLibCalls", code_generator},
    {"SkipRaxSetup", code_generator},
    {"SmallDataLimit", code_generator},
    {"SoftFloat", code_generator},
    {"SpeculativeLoadHardening", code_generator},
    {"SplitDwarfInlining", ir},
    {"SplitMachineFunctions", pipeline},
    {"StackAlignment", code_generator},
    {"StackClashProtector", ir},
    {"StackProbeSize", code_generator},
    {"StackProtectorGuardOffset", code_generator},
    {"StackRealignment", ir},
    {"StackSizeSection", code_generator},
    {"StaticClosure", pipeline},
    {"StrictEnums", ir},
    {"StrictFloatCastOverflow", code_generator},
    {"StrictReturn", code_generator},
    {"StrictVTablePointers", code_generator},
    {"StructPathTBAA", ir},
    {"StructReturnConvention", code_generator},
    {"SwiftAsyncFramePointer", code_generator},
    {"TLSSize", code_generator},
    {"TimePasses", compile},
    {"TimePassesJson", compile},
    {"TimePassesPerRun", compile},
    {"TimePassesStatsFile", pipeline},
    {"TimeTrace", compile},
    {"TimeTraceGranularity", pipeline},
    {"TlsGuards", code_generator},
    {"UnifiedLTO", compile},
    {"UniqueBasicBlockSectionNames", ir},
    {"UniqueInternalLinkageNames", pipeline},
    {"UniqueSectionNames", code_generator},
    {"UnrollLoops", ir},
    {"UnwindTables", ir},
    {"UseInitArray", ir},
    {"UseRegisterSizedBitfieldAccess", code_generator},
    {"VecLib", code_generator},
    {"VectorizeLoop", ir},
    {"VectorizeSLP", ir},
    {"VerifyEach", compile},
    {"VerifyModule", compile},
    {"VirtualFunctionElimination", pipeline},
    {"WarnStackSize", code_generator},
    {"WholeProgramVTables", pipeline},
    {"WinX64EHUnwindV2", pipeline},
    {"X86RelaxRelocations", ir},
    {"X86Sse2Avx", code_generator},
    {"XCOFFReadOnlyPointers", code_generator},
    {"XRayAlwaysEmitCustomEvents", pipeline},
    {"XRayAlwaysEmitTypedEvents", pipeline},
    {"XRayFunctionIndex", pipeline},
    {"XRayIgnoreLoops", pipeline},
    {"XRayInstructionThreshold", pipeline},
    {"XRayInstrumentFunctions", pipeline},
    {"XRaySelectedFunctionGroup", pipeline},
    {"XRayShared", pipeline},
    {"XRayTotalFunctionGroups", pipeline},
    {"ZeroCallUsedRegs", ir},
};

static_assert(std::ranges::adjacent_find(options_by_name, std::ranges::greater_equal(), &Option::name) ==
                  std::ranges::end(options_by_name),
              "sorted, and each option once");

} // namespace

std::optional<OptionStage> stage_of(std::string_view option) {
  const auto* found = std::ranges::lower_bound(options_by_name, option, std::ranges::less(), &Option::name);
  return found != std::ranges::end(options_by_name) && found->name == option ? std::optional(found->stage)
                                                                             : std::nullopt;
}

std::optional<std::string> lto_obstacle(const UnitOptions& options) {
  const auto codegen = [&](const char* name) {
    const auto found = options.codegen.find(name);
    return found == options.codegen.end() ? 0 : found->second;
  };
  if (codegen("OptimizationLevel") == 0)
    return "-O0";
  if (codegen("UseInitArray") == 0)
    return "-fno-use-init-array";
  // AArch64's code generator uses TLS descriptors whatever this option says
  // (clang/Basic/CodeGenOptions.def), and the driver sets it there by default.
  const auto triple = options.text.find("triple");
  const bool always_tls_descriptors =
      triple != options.text.end() && llvm::Triple(triple->second).isAArch64();
  for (const auto& [name, value] : options.codegen) {
    if (always_tls_descriptors && name == "EnableTLSDESC")
      continue;
    if (stage_of(name) != OptionStage::ir)
      return name;
  }
  if (const auto model = options.language.find("ThreadModel"); model != options.language.end())
    return "ThreadModel";
  for (const auto& [name, value] : options.text) {
    const bool carried = name == "triple" || name == "abi" || name == "TrapFuncName" ||
                         name == "PreferVectorWidth" || (name == "BBSections" && value == "none") ||
                         (name.ends_with("CodeModel") && (value == "default" || value == "small"));
    if (!carried)
      return name;
  }
  return std::nullopt;
}

std::optional<std::string> preparation_obstacle(const UnitOptions& options) {
  const auto level = options.codegen.find("OptimizationLevel");
  if (level == options.codegen.end() || level->second == 0)
    return "-O0";
  for (const auto& [name, value] : options.codegen)
    if (const auto stage = stage_of(name); stage != OptionStage::ir && stage != OptionStage::code_generator)
      return name;
  return std::nullopt;
}

} // namespace xaas::ir
