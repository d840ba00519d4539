// Runs of the preprocessor, and what is found of them, in a session of the front door.
#pragma once

#include "frontdoor/testing.h"

#include <xaas/known/inputs.h>
#include <xaas/known/invocation.h>
#include <xaas/known/known.h>
#include <xaas/known/read_once.h>
#include <xaas/store/cache.h>

#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace xaas::known {

// Sources that read a macro that x86-64-v3 defines and x86-64 does not, or that both define differently.
inline const char* const sources_that_read[] = {
    "#ifdef __AVX2__\nint f;\n#endif\n",
    "#ifndef __AVX2__\nint f;\n#endif\n",
    "#if defined __AVX2__\nint f;\n#endif\n",
    "#if 0\n#elif defined(__AVX2__)\nint f;\n#endif\n",
    "#if 0\n#elifdef __AVX2__\nint f;\n#endif\n",
    "#if 0\n#elifndef __AVX2__\nint f;\n#endif\n",
    "#if __AVX2__\nint f;\n#endif\n",
    "int f = __AVX2__;\n",
    "#define HAS(x) __##x##2__\nint f = HAS(AVX);\n",
    "#define READ __AVX2__\n#define AGAIN READ\nint f = AGAIN;\n",
    "#define OF(x) defined(x)\n#if OF(__AVX2__)\nint f;\n#endif\n",
    "#if 1 || __AVX2__\nint f;\n#endif\n",
    "#if __AV\\\nX2__\nint f;\n#endif\n",
    "#ifndef __AVX2__\n#define __AVX2__ 1\n#endif\nint f = __AVX2__;\n",
    "#undef __AVX2__\n#define __AVX2__ 3\nint f = __AVX2__;\n",
    ("#pragma push_macro(\"__AVX2__\")\n#undef __AVX2__\n#define __AVX2__ 4\nint f = __AVX2__;\n"
     "#pragma pop_macro(\"__AVX2__\")\nint g = __AVX2__;\n"),
    "#pragma omp parallel for num_threads(__AVX2__)\n",
    "_Pragma(\"GCC diagnostic ignored \\\"-Wall\\\"\") int f = __AVX2__;\n",
    "#include __AVX2__\n",
    "#line __AVX2__ \"b.c\"\nint f;\n",
    "int f = __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16;\n",
    "#pragma clang final(__AVX2__)\nint f;\n",
    "#pragma clang deprecated(__AVX2__)\nint f;\n",
    "#pragma clang final(/*\n*/ __AVX2__)\nint f;\n",
    "# /*\n*/ pragma clang final(__AVX2__)\nint f;\n",
    "#pragma GCC system_header\n#pragma clang final(__AV\\ \nX2__)\nint f;\n",
    "_Pragma(\"clang final(__AVX2__)\") int f;\n",
    "#define SAY(x) _Pragma(#x)\nSAY(clang final(__AVX2__)) int f;\n",
    "#pragma GCC system_header\n#pragma GCC poison __AVX2__\nint f;\n",
    "#pragma GCC system_header\n#pragma __AVX2__ x\nint f;\n",
    "#pragma GCC system_header\n#pragma x __AV\\\nX2__\nint f;\n",
};

class Inputs : public frontdoor::FrontDoorTest {
protected:
  void use_cache(const std::string& name) {
    session_.cache = path(name);
    ASSERT_TRUE(store::Cache::open(session_.cache));
  }

  void SetUp() override {
    FrontDoorTest::SetUp();
    use_cache("cache");
    before_ = fs::current_path();
    fs::current_path(path("src"));
  }
  void TearDown() override {
    fs::current_path(before_);
    FrontDoorTest::TearDown();
  }

  // The command of Clang's cc1 for a compile.
  std::shared_ptr<clang::CompilerInvocation> invocation_of(const std::string& flags,
                                                           const std::string& file) {
    std::vector<std::string>& words = commands_[fs::current_path().string() + ' ' + flags + ' ' + file];
    if (words.empty())
      words = command_of(flags, file);
    clang::TextDiagnosticBuffer messages;
    auto invocation = parse_command(words, messages);
    EXPECT_TRUE(invocation) << flags;
    return invocation;
  }

  std::vector<std::string> command_of(const std::string& flags, const std::string& file) {
    const std::string jobs = sh("cd " + fs::current_path().string() + " && $CLANG -### " + flags + " -c " +
                                file + " -o ../build/out.o 2>&1");
    const size_t start = jobs.find("\"-cc1\"");
    std::vector<std::string> words;
    bool inside = false;
    for (size_t i = start + 6; i < jobs.size() && jobs[i] != '\n'; ++i) {
      if (jobs[i] == '"') {
        inside = !inside;
        if (inside)
          words.emplace_back();
      } else if (inside) {
        i += jobs[i] == '\\';
        words.back() += jobs[i];
      }
    }
    EXPECT_FALSE(words.empty()) << jobs;
    return words;
  }

  // Runs the preprocessor and files what it read.
  std::optional<Preprocessed> run(const std::string& flags, const std::string& file = "a.c") {
    const auto invocation = invocation_of(flags, file);
    auto result = preprocess(session_, *invocation, files_read_once());
    if (result)
      remember_inputs(session_, *invocation, unit_, *result);
    return result;
  }

  // What an earlier run gives for this one. It must be what the preprocessor gives.
  std::optional<FoundInputs> find(const std::string& flags, const std::string& file = "a.c") {
    const auto invocation = invocation_of(flags, file);
    auto found = find_inputs(session_, *invocation, unit_, files_read_once());
    const auto truth = preprocess(session_, *invocation, files_read_once());
    if (found && truth) {
      EXPECT_TRUE(is_result_of_run(session_, *found, *truth)) << flags;
      EXPECT_EQ(found->preprocessed.features, truth->features);
      EXPECT_EQ(found->preprocessed.atomic_width, truth->atomic_width);
    }
    EXPECT_TRUE(truth || !found) << flags;
    return found;
  }

  ir::Unit unit_{.source = "a.c"};
  std::map<std::string, std::vector<std::string>> commands_; // Clang's driver takes most of the time
  fs::path before_;
};

} // namespace xaas::known
