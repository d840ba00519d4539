#include <xaas/ir/canonical.h>
#include <xaas/ir/device_image.h>
#include <xaas/ir/features.h>
#include <xaas/ir/retarget.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::ir {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

TEST(UnitJson, RoundTripAndErrors) {
  Unit unit{"src/a.c", digest_of("m"), digest_of("o"), {"haswell", "native", {"+avx2", "-sse4.1"}}};
  const Json json = to_json(unit);
  const auto parsed = parse_unit(JsonReader(json, "unit"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, unit);
  EXPECT_EQ(parsed->id(), unit.id());
  unit.source = "src/b.c";
  EXPECT_NE(parsed->id(), unit.id());

  const std::pair<const char*, const char*> bad[] = {{"/machine/features", R"(["avx2"])"},
                                                     {"/module", R"("md5:00")"},
                                                     {"/source", "3"},
                                                     {"/extra", "1"},
                                                     {"/machine/cpu", "null"},
                                                     {"/machine/more", "1"}};
  for (const auto& [pointer, value] : bad) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = Json::parse(value);
    const auto refused = parse_unit(JsonReader(changed, "unit"));
    ASSERT_FALSE(refused) << pointer;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
  }
  const Json list = Json::array();
  EXPECT_FALSE(parse_unit(JsonReader(list, "unit")));
}

TEST(UnitJson, DeviceCode) {
  Unit unit{"a.cu", digest_of("m"), digest_of("o"), {}};
  const Digest plain = unit.id();
  EXPECT_FALSE(to_json(unit).contains("device")); // absent from units without device code
  unit.device = {{"sm_80", digest_of("a")}, {"sm_90", digest_of("b")}};
  unit.libraries = {digest_of("libdevice")};
  EXPECT_NE(unit.id(), plain);
  const Json json = to_json(unit);
  const auto parsed = parse_unit(JsonReader(json, "unit"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, unit);
  for (const auto& [pointer, value] :
       {std::pair("/device", "[]"), std::pair("/device/sm_80", "\"md5:0\""), std::pair("/device/sm_90", "1"),
        std::pair("/libraries", "{}"), std::pair("/libraries/0", "\"x\""),
        std::pair("/device/..~1x",
                  "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"")}) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = Json::parse(value);
    const auto refused = parse_unit(JsonReader(changed, "unit"));
    ASSERT_FALSE(refused) << pointer;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
  }
}

TEST(UnitJson, PassPlugins) {
  Unit unit{"a.c", digest_of("m"), digest_of("o"), {}};
  const Digest without = unit.id();
  unit.plugins = {{"enzyme", "22", digest_of("p"), {"enzyme-print", "enzyme-width=2"}},
                  {"count", "", digest_of("q"), {}}};
  EXPECT_NE(unit.id(), without);
  unit.profile = digest_of("counts");
  const Json json = to_json(unit);
  const auto parsed = parse_unit(JsonReader(json, "unit"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, unit);
  for (const char* key : {"name", "version", "digest", "options"}) {
    Json changed = json;
    changed["plugins"][1][key] = 1;
    const auto refused = parse_unit(JsonReader(changed, "unit"));
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
    EXPECT_THAT(refused.error().message, HasSubstr("unit/plugins/1"));
    changed = json;
    changed["plugins"][0].erase(key);
    EXPECT_FALSE(parse_unit(JsonReader(changed, "unit"))) << key;
  }
}

TEST(UnitJson, LinkedDeviceCode) {
  Unit unit{"a.c", digest_of("m"), digest_of("o"), {}};
  unit.device = {{host_device, digest_of("a")}, {"sm_90", digest_of("b")}};
  unit.offload = "openmp";
  EXPECT_FALSE(unit.has_device_image());
  const Json json = to_json(unit);
  const auto parsed = parse_unit(JsonReader(json, "unit"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, unit);
  const auto refuse = [&](const std::function<void(Json&)>& change, const std::string& what) {
    Json changed = json;
    change(changed);
    const auto refused = parse_unit(JsonReader(changed, "unit"));
    ASSERT_FALSE(refused) << what;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
    EXPECT_THAT(refused.error().message, HasSubstr(what));
  };
  refuse([](Json& each) { each["offload"] = "opencl"; }, "opencl");
  refuse([](Json& each) { each["offload"] = 1; }, "offload");
  refuse([](Json& each) { each.erase("device"); }, "no device code");
  const Json one = {{"sm_90", digest_of("b").to_string()}};
  refuse([&](Json& each) { each["device"] = one, each["offload"] = "hip"; }, "\"hip\" is not for sm_90");
  refuse([](Json& each) { each["offload"] = "cuda"; }, "only OpenMP has the host as a device");
  refuse([](Json& each) { each.erase("offload"); }, "only OpenMP has the host as a device");
}

// A host module with `image` in `section`, as Clang emits it.
std::string module_with(const std::string& image, const std::string& section, unsigned alignment) {
  std::string text = "@before = constant [3 x i8] c\"abc\"\n@image = private constant [" +
                     std::to_string(image.size()) + " x i8] c\"";
  for (const char c : image) {
    char escaped[4];
    std::snprintf(escaped, sizeof(escaped), "\\%02X", static_cast<unsigned char>(c));
    text += escaped;
  }
  return text + "\", section \"" + section + "\", align " + std::to_string(alignment) +
         "\n@wrapper = constant ptr @image\n";
}

TEST(DeviceImage, TakesThePlaceOfHips) {
  EXPECT_EQ(device_runtime("gfx90a"), DeviceRuntime::hip);
  EXPECT_EQ(device_runtime("sm_90a"), DeviceRuntime::cuda);
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      module_with(device_image_placeholder(DeviceRuntime::hip), ".hip_fatbin", 4096), diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  EXPECT_TRUE(wants_device_image(*module));
  ASSERT_TRUE(set_device_image(*module, "code"));
  EXPECT_FALSE(wants_device_image(*module));
  const auto* image =
      llvm::dyn_cast<llvm::GlobalVariable>(module->getGlobalVariable("wrapper")->getInitializer());
  ASSERT_TRUE(image);
  EXPECT_EQ(image->getSection(), ".hip_fatbin");
  EXPECT_EQ(image->getAlign().valueOrOne().value(), 4096u);
}

TEST(DeviceImage, TakesThePlaceholdersPlace) {
  llvm::LLVMContext context;
  const std::string text = module_with(device_image_placeholder(DeviceRuntime::cuda) + '\0', ".nv_fatbin", 8);
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  EXPECT_TRUE(wants_device_image(*module));
  ASSERT_TRUE(set_device_image(*module, std::string("code\0for a GPU", 14)));
  EXPECT_FALSE(wants_device_image(*module));
  const auto* wrapper = module->getGlobalVariable("wrapper");
  const auto* image = llvm::dyn_cast<llvm::GlobalVariable>(wrapper->getInitializer());
  ASSERT_TRUE(image);
  EXPECT_EQ(image->getSection(), ".nv_fatbin");
  EXPECT_EQ(image->getAlign().valueOrOne().value(), 8u);
  EXPECT_EQ(llvm::cast<llvm::ConstantDataSequential>(image->getInitializer())->getRawDataValues(),
            llvm::StringRef("code\0for a GPU", 14));
  const auto again = set_device_image(*module, "x"); // the placeholder is gone
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::integrity);
}

InstructionSet instructions(const std::string& cpu, std::vector<std::string> features = {}) {
  return {"x86_64-pc-linux-gnu", "", "", cpu, "", std::move(features), {}};
}

TEST(FeatureResolver, FlagsAndWrittenAttributes) {
  const auto resolver = FeatureResolver::create(instructions("haswell", {"-avx2"}));
  ASSERT_TRUE(resolver) << resolver.error().message;
  const TargetAttributes plain = *resolver->attributes("");
  EXPECT_EQ(plain.cpu, "haswell");
  EXPECT_THAT(plain.features, HasSubstr("+avx,"));
  EXPECT_THAT(plain.features, HasSubstr("-avx2"));
  // The function's attribute comes after the flags; avx512f is built on avx2.
  const TargetAttributes wide = *resolver->attributes("target:avx512f");
  EXPECT_THAT(wide.features, HasSubstr("+avx2,+avx512f"));
  EXPECT_EQ(resolver->attributes("target:arch=znver3,tune=znver4")->cpu, "znver3");
  EXPECT_EQ(resolver->attributes("target:tune=znver4")->tune, "znver4");
  // A version of target_clones does not get the file's flags.
  EXPECT_THAT(resolver->attributes("clone:default")->features, HasSubstr("+avx2"));
  EXPECT_EQ(resolver->attributes("clone:arch=skylake")->cpu, "haswell");
  EXPECT_THAT(resolver->attributes("clone:arch=skylake")->features, HasSubstr("+clflushopt"));
  for (const char* hostile : {"evil", "evil:avx2", ":", "other"})
    EXPECT_EQ(resolver->attributes(hostile).error().kind, ErrorKind::integrity) << hostile;
  EXPECT_TRUE(resolver->attributes("target:no-such-feature,,=,arch=none"));
}

TEST(FeatureResolver, UnknownNames) {
  EXPECT_EQ(FeatureResolver::create(instructions("i-know-no-such-cpu")).error().kind, ErrorKind::integrity);
  InstructionSet set = instructions("haswell");
  set.triple = "no-such-triple";
  EXPECT_FALSE(FeatureResolver::create(set));
}

TEST(InstructionSetOf, OpenFixedAndHiddenFeatures) {
  target::Cpu target = *target::cpu_by_name("x86_64", "haswell");
  std::erase(target.features, "avx2");
  UnitOptions options;
  options.text["triple"] = "x86_64-pc-linux-gnu";
  InstructionSet open = instruction_set({"", "", {"+sse4.2"}}, options, target);
  EXPECT_EQ(open.cpu, "haswell");
  EXPECT_EQ(open.machine, std::vector<std::string>{"-avx2"}); // hidden by a virtual machine
  EXPECT_EQ(open.features, std::vector<std::string>{"+sse4.2"});
  EXPECT_THAT(FeatureResolver::create(open)->attributes("")->features, HasSubstr("-avx2"));
  const InstructionSet fixed = instruction_set({"znver3", "native", {}}, options, target);
  EXPECT_EQ(fixed.cpu, "znver3");
  EXPECT_EQ(fixed.tune, "haswell");
  EXPECT_TRUE(fixed.machine.empty());
}

class Modules : public ::testing::Test {
protected:
  std::unique_ptr<llvm::Module> parse(const std::string& text) {
    llvm::SMDiagnostic error;
    auto module =
        llvm::parseAssemblyString("target triple = \"x86_64-pc-linux-gnu\"\n" + text, error, context_);
    EXPECT_TRUE(module) << error.getMessage().str();
    return module;
  }
  llvm::LLVMContext context_;
};

const char* const attributes_v1 =
    R"( "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" })";

TEST_F(Modules, CanonicalFormKeepsWhatItCannotDerive) {
  const auto module = parse("define void @plain() #0 { ret void }\ndefine void @odd() #1 { ret void "
                            "}\ndefine void @none() { ret void }\n"
                            "attributes #0 = {" +
                            std::string(attributes_v1) +
                            "\nattributes #1 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+avx\" }\n");
  const auto resolver = FeatureResolver::create(instructions("x86-64"));
  const auto canonical =
      canonicalize(*module, *resolver, [](const llvm::Function&) { return std::string(); });
  ASSERT_TRUE(canonical) << canonical.error().message;
  EXPECT_EQ(canonical->fixed_functions, 1u);
  ASSERT_TRUE(retarget(*module, instructions("haswell"), false, "a.c"));
  const auto feature = [&](const char* name) {
    return module->getFunction(name)->getFnAttribute("target-features").getValueAsString().str();
  };
  EXPECT_THAT(feature("plain"), HasSubstr("+avx2"));
  EXPECT_EQ(feature("odd"), "+avx");
  EXPECT_EQ(feature("none"), "");
  EXPECT_FALSE(module->getFunction("plain")->hasFnAttribute(written_attribute));
  EXPECT_FALSE(module->getFunction("none")->hasFnAttribute(no_target_attribute));
  EXPECT_EQ(module->getSourceFileName(), "a.c");
}

TEST_F(Modules, VscaleRangesFollowFromFeatures) {
  const auto set = [](std::vector<std::string> features, VscaleLimits limits = {}) {
    return InstructionSet{"aarch64-unknown-linux-gnu", "", "",    "generic", "",
                          std::move(features),         {}, limits};
  };
  // Clang's attributes for `flags`: of all functions, of streaming functions, by a flag.
  const auto emitted = [&](const InstructionSet& flags, const std::string& plain,
                           const std::string& streaming) {
    const std::string target = "\"target-cpu\"=\"generic\" \"target-features\"=\"" +
                               FeatureResolver::create(flags)->attributes("")->features + "\"";
    return parse("define void @plain() #0 { ret void }\ndefine void @streaming() #1 { ret void }\n"
                 "declare void @other() #2\nattributes #0 = { " +
                 plain + target + " }\nattributes #1 = { " + streaming + target +
                 " \"aarch64_pstate_sm_enabled\" }\nattributes #2 = { " + target + " }\n");
  };
  const auto canonical = [&](llvm::Module& module, const InstructionSet& flags) {
    return canonicalize(module, *FeatureResolver::create(flags), [](const llvm::Function&) { return ""; })
        ->digest;
  };
  const auto range = [](const llvm::Module& module, const char* name) {
    return module.getFunction(name)->getFnAttribute(llvm::Attribute::VScaleRange).getAsString();
  };
  const InstructionSet without = set({}), with = set({"+sve"});
  const std::string all = "vscale_range(1,16) ";
  auto one = emitted(without, "", "");
  auto two = emitted(with, all, all);
  EXPECT_EQ(canonical(*one, without), canonical(*two, with));
  EXPECT_EQ(range(*two, "plain"), "");
  ASSERT_TRUE(retarget(*one, with, false, "a.c"));
  ASSERT_TRUE(retarget(*two, without, false, "a.c"));
  EXPECT_EQ(range(*one, "plain"), "vscale_range(1,16)");
  EXPECT_EQ(range(*one, "streaming"), "vscale_range(1,16)");
  EXPECT_EQ(range(*one, "other"), "");
  EXPECT_EQ(range(*two, "plain"), "");

  // -msve-vector-bits=256
  const InstructionSet fixed = set({"+sve"}, {2, 2, 0, 0});
  auto three = emitted(fixed, "vscale_range(2,2) ", all);
  canonical(*three, fixed);
  EXPECT_EQ(range(*three, "plain"), "");
  ASSERT_TRUE(retarget(*three, fixed, false, "a.c"));
  EXPECT_EQ(range(*three, "plain"), "vscale_range(2,2)");
  EXPECT_EQ(range(*three, "streaming"), "vscale_range(1,16)");

  // A range that cannot be derived stays.
  auto four = emitted(with, "vscale_range(4,4) ", all);
  canonical(*four, with);
  ASSERT_TRUE(retarget(*four, without, false, "a.c"));
  EXPECT_EQ(range(*four, "plain"), "vscale_range(4,4)");
}

// LTO adds its target's features to functions that have none of their own.
TEST_F(Modules, FunctionsWithoutTargetAttributesGetTheUnits) {
  const auto module = parse("define void @none() { ret void }\ndefine void @cpu() #0 { ret void }\n"
                            "define void @both() #1 { ret void }\ndeclare void @other()\n"
                            "attributes #0 = { \"target-cpu\"=\"nehalem\" }\nattributes #1 = {" +
                            std::string(attributes_v1));
  ASSERT_TRUE(set_plain_attributes(*module, instructions("haswell")));
  const auto attribute = [&](const char* name, const char* kind) -> std::optional<std::string> {
    const llvm::Attribute found = module->getFunction(name)->getFnAttribute(kind);
    return found.isValid() ? std::optional(found.getValueAsString().str()) : std::nullopt;
  };
  EXPECT_EQ(attribute("none", "target-cpu"), "haswell");
  EXPECT_THAT(attribute("none", "target-features"), Optional(HasSubstr("+avx2")));
  EXPECT_EQ(attribute("cpu", "target-cpu"), "nehalem");
  EXPECT_EQ(attribute("cpu", "target-features"), "");
  EXPECT_EQ(attribute("both", "target-cpu"), "x86-64");
  EXPECT_THAT(attribute("both", "target-features"), Optional(Not(HasSubstr("avx"))));
  EXPECT_EQ(attribute("other", "target-cpu"), std::nullopt);
}

TEST_F(Modules, AnAttributeEqualToTheBaseIsKept) {
  const auto with = [&](const std::string& written) {
    const auto module =
        parse("define void @f() #0 { ret void }\nattributes #0 = {" + std::string(attributes_v1) + "\n");
    return canonicalize(*module, *FeatureResolver::create(instructions("x86-64")),
                        [&](const llvm::Function&) { return written; })
        ->digest;
  };
  EXPECT_NE(with(""), with("target:sse2"));
  EXPECT_NE(with(""), with("other"));
}

// Whether or not LLVM's parsers of assembly were registered before.
TEST_F(Modules, TheSymbolTableHasNamesOfAssembly) {
  const auto module = parse("target datalayout = \"e-m:e\"\ntarget triple = \"x86_64-pc-linux-gnu\"\n"
                            "module asm \".globl in_assembly\\0Ain_assembly:\"\n");
  const auto canonical = canonicalize(*module, *FeatureResolver::create(instructions("x86-64")),
                                      [](const llvm::Function&) { return ""; });
  ASSERT_TRUE(canonical) << canonical.error().message;
  auto contents = llvm::getBitcodeFileContents(llvm::MemoryBufferRef(canonical->bitcode, "canonical module"));
  ASSERT_TRUE(static_cast<bool>(contents));
  EXPECT_THAT(contents->StrtabForSymtab.str(), HasSubstr("in_assembly"));
}

TEST_F(Modules, AssemblyThatNamesFiles) {
  for (const char* text : {"module asm \".incbin \\22x\\22\"", "module asm \".INCLUDE \\22x\\22\"",
                           "define void @f() { call void asm \".incbin \\22x\\22\", \"\"() ret void }"})
    EXPECT_FALSE(check_assembly(*parse(text))) << text;
  EXPECT_TRUE(check_assembly(*parse("module asm \"nop\"")));
}

TEST_F(Modules, AssemblyOfInstructionsAlone) {
  const auto accepts = [&](const std::string& assembly) {
    return only_instructions(
        *parse("define void @f() { call void asm \"" + assembly + "\", \"r,i\"(i32 1, ptr @f) ret void }"));
  };
  for (const char* assembly : {"", "nop", "lock; xaddl $0, (%rax)", "1: pause\\0A\\09jmp 1b", "# words",
                               "movq %fs:0, $0", "1: 2: nop"})
    EXPECT_TRUE(accepts(assembly)) << assembly;
  // Directives wherever a statement may begin, even completed by an operand; other line endings; symbols.
  for (const char* assembly :
       {".byte 1", "nop; .byte 1", "nop\\0A .incbin \\22x\\22", "1: .long 2", "1:.long 2", "$1 \\22x\\22",
        "nop;${1:c} x", "{.byte 1|nop}", "\\22.incbin\\22 x", "nop\\0D.byte 1", "nop\\0C.byte 1",
        "/* \\0A */ .byte 1", "label: nop", "a.b : nop", ".Lone: nop", "$1: nop", "1: label: nop", "a = b",
        "nop; a=1"})
    EXPECT_FALSE(accepts(assembly)) << assembly;
  EXPECT_FALSE(only_instructions(*parse("module asm \".symver a, a@V1\"")));
  EXPECT_TRUE(suits_lto(*parse("!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"wchar_size\", i32 4}")));
  EXPECT_FALSE(suits_lto(*parse("!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"wchar_size\", i32 2}")));
}

TEST_F(Modules, NeedsOptimization) {
  const auto needs = [&](const char* text, const char* of_system = "") {
    return needs_optimization(
        *parse(text), [&](const llvm::Function& function) { return function.getName() == of_system; });
  };
  EXPECT_FALSE(needs("define void @f() { ret void }"));
  const char* inline_c = "define available_externally i32 @f() { ret i32 1 }\n"
                         "define i32 @g() { %a = call i32 @f() ret i32 %a }";
  EXPECT_TRUE(needs(inline_c));
  EXPECT_FALSE(needs(inline_c, "f"));
  EXPECT_FALSE(needs("define available_externally i32 @_ZN1A1fEv() { ret i32 1 }\n"
                     "define i32 @g() { %a = call i32 @_ZN1A1fEv() ret i32 %a }"));
  EXPECT_TRUE(needs("declare i1 @llvm.is.constant.i32(i32)\n"
                    "define i1 @g(i32 %a) { %b = call i1 @llvm.is.constant.i32(i32 %a) ret i1 %b }"));
  EXPECT_FALSE(needs("declare i1 @llvm.is.constant.i32(i32)\n"
                     "define i1 @_Z1gi(i32 %a) { %b = call i1 @llvm.is.constant.i32(i32 %a) ret i1 %b }"));
  EXPECT_TRUE(needs("define void @f(i32 %a) { call void asm \"nop\", \"i\"(i32 %a) ret void }"));
  EXPECT_FALSE(needs("define void @f() { call void asm \"nop\", \"i\"(i32 3) ret void }"));
}

} // namespace

} // namespace xaas::ir
