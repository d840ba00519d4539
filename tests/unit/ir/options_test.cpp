// The options of a compile: which ones a unit carries, and which ones are refused.
#include "option_members.h"
#include "option_stages.h"

#include <xaas/base/file.h>
#include <xaas/ir/options.h>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInvocation.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <span>
#include <tuple>

namespace xaas::ir {

namespace {

using ::testing::HasSubstr;

clang::CompilerInvocation invocation_of(const std::vector<const char*>& arguments) {
  std::vector<const char*> all = {"-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-o", "a.o", "-x", "c",
                                  "a.c"};
  all.insert(all.begin() + 5, arguments.begin(), arguments.end());
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                       new clang::IgnoringDiagConsumer);
  clang::CompilerInvocation invocation;
  EXPECT_TRUE(clang::CompilerInvocation::CreateFromArgs(invocation, all, diagnostics));
  return invocation;
}

UnitOptions plain_options() {
  return *options_of(invocation_of({}));
}

class RoundTrip : public ::testing::TestWithParam<std::vector<const char*>> {};

TEST_P(RoundTrip, OptionsSurviveInvocationAndJson) {
  const auto options = options_of(invocation_of(GetParam()));
  ASSERT_TRUE(options) << options.error().message;
  if (!GetParam().empty()) {
    EXPECT_FALSE(*options == plain_options()) << "not carried at all";
  }
  clang::CompilerInvocation applied;
  const auto result = apply_options(*options, applied);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(to_json(*options_of(applied)).dump(2), to_json(*options).dump(2));

  const Json json = to_json(*options);
  const auto parsed = parse_unit_options(JsonReader(json, "options"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, *options);
  EXPECT_EQ(parsed->digest(), options->digest());
}

const std::vector<const char*> commands[] = {
    {},
    {"-O2", "-vectorize-loops", "-vectorize-slp"},
    {"-Os"},
    {"-mrelocation-model", "static"},
    {"-mcmodel=large"},
    {"-ffunction-sections", "-fdata-sections"},
    {"-ffp-contract=fast"},
    {"-menable-no-infs", "-menable-no-nans", "-mreassociate"},
    {"-fveclib=libmvec"},
    {"-mprefer-vector-width=256"},
    {"-ftls-model=initial-exec"},
    {"-fbasic-block-sections=all"},
    {"-debug-info-kind=limited", "-dwarf-version=5", "-debugger-tuning=gdb"},
    {"-O2", "-fno-builtin-memcpy"},
    {"-mrelax-relocations=no"},
    {"-falign-loops=32"},
    {"-mthread-model", "single"},
    {"-mvscale-min=2", "-mvscale-max=4"},
};
INSTANTIATE_TEST_SUITE_P(All, RoundTrip, ::testing::ValuesIn(commands));

TEST(Options, WhatReadsFilesOrRunsCodeIsRefused) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"-fpass-plugin=evil.so"},
                                             {"-fsanitize=address"},
                                             {"-fbasic-block-sections=list=/etc/passwd"},
                                             {"-fprofile-instrument=clang"},
                                             {"-mlink-bitcode-file", "b.bc"},
                                             {"-no-integrated-as"}}) {
    const auto options = options_of(invocation_of(arguments));
    ASSERT_FALSE(options) << arguments[0];
    EXPECT_EQ(options.error().kind, ErrorKind::failed);
  }
}

TEST(Options, WhatIsInNoTableOfClangsIsRefusedToo) {
  for (const auto& [argument, words] : std::vector<std::pair<const char*, const char*>>{
           {"-fmemory-profile", "-fmemory-profile"},
           {"-fmemory-profile=/tmp/heap", "-fmemory-profile"},
           {"-fsanitize-coverage-allowlist=list", "-fsanitize-coverage-allowlist"},
           {"-fsanitize-coverage-ignorelist=list", "-fsanitize-coverage-allowlist"},
           {"-fexperimental-sanitize-metadata-ignorelist=list", "-fexperimental-sanitize-metadata"},
           {"-fallow-runtime-check-skip-hot-cutoff=0.5", "-fallow-runtime-check-skip-hot-cutoff"},
           {"-fprofile-sample-use=file", "-fprofile-use"},
           {"-fembed-offload-object=file", "-fembed-offload-object"},
           {"-fembed-bitcode=all", "-fembed-bitcode"},
           {"-split-dwarf-file", "debug information"},
           {"-falloc-token-max=8", "allocation tokens"},
           {"-meabi", "EABI"}}) {
    SCOPED_TRACE(argument);
    std::vector<const char*> arguments = {argument};
    if (argument == std::string("-meabi"))
      arguments.push_back("gnu");
    if (argument == std::string("-split-dwarf-file"))
      arguments.push_back("a.dwo");
    const auto options = options_of(invocation_of(arguments));
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().kind, ErrorKind::failed);
    EXPECT_THAT(options.error().message, HasSubstr(words));
  }
}

// The data members of a class in a Clang header, except those that X-macros define.
std::vector<std::string> data_members(const std::string& header, const std::string& declaration) {
  const auto text = read_file(fs::path(XAAS_LLVM_HEADERS) / header);
  EXPECT_TRUE(text) << text.error().message;
  std::vector<std::string> members;
  size_t at = text->find(declaration);
  EXPECT_NE(at, std::string::npos) << declaration;
  int depth = 0;
  std::string statement;
  for (at = text->find('{', at) + 1; at < text->size() && depth >= 0; ++at) {
    const bool starts_line = (*text)[text->find_last_not_of(" \t", at - 1)] == '\n';
    if (text->compare(at, 2, "//") == 0 || ((*text)[at] == '#' && starts_line)) {
      while ((*text)[at] != '\n' || (*text)[at - 1] == '\\')
        ++at;
    } else if ((*text)[at] == '{') {
      ++depth;
    } else if ((*text)[at] == '}') {
      const bool function = statement.substr(0, statement.find('=')).find('(') != std::string::npos;
      if (--depth == 0 && function) // no semicolon follows
        statement.clear();
    } else if ((*text)[at] == ';' && depth == 0) {
      static const std::regex member(R"((?!\s*(enum|struct|using|static)\b)[^(]*?(\w+)(\[\d+\])?\s*)");
      std::smatch match;
      std::string declared = statement.substr(0, statement.find('='));
      for (std::string before; before != declared;) // std::function<void(int)> is not a function
        declared = std::regex_replace(before = declared, std::regex("<[^<>]*>"), "");
      if (std::regex_match(declared, match, member))
        members.push_back(match[2]);
      statement.clear();
    } else if (depth == 0) {
      statement += (*text)[at];
      if (std::regex_match(statement, std::regex(R"(\s*(public|protected|private):)")))
        statement.clear();
    }
  }
  return members;
}

// Each member is carried, refused, or without effect on machine code. A member that a later Clang adds fails
// this test until option_members.cpp lists it.
TEST(Options, MembersOfClangsClassesAreAllClassified) {
  const std::tuple<const char*, const char*, std::span<const OptionMember>> classes[] = {
      {"clang/Basic/CodeGenOptions.h", "class CodeGenOptions : ", codegen_members()},
      {"clang/Basic/LangOptions.h", "class LangOptions : ", language_members()},
      {"clang/Basic/TargetOptions.h", "class TargetOptions ", target_members()}};
  for (const auto& [header, declaration, members] : classes) {
    std::set<std::string> listed, found;
    for (const OptionMember& member : members)
      EXPECT_TRUE(listed.insert(member.name).second) << header << ": " << member.name << " is listed twice";
    for (const std::string& member : data_members(header, declaration)) {
      found.insert(member);
      EXPECT_TRUE(listed.contains(member)) << header << ": nothing says what becomes of " << member;
    }
    for (const std::string& member : listed)
      EXPECT_TRUE(found.contains(member)) << header << ": has no " << member;
  }
}

clang::CompilerInvocation device_invocation(const std::string& llvm_option) {
  clang::CompilerInvocation invocation = invocation_of({"-mllvm", llvm_option.c_str()});
  invocation.getTargetOpts().Triple = "nvptx64-nvidia-cuda";
  return invocation;
}

TEST(Options, ExactnessOfDeviceArithmetic) {
  const auto exact = options_of(device_invocation("-nvvm-reflect-add=__CUDA_PREC_SQRT=1"));
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->gpu, (std::map<std::string, int64_t>{{"PrecSqrt", 1}}));
  EXPECT_EQ(options_of(device_invocation("-nvptx-prec-divf32=0"))->gpu,
            (std::map<std::string, int64_t>{{"PrecDivF32", 0}}));
  EXPECT_TRUE(options_of(device_invocation("-enable-memcpyopt-without-libcalls"))->gpu.empty());
  for (const char* other :
       {"-nvptx-prec-divf32=9", "-nvptx-prec-divf32=", "-load=evil.so", "-nvptx-prec-divf32=00"})
    EXPECT_FALSE(options_of(device_invocation(other))) << other;
  const Json json = to_json(*exact);
  const auto parsed = parse_unit_options(JsonReader(json, "options"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, *exact);
}

// Options that come from an image are checked name by name and value by value.
TEST(Options, HostileOptions) {
  const auto error = [](const std::function<void(UnitOptions&)>& change) {
    UnitOptions options = plain_options();
    change(options);
    clang::CompilerInvocation invocation;
    const auto result = apply_options(options, invocation);
    EXPECT_FALSE(result);
    return result ? Error() : result.error();
  };
  using Options = std::vector<std::pair<std::string, int64_t>>;
  for (const auto& [name, value] : Options{{"NoSuchOption", 1},
                                           {"OptimizationLevel", 4},
                                           {"OptimizationLevel", -1},
                                           {"TimePasses", 1},
                                           {"VecLib", 1 << 20},
                                           {"RelocationModel", 77}}) {
    const Error refused = error([&](UnitOptions& options) { options.codegen[name] = value; });
    EXPECT_THAT(refused.message, HasSubstr(name));
  }
  for (const auto& [name, value] : Options{{"CUDA", 1},
                                           {"NoHonorInfs", 2},
                                           {"ApproxFunc", -1},
                                           {"DefaultFPContractMode", 4},
                                           {"VScaleMax", 17},
                                           {"ThreadModel", 2}}) {
    const Error refused = error([&](UnitOptions& options) { options.language[name] = value; });
    EXPECT_EQ(refused.kind, ErrorKind::integrity);
    EXPECT_THAT(refused.message, HasSubstr(name));
  }
  for (const auto& [name, value] :
       Options{{"-load", 1}, {"PrecSqrt", 2}, {"PrecDivF32", 3}, {"PrecSqrtF32", -1}})
    EXPECT_THAT(error([&](UnitOptions& options) { options.gpu[name] = value; }).message, HasSubstr(name));
  EXPECT_THAT(error([](UnitOptions& options) { options.text["SplitDwarfOutput"] = "/tmp/x"; }).message,
              HasSubstr("SplitDwarfOutput"));
  EXPECT_THAT(error([](UnitOptions& options) { options.text["CodeModel"] = "huge"; }).message,
              HasSubstr("huge"));
  EXPECT_THAT(error([](UnitOptions& options) { options.lists["PassPlugins"] = {"evil.so"}; }).message,
              HasSubstr("PassPlugins"));
  EXPECT_FALSE(
      error([](UnitOptions& options) { options.text["BBSections"] = "list=/etc/passwd"; }).message.empty());
}

TEST(Options, WhatLtoCannotCarry) {
  UnitOptions options;
  EXPECT_EQ(lto_obstacle(options), "-O0");
  options.codegen = {{"OptimizationLevel", 3}, {"VectorizeLoop", 1}};
  EXPECT_EQ(lto_obstacle(options), "-fno-use-init-array");
  options.codegen["UseInitArray"] = 1;
  options.text = {{"triple", "x86_64-pc-linux-gnu"}, {"BBSections", "none"}, {"CodeModel", "default"}};
  options.lists["NoBuiltinFuncs"] = {"memcpy"};
  options.language["DefaultFPContractMode"] = 2;
  EXPECT_EQ(lto_obstacle(options), std::nullopt);
  const auto with = [&](const auto& change) {
    UnitOptions changed = options;
    change(changed);
    return lto_obstacle(changed);
  };
  EXPECT_EQ(with([](UnitOptions& changed) { changed.codegen["VecLib"] = 1; }), "VecLib");
  EXPECT_EQ(with([](UnitOptions& changed) { changed.codegen["EmulatedTLS"] = 1; }), "EmulatedTLS");
  EXPECT_EQ(with([](UnitOptions& changed) { changed.codegen["EnableTLSDESC"] = 1; }), "EnableTLSDESC");
  EXPECT_EQ(with([](UnitOptions& changed) {
              changed.codegen["EnableTLSDESC"] = 1;
              changed.text["triple"] = "aarch64-unknown-linux-gnu";
            }),
            std::nullopt);
  EXPECT_EQ(with([](UnitOptions& changed) { changed.text["CodeModel"] = "large"; }), "CodeModel");
  EXPECT_EQ(with([](UnitOptions& changed) { changed.text["FloatABI"] = "soft"; }), "FloatABI");
  EXPECT_EQ(with([](UnitOptions& changed) { changed.language["ThreadModel"] = 1; }), "ThreadModel");
}

TEST(Options, WhatKeepsAModuleFromBeingPrepared) {
  UnitOptions options;
  EXPECT_EQ(preparation_obstacle(options), "-O0");
  options.codegen = {{"OptimizationLevel", 0}};
  EXPECT_EQ(preparation_obstacle(options), "-O0");
  options.codegen = {{"OptimizationLevel", 3}, {"VecLib", 1}, {"EmulatedTLS", 1}, {"VectorizeLoop", 1}};
  options.text = {{"CodeModel", "large"}};
  EXPECT_EQ(preparation_obstacle(options), std::nullopt);
  options.codegen["NoExecStack"] = 1;
  EXPECT_EQ(preparation_obstacle(options), std::nullopt);
  options.codegen["InstrumentFunctions"] = 1; // a pass that either half would run
  EXPECT_EQ(preparation_obstacle(options), "InstrumentFunctions");
}

// If this fails with a new version of Clang: find where Clang reads the option, and add it to the list of
// that stage.
TEST(Options, EveryOptionHasAStage) {
#define CODEGENOPT(Name, Bits, Default, Compatibility) EXPECT_TRUE(stage_of(#Name)) << #Name;
#define ENUM_CODEGENOPT(Name, Type, Bits, Default, Compatibility) EXPECT_TRUE(stage_of(#Name)) << #Name;
#include <clang/Basic/CodeGenOptions.def>
  for (const OptionMember& member : codegen_members())
    if (std::holds_alternative<CarriedNumber>(member.fate))
      EXPECT_TRUE(stage_of(member.name)) << member.name;
}

} // namespace

} // namespace xaas::ir
