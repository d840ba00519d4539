#include "option_stages.h"

#include <xaas/ir/options.h>

#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>

namespace xaas::ir {

namespace {

constexpr auto of_compile = std::to_array<std::string_view>({"ClearASTBeforeBackend",
                                                             "DebugPassManager",
                                                             "DisableFree",
                                                             "DisableLLVMPasses",
                                                             "DiscardValueNames",
                                                             "EmitLLVMUseLists",
                                                             "EmitVersionIdentMetadata",
                                                             "EnableDIPreservationVerify",
                                                             "EnableSplitLTOUnit",
                                                             "FatLTO",
                                                             "LTOUnit",
                                                             "NewInfallibleRewrites",
                                                             "PrepareForLTO",
                                                             "PrepareForThinLTO",
                                                             "SaveTempLabels",
                                                             "ShowNoObjCARC",
                                                             "TimePasses",
                                                             "TimePassesJson",
                                                             "TimePassesPerRun",
                                                             "TimeTrace",
                                                             "UnifiedLTO",
                                                             "VerifyEach",
                                                             "VerifyModule"});

// Any option that is not listed here counts as one that the back end reads
// (clang/lib/CodeGen/BackendUtil.cpp, initTargetOptions).
constexpr auto of_ir = std::to_array<std::string_view>({"Addrsig",
                                                        "AsmVerbose",
                                                        "AssignmentTrackingMode",
                                                        "AssumeSaneOperatorNew",
                                                        "AssumeUniqueVTables",
                                                        "Autolink",
                                                        "CFProtectionBranch",
                                                        "CFProtectionReturn",
                                                        "CXAAtExit",
                                                        "CXXCtorDtorAliases",
                                                        "CodeViewCommandLine",
                                                        "DataSections",
                                                        "DebugColumnInfo",
                                                        "DebugInfo",
                                                        "DebugKeyInstructions",
                                                        "DebugNameTable",
                                                        "DebugStrictDwarf",
                                                        "DebugStructorDeclLinkageNames",
                                                        "DebuggerTuning",
                                                        "DefaultTLSModel",
                                                        "DirectAccessExternalData",
                                                        "DisableRedZone",
                                                        "Dwarf2CFIAsm",
                                                        "DwarfVersion",
                                                        "EmitCallSiteInfo",
                                                        "EnableNoundefAttrs",
                                                        "FiniteLoops",
                                                        "FramePointer",
                                                        "FunctionSections",
                                                        "IndirectTlsSegRefs",
                                                        "Inlining",
                                                        "MergeAllConstants",
                                                        "NoCommon",
                                                        "NoImplicitFloat",
                                                        "NoPLT",
                                                        "NullPointerIsValid",
                                                        "OptimizationLevel",
                                                        "OptimizeSize",
                                                        "PointerTBAA",
                                                        "RegisterGlobalDtorsWithAtExit",
                                                        "RelaxedAliasing",
                                                        "RelocationModel",
                                                        "SSPBufferSize",
                                                        "SanitizeAddressUseOdrIndicator",
                                                        "SanitizeMemoryParamRetval",
                                                        "SplitDwarfInlining",
                                                        "StackClashProtector",
                                                        "StackRealignment",
                                                        "StrictEnums",
                                                        "StructPathTBAA",
                                                        "UniqueBasicBlockSectionNames",
                                                        "UnrollLoops",
                                                        "UnwindTables",
                                                        "UseInitArray",
                                                        "VectorizeLoop",
                                                        "VectorizeSLP",
                                                        "X86RelaxRelocations",
                                                        "ZeroCallUsedRegs"});

// Both halves of the pipeline treat these as the whole does.
constexpr auto of_code_generator = std::to_array<std::string_view>({"AAPCSBitfieldWidth",
                                                                    "AllTocData",
                                                                    "AutoImport",
                                                                    "BBAddrMap",
                                                                    "Backchain",
                                                                    "CFBranchLabelScheme",
                                                                    "CodeViewGHash",
                                                                    "CompressDebugSections",
                                                                    "ControlFlowGuard",
                                                                    "ControlFlowGuardNoChecks",
                                                                    "Crel",
                                                                    "CtorDtorReturnThis",
                                                                    "DebugCallSiteInfo",
                                                                    "DebugExplicitImport",
                                                                    "DebugFwdTemplateParams",
                                                                    "DebugInfoMacroExpansionLoc",
                                                                    "DebugOmitUnreferencedMethods",
                                                                    "DebugRangesBaseAddress",
                                                                    "DebugSimpleTemplateNames",
                                                                    "DebugSrcHash",
                                                                    "DebugTemplateAlias",
                                                                    "DebugTypeExtRefs",
                                                                    "DisableBlockSignatureString",
                                                                    "DisableLifetimeMarkers",
                                                                    "DisableO0ImplyOptNone",
                                                                    "DisableTailCalls",
                                                                    "Dwarf64",
                                                                    "EHContGuard",
                                                                    "EmbedSource",
                                                                    "EmitCodeView",
                                                                    "EmitCompactUnwindNonCanonical",
                                                                    "EmitDeclMetadata",
                                                                    "EmitDwarfUnwind",
                                                                    "EmitIEEENaNCompliantInsts",
                                                                    "EmitOpenCLArgMetadata",
                                                                    "EmitSFrameUnwind",
                                                                    "EmulatedTLS",
                                                                    "EnableAIXExtendedAltivecABI",
                                                                    "EnableTLSDESC",
                                                                    "ExceptionHandling",
                                                                    "ExperimentalStrictFloatingPoint",
                                                                    "ExtendVariableLiveness",
                                                                    "FatalWarnings",
                                                                    "FineGrainedBitfieldAccesses",
                                                                    "ForbidGuardVariables",
                                                                    "ForceAAPCSBitfieldLoad",
                                                                    "ForceDwarfFrameSection",
                                                                    "ForceEmitVTables",
                                                                    "FunctionReturnThunks",
                                                                    "FuseLoops",
                                                                    "HIPCorrectlyRoundedDivSqrt",
                                                                    "HIPSaveKernelArgName",
                                                                    "ImplicitMapSyms",
                                                                    "IncrementalLinkerCompatible",
                                                                    "IndirectBranchCSPrefix",
                                                                    "InlineAsmDialect",
                                                                    "InterchangeLoops",
                                                                    "KeepPersistentStorageVariables",
                                                                    "KeepStaticConsts",
                                                                    "LargeDataThreshold",
                                                                    "LessPreciseFPMAD",
                                                                    "LoopAlignment",
                                                                    "MacroDebugInfo",
                                                                    "MergeFunctions",
                                                                    "MipsMsa",
                                                                    "NewStructPathTBAA",
                                                                    "NoDwarfDirectoryAsm",
                                                                    "NoEscapingBlockTailCalls",
                                                                    "NoExecStack",
                                                                    "NoInlineLineTables",
                                                                    "NoStackArgProbe",
                                                                    "NoTypeCheck",
                                                                    "NoUseJumpTables",
                                                                    "NoWarn",
                                                                    "NoZeroInitializedInBSS",
                                                                    "NumRegisterParameters",
                                                                    "ObjCAvoidHeapifyLocalBlocks",
                                                                    "ObjCDirectPreconditionThunk",
                                                                    "ObjCDispatchMethod",
                                                                    "OpenCLCorrectlyRoundedDivSqrt",
                                                                    "OutputAsmVariant",
                                                                    "PPCUseFullRegisterNames",
                                                                    "PackedStack",
                                                                    "PassByValueIsNoAlias",
                                                                    "PatchableFunctionEntryCount",
                                                                    "PatchableFunctionEntryOffset",
                                                                    "PreserveAsmComments",
                                                                    "RelaxAll",
                                                                    "SaveRegParams",
                                                                    "SeparateNamedSections",
                                                                    "SimplifyLibCalls",
                                                                    "SkipRaxSetup",
                                                                    "SmallDataLimit",
                                                                    "SoftFloat",
                                                                    "SpeculativeLoadHardening",
                                                                    "StackAlignment",
                                                                    "StackProbeSize",
                                                                    "StackProtectorGuardOffset",
                                                                    "StackSizeSection",
                                                                    "StrictFloatCastOverflow",
                                                                    "StrictReturn",
                                                                    "StrictVTablePointers",
                                                                    "StructReturnConvention",
                                                                    "SwiftAsyncFramePointer",
                                                                    "TLSSize",
                                                                    "TlsGuards",
                                                                    "UniqueSectionNames",
                                                                    "UseRegisterSizedBitfieldAccess",
                                                                    "VecLib",
                                                                    "WarnStackSize",
                                                                    "X86Sse2Avx",
                                                                    "XCOFFReadOnlyPointers"});

// BackendUtil.cpp, RunOptimizationPipeline: instrumentation, coverage, profiles, sanitizers, and what a
// linker does with vtables.
constexpr auto of_pipeline = std::to_array<std::string_view>({"AMDGPUExpandWaitcntProfiling",
                                                              "AllResourcesBound",
                                                              "AtomicProfileUpdate",
                                                              "CallFEntry",
                                                              "CallGraphSection",
                                                              "ContinuousProfileSync",
                                                              "CoverageMapping",
                                                              "DebugInfoForProfiling",
                                                              "DevirtualizeSpeculatively",
                                                              "DiagnosticsWithHotness",
                                                              "DisableIntegratedAS",
                                                              "DumpCoverageMapping",
                                                              "EmbedBitcode",
                                                              "EmitCheckPathComponentsToStrip",
                                                              "EnableSegmentedStacks",
                                                              "HotPatch",
                                                              "ImportCallOptimization",
                                                              "InlineMaxStackSize",
                                                              "InstrumentForProfiling",
                                                              "InstrumentFunctionEntryBare",
                                                              "InstrumentFunctions",
                                                              "InstrumentFunctionsAfterInlining",
                                                              "JMCInstrument",
                                                              "LTOVisibilityPublicStd",
                                                              "LinkBitcodePostopt",
                                                              "MCDCCoverage",
                                                              "MCDCMaxConds",
                                                              "MCDCMaxTVs",
                                                              "MNopMCount",
                                                              "MisExpect",
                                                              "ObjCAutoRefCountExceptions",
                                                              "ObjCConvertMessagesToRuntimeCalls",
                                                              "PartitionStaticDataSections",
                                                              "ProfileInstr",
                                                              "ProfileSampleAccurate",
                                                              "ProfileSelectedFunctionGroup",
                                                              "ProfileTotalFunctionGroups",
                                                              "ProfileUse",
                                                              "PseudoProbeForProfiling",
                                                              "RecordMCount",
                                                              "RerollLoops",
                                                              "ResMayAlias",
                                                              "SanitizeAddressDtor",
                                                              "SanitizeAddressGlobalsDeadStripping",
                                                              "SanitizeAddressPoisonCustomArrayCookie",
                                                              "SanitizeAddressUseAfterReturn",
                                                              "SanitizeAddressUseAfterScope",
                                                              "SanitizeAllocTokenExtended",
                                                              "SanitizeAllocTokenFastABI",
                                                              "SanitizeBinaryMetadataAtomics",
                                                              "SanitizeBinaryMetadataCovered",
                                                              "SanitizeBinaryMetadataUAR",
                                                              "SanitizeCfiCanonicalJumpTables",
                                                              "SanitizeCfiCrossDso",
                                                              "SanitizeCfiICallGeneralizePointers",
                                                              "SanitizeCfiICallNormalizeIntegers",
                                                              "SanitizeCoverage8bitCounters",
                                                              "SanitizeCoverageControlFlow",
                                                              "SanitizeCoverageIndirectCalls",
                                                              "SanitizeCoverageInline8bitCounters",
                                                              "SanitizeCoverageInlineBoolFlag",
                                                              "SanitizeCoverageNoPrune",
                                                              "SanitizeCoveragePCTable",
                                                              "SanitizeCoverageStackDepth",
                                                              "SanitizeCoverageStackDepthCallbackMin",
                                                              "SanitizeCoverageTraceBB",
                                                              "SanitizeCoverageTraceCmp",
                                                              "SanitizeCoverageTraceDiv",
                                                              "SanitizeCoverageTraceGep",
                                                              "SanitizeCoverageTraceLoads",
                                                              "SanitizeCoverageTracePC",
                                                              "SanitizeCoverageTracePCGuard",
                                                              "SanitizeCoverageTraceStores",
                                                              "SanitizeCoverageType",
                                                              "SanitizeDebugTrapReasons",
                                                              "SanitizeHandlerPreserveAllRegs",
                                                              "SanitizeKcfiArity",
                                                              "SanitizeMemoryTrackOrigins",
                                                              "SanitizeMemoryUseAfterDtor",
                                                              "SanitizeMinimalRuntime",
                                                              "SanitizeStats",
                                                              "SplitMachineFunctions",
                                                              "StaticClosure",
                                                              "TimePassesStatsFile",
                                                              "TimeTraceGranularity",
                                                              "UniqueInternalLinkageNames",
                                                              "VirtualFunctionElimination",
                                                              "WholeProgramVTables",
                                                              "WinX64EHUnwindV2",
                                                              "XRayAlwaysEmitCustomEvents",
                                                              "XRayAlwaysEmitTypedEvents",
                                                              "XRayFunctionIndex",
                                                              "XRayIgnoreLoops",
                                                              "XRayInstructionThreshold",
                                                              "XRayInstrumentFunctions",
                                                              "XRaySelectedFunctionGroup",
                                                              "XRayShared",
                                                              "XRayTotalFunctionGroups"});

template <typename List> bool has(const List& list, std::string_view option) {
  return std::find(list.begin(), list.end(), option) != list.end();
}

} // namespace

std::optional<OptionStage> stage_of(std::string_view option) {
  if (has(of_compile, option))
    return OptionStage::compile;
  if (has(of_ir, option))
    return OptionStage::ir;
  if (has(of_code_generator, option))
    return OptionStage::code_generator;
  if (has(of_pipeline, option))
    return OptionStage::pipeline;
  return std::nullopt;
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
