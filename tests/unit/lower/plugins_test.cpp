// Pass plugins that misbehave, compiled from tests/plugins/hostile.c: each ends as an error that names it.
#include "lower/testing.h"

#include <xaas/base/confine.h>
#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/lower/plugins.h>

#include <gmock/gmock.h>

namespace xaas::lower {
namespace {

using ::testing::HasSubstr;

constexpr const char* answer = "define i32 @answer() {\n  ret i32 42\n}\n";

class PassPlugins : public ::testing::Test {
protected:
  // The plugin with these macros.
  fs::path hostile(const std::string& name, const std::vector<std::string>& options) const {
    const fs::path file = directory_.path() / (name + ".so");
    std::vector<std::string> arguments = {
        XAAS_TEST_CLANG, "-shared", "-fPIC", "-w", XAAS_TEST_PLUGINS "/hostile.c", "-o", file.string()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto result = run_process({.arguments = arguments});
    EXPECT_TRUE(result && result->exit_code == 0) << name;
    return file;
  }

  // What lowering a module with it reports.
  static Error lowering(const fs::path& file, double cpu_seconds) {
    const Result<PassPlugin> plugin = open_plugin(file);
    if (!plugin)
      return plugin.error();
    Job job = job_of(answer);
    job.plugins = {{*plugin, {}}};
    const auto source = [&](size_t) { return Result<Job>(job); };
    const auto sink = [](size_t, const Object&) { return Result<void>(); };
    const Result<void> lowered = lower_all(1, source, sink, {.cpu_seconds = cpu_seconds});
    return lowered ? make_error(ErrorKind::usage, "it was lowered") : lowered.error();
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create(temporary_root(), "xaas-plugins-");
};

TEST_F(PassPlugins, SayWhatTheyAre) {
  const Result<PassPlugin> plugin = open_plugin(hostile("named", {"-DOPENS"}));
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_EQ(to_string(*plugin), "hostile 1");
  EXPECT_EQ(plugin->options, std::vector<std::string>());
  EXPECT_EQ(plugin->digest, digest_of(*read_file(plugin->file)));
}

TEST_F(PassPlugins, ThatLoopAreStopped) {
  const fs::path at_start = hostile("at-start", {"-DLOOPS_AT_START"});
  const Result<PassPlugin> opened = open_plugin(at_start, 1);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr(at_start.string()));
  EXPECT_THAT(opened.error().message, HasSubstr("more than 1 seconds of CPU time"));
  const Error error = lowering(hostile("in-pass", {"-DLOOPS"}), 1);
  EXPECT_THAT(error.message, HasSubstr("with the pass plugin hostile 1"));
  EXPECT_THAT(error.message, HasSubstr("more than 1 seconds of CPU time"));
}

TEST_F(PassPlugins, ThatCrashAreNamedAndBlamed) {
  const Error error = lowering(hostile("crash", {"-DCRASHES"}), 60);
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("with the pass plugin hostile 1"));
  EXPECT_THAT(error.message, HasSubstr("probably a fault of the plugin"));
}

// With the layers of confinement that this system has: without them, the test would show nothing.
TEST_F(PassPlugins, CanUseNeitherFilesNorSockets) {
  if (!missing_confinement().empty())
    GTEST_SKIP() << "this system lacks Landlock or seccomp";
  const Error running = lowering(hostile("opens", {"-DOPENS"}), 60);
  EXPECT_THAT(running.message,
              HasSubstr("with a module: file refused, new file refused, socket refused, process refused"));
  const Error starting = lowering(hostile("opens-at-start", {"-DOPENS_AT_START"}), 60);
  EXPECT_THAT(starting.message,
              HasSubstr("at start: file refused, new file refused, socket refused, process refused"));
}

TEST_F(PassPlugins, OfAnotherLlvmAreRefused) {
  const Result<PassPlugin> interface = open_plugin(hostile("old", {"-DAPI=1"}));
  ASSERT_FALSE(interface);
  EXPECT_EQ(interface.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(interface.error().message, HasSubstr("Got version 1"));
  const Result<PassPlugin> symbol = open_plugin(hostile("unknown", {"-DNEEDS_UNKNOWN"}));
  ASSERT_FALSE(symbol);
  EXPECT_EQ(symbol.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(symbol.error().message, HasSubstr("llvm::ValueOf9::oldLayout()"));
}

TEST_F(PassPlugins, ThatAreNoneAreRefused) {
  const fs::path text = directory_.path() / "text.so";
  ASSERT_TRUE(write_file(text, "text"));
  const Result<PassPlugin> refused = open_plugin(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfied);
  const Result<PassPlugin> entry = open_plugin(hostile("entry", {"-DNO_ENTRY"}));
  ASSERT_FALSE(entry);
  EXPECT_THAT(entry.error().message, HasSubstr("does not define llvmGetPassPluginInfo"));
  const Result<PassPlugin> missing = open_plugin(directory_.path() / "none.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
}

} // namespace
} // namespace xaas::lower
