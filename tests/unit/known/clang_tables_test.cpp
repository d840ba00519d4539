// What records of inputs assume of Clang, for all members of its tables: macros and builtins, the language's
// features, and the headers of intrinsics.
#include "known/inputs_testing.h"
#include "predefined_macros.h"

#include <clang/Basic/Builtins.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/Preprocessor.h>

#include <set>

namespace xaas::known {

namespace {

struct MacrosAndBuiltins {
  std::vector<std::string> macros;                                 // that are built in
  std::vector<std::pair<std::string, std::string>> needs_features; // functions, and what they need
};

class CollectAction : public clang::PreprocessorFrontendAction {
public:
  explicit CollectAction(MacrosAndBuiltins& result) : result_(result) {}

protected:
  void ExecuteAction() override {
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    for (const auto& [name, state] : preprocessor.macros(false))
      if (const clang::MacroInfo* info = preprocessor.getMacroInfo(name); info && info->isBuiltinMacro())
        result_.macros.push_back(name->getName().str());
    clang::Builtin::Context& builtins = preprocessor.getBuiltinInfo();
    builtins.initializeBuiltins(preprocessor.getIdentifierTable(), preprocessor.getLangOpts());
    for (const auto& entry : preprocessor.getIdentifierTable())
      if (const unsigned id = entry.getValue()->getBuiltinID(); id != clang::Builtin::NotBuiltin)
        if (const std::string needs = builtins.getRequiredFeatures(id); !needs.empty())
          result_.needs_features.emplace_back(entry.getKey().str(), needs);
  }

private:
  MacrosAndBuiltins& result_;
};

class OfClang : public Inputs {
protected:
  MacrosAndBuiltins collected(const std::string& flags, const std::string& file) {
    clang::CompilerInstance compiler(invocation_of(flags, file));
    compiler.createVirtualFileSystem(llvm::vfs::getRealFileSystem());
    compiler.createDiagnostics();
    MacrosAndBuiltins result;
    CollectAction action(result);
    EXPECT_TRUE(compiler.ExecuteAction(action));
    return result;
  }
};

TEST_F(OfClang, EveryBuiltinMacroIsExamined) {
  write("src/a.c", "int f;\n");
  write("src/a.cpp", "int f;\n");
  const std::set<std::string> time = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
  for (const auto& [flags, file] : {std::pair("-std=c23", "a.c"), std::pair("-std=c++23", "a.cpp")}) {
    const std::vector<std::string> macros = collected(flags, file).macros;
    EXPECT_GT(macros.size(), 20u);
    for (const std::string& macro : macros)
      EXPECT_EQ(kind_of_builtin_macro(macro) == BuiltinMacro::other, time.count(macro) != 0) << macro;
  }
}

TEST_F(OfClang, BuiltinsThatNeedFeaturesAreNamedAfterTheirArchitecture) {
  write("src/a.cpp", "int f;\n");
  const auto needs = collected("-std=c++23", "a.cpp").needs_features;
  EXPECT_GT(needs.size(), 500u);
  for (const auto& [name, features] : needs)
    EXPECT_NE(name.find("ia32"), std::string::npos) << name << " needs " << features;
}

TEST_F(OfClang, HeadersDoNotAskForBuiltinsThatNeedFeatures) {
  const fs::path headers = session_.clang.parent_path().parent_path() / "lib/clang/22/include";
  unsigned count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(headers)) {
    if (!entry.is_regular_file())
      continue;
    ++count;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text);
    for (size_t at = text->find("__has_builtin"); at != std::string::npos;
         at = text->find("__has_builtin", at + 1))
      EXPECT_EQ(text->substr(at, 40).find("ia32"), std::string::npos) << entry.path();
  }
  EXPECT_GT(count, 100u);
}

// The answers of __has_feature and __has_extension are the same for all levels.
TEST_F(OfClang, FeaturesOfTheLanguageAreThoseOfEveryLevel) {
  std::string source;
#define FEATURE(Name, Condition) source += "int f_" #Name " = __has_feature(" #Name ");\n";
#define EXTENSION(Name, Condition) source += "int e_" #Name " = __has_extension(" #Name ");\n";
#include <clang/Basic/Features.def>
  write("src/a.cpp", source);
  std::optional<Preprocessed> first;
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids", "znver5"}) {
    const auto result = run("-std=c++23 -march=" + std::string(cpu), "a.cpp");
    ASSERT_TRUE(result);
    first = first.value_or(*result);
    EXPECT_EQ(result->text, first->text) << cpu;
  }
}

} // namespace

} // namespace xaas::known
