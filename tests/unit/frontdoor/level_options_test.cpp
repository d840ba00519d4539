// Every option of Clang, as the driver and its jobs take it: what a command does at another ISA level is
// known, or the level is built.
//
// Clang's table of options is walked whole, so that an option that a later Clang adds is tried as well.
#include "arguments.h"
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Options/Options.h>
#include <llvm/Option/OptTable.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/TargetParser/Host.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

namespace xaas::frontdoor {

namespace {

// The ways to write an option: with a value that Clang suggests, a number and a file. Options of its jobs
// follow -Xclang.
std::vector<std::vector<std::string>> spellings(const llvm::opt::OptTable& table,
                                                const llvm::opt::Option& option) {
  using Kind = llvm::opt::Option::OptionClass;
  const bool of_driver = option.hasVisibilityFlag(clang::options::ClangOption);
  if (!of_driver && !option.hasVisibilityFlag(clang::options::CC1Option))
    return {};
  const std::string name = option.getPrefixedName().str();
  std::vector<std::string> values = {"1", "./value"};
  for (const std::string& value : table.suggestValueCompletions(name, ""))
    values.push_back(value);
  std::vector<std::vector<std::string>> all;
  const Kind kind = option.getKind();
  if (kind == Kind::FlagClass)
    all = {{name}};
  else if (kind == Kind::SeparateClass)
    for (const std::string& value : values)
      all.push_back({name, value});
  else if (kind == Kind::JoinedClass || kind == Kind::CommaJoinedClass || kind == Kind::JoinedOrSeparateClass)
    for (const std::string& value : values)
      all.push_back({name + value});
  if (!of_driver)
    for (std::vector<std::string>& words : all) {
      std::vector<std::string> passed;
      for (const std::string& word : words)
        passed.insert(passed.end(), {"-Xclang", word});
      words = passed;
    }
  return all;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words)
    result += " '" + word + "'";
  return result;
}

class LevelOptions : public FrontDoorTest {
protected:
  void SetUp() override {
    FrontDoorTest::SetUp();
    session_.cache = path("cache");
    ASSERT_TRUE(store::Cache::open(session_.cache));
  }

  // What a script can see of a command: its exit code, what it prints, and the files that it leaves.
  using Effect = std::map<std::string, std::string>;

  Effect effect_of(const std::string& command) {
    for (const char* name : {"src", "build"}) {
      fs::remove_all(path(name));
      EXPECT_TRUE(make_directories(path(name)));
    }
    // Its code depends on the instruction set, and its text does not.
    write("src/a.c", "float f(float* a, int n) {\n  float sum = 0;\n  for (int i = 0; i < n; ++i)\n"
                     "    sum += a[i] * a[i] + 2 * a[i];\n  return sum;\n}\n"
                     "int main(void) { float a[4] = {1, 2, 3, 4}; return f(a, 4) != 50; }\n");
    write("src/value", "");
    const ProcessResult result = try_sh(command);
    Effect effect = {{"", std::to_string(result.exit_code) + "\n" + result.output}};
    for (const char* name : {"src", "build"})
      for (const auto& entry : fs::recursive_directory_iterator(path(name)))
        if (entry.is_regular_file()) {
          const std::string file = fs::relative(entry.path(), directory_->path()).string();
          effect[file] = read(file);
        }
    return effect;
  }

  // Runs the command at x86-64, and at x86-64-v3 if it claims to do the same there. Returns what differs.
  std::string difference(const std::string& command) {
    session_.other_levels = {"x86-64-v3"};
    use_level("low", "x86-64");
    for (const auto& note : fs::directory_iterator(session_.directory / "other-levels"))
      fs::remove(note);
    const Effect here = effect_of(command);
    if (session::equal_levels(session_).empty())
      return {};
    ++equal_;
    session_.other_levels = {};
    use_level("high", "x86-64-v3");
    const Effect there = effect_of(command);
    std::string names;
    for (const auto& [name, content] : here)
      if (!there.contains(name) || there.at(name) != content)
        names += " [" + name + "]";
    for (const auto& [name, content] : there)
      if (!here.contains(name))
        names += " [" + name + "]";
    return names.empty()
               ? names
               : names + "\n" + here.at("").substr(0, 300) + "\n----\n" + there.at("").substr(0, 300);
  }

  unsigned equal_ = 0;
};

// The jobs of a command, one word a line, as Clang's driver makes them.
std::string jobs_of(const session::Session& session, const std::vector<std::string>& words) {
  std::vector<std::string> all = {session.clang.string()};
  for (const std::string& word : front_door_arguments(session, words).all)
    all.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : all)
    arguments.push_back(word.c_str());
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                       new clang::IgnoringDiagConsumer());
  clang::driver::Driver driver(all.front(), llvm::sys::getDefaultTargetTriple(), diagnostics);
  const std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(arguments));
  std::string text;
  bool of_cpu = false;
  for (const clang::driver::Command& job : compilation->getJobs())
    for (const char* word : job.getArguments()) {
      text += of_cpu ? "CPU" : word; // where the front door looks for the level
      text += "\n";
      of_cpu = word == std::string_view("-target-cpu");
    }
  compilation->CleanupFileList(compilation->getTempFiles());
  return text;
}

// Where the driver's jobs name the level in another place, the front door notes a difference.
TEST_F(LevelOptions, JobsNameTheLevelAsTheirCpu) {
  write("src/a.c", "int main(void) { return 0; }\n");
  write("src/value", "");
  session::Session low = session_, high = session_;
  low.level = "x86-64";
  high.level = "x86-64-v3";
  const llvm::opt::OptTable& table = clang::getDriverOptTable();
  const fs::path before = fs::current_path();
  fs::current_path(path("src"));
  EXPECT_THAT(jobs_of(low, {"-c", "a.c"}), testing::HasSubstr("\n-target-cpu\nCPU\n"));
  EXPECT_NE(jobs_of(low, {"-march=haswell", "-c", "a.c"}), jobs_of(low, {"-mavx", "-c", "a.c"}));
  for (unsigned id = 1; id <= table.getNumOptions(); ++id)
    for (const std::vector<std::string>& option : spellings(table, table.getOption(id)))
      for (const std::vector<std::string>& mode : {std::vector<std::string>{"-c"}, {}}) {
        std::vector<std::string> words = option;
        words.insert(words.end(), mode.begin(), mode.end());
        words.insert(words.end(), {"a.c", "-o", "out"});
        if (jobs_of(low, words) == jobs_of(high, words))
          continue;
        const std::string found = difference("timeout 60 $CC" + quoted(words) + " </dev/null");
        EXPECT_TRUE(found.empty()) << quoted(words) << found;
      }
  fs::current_path(before);
}

// Takes hours: tools/bench/level_options.sh. XAAS_TEST_SHARD=I/N: a part of the options.
TEST_F(LevelOptions, DISABLED_Run) {
  unsigned shard = 0, shards = 1;
  if (const char* const text = std::getenv("XAAS_TEST_SHARD"))
    ASSERT_EQ(std::sscanf(text, "%u/%u", &shard, &shards), 2);
  const llvm::opt::OptTable& table = clang::getDriverOptTable();
  std::set<std::string> tried;
  for (unsigned id = 1; id <= table.getNumOptions(); ++id)
    for (const std::vector<std::string>& words : spellings(table, table.getOption(id)))
      for (const char* mode :
           {"-O2 -c a.c -o ../build/a.o", "-E a.c -o ../build/a.i", "-O2 a.c -o ../build/a"}) {
        const std::string command = "timeout 60 $CC" + quoted(words) + " " + mode + " </dev/null";
        if (id % shards != shard || !tried.insert(command).second)
          continue;
        const std::string found = difference(command);
        EXPECT_TRUE(found.empty()) << command << found;
      }
  std::cout << tried.size() << " commands, of which " << equal_ << " claim to be the same\n";
}

} // namespace

} // namespace xaas::frontdoor
