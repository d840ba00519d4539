// Helpers of the project module's tests: a tiny project of any kind, and a place to build it.
#pragma once

#include <xaas/base/process.h>
#include <xaas/project/project.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace xaas::project {

constexpr const char* main_c = "#include <stdio.h>\n"
                               "#ifndef WORD\n#define WORD \"plain\"\n#endif\n"
                               "int main(void) { puts(WORD); return 0; }\n";

constexpr const char* cmake_lists =
    "cmake_minimum_required(VERSION 3.13)\nproject(tiny C)\n"
    "add_executable(tiny main.c)\n"
    "if(WORD)\ntarget_compile_definitions(tiny PRIVATE WORD=\"${WORD}\")\nendif()\n"
    "message(STATUS \"type=${CMAKE_BUILD_TYPE} prefix=${CMAKE_INSTALL_PREFIX}\")\n"
    "install(TARGETS tiny)\n";

constexpr const char* makefile = "tiny: main.c\n\t$(CC) -o $@ main.c\n"
                                 "install: tiny\n\tinstall -D tiny $(DESTDIR)$(PREFIX)/bin/tiny\n"
                                 "other: main.c\n\t$(CC) -DWORD='\"other\"' -o other main.c\n";

class ProjectTest : public testing::Test {
protected:
  void SetUp() override {
    const std::optional<fs::path> c = find_program("clang-22"), cxx = find_program("clang++-22");
    ASSERT_TRUE(c && cxx) << "the tests need clang-22";
    application_.name = "tiny";
    build_.application = &application_;
    build_.source = root() / "src";
    build_.build = root() / "build";
    build_.destination = root() / "dest";
    build_.log = root() / "build.log";
    build_.tools = {*c, *cxx, {}, {}};
    build_.jobs = 2;
    ASSERT_TRUE(make_directories(build_.source));
    ASSERT_TRUE(make_directories(build_.build));
  }

  const fs::path& root() const { return directory_.path(); }

  void source(const std::string& name, const std::string& text, unsigned mode = 0644) {
    ASSERT_TRUE(make_directories((build_.source / name).parent_path()));
    ASSERT_TRUE(write_file(build_.source / name, text, mode, false));
  }

  void again() { // another configuration of the same sources
    remove_tree(build_.build);
    remove_tree(build_.destination);
    ASSERT_TRUE(make_directories(build_.build));
  }

  std::string log() const {
    const Result<std::string> text = read_file(build_.log);
    return text ? *text : "";
  }

  std::string content(const fs::path& path) const {
    const Result<std::string> text = read_file(path);
    return text ? *text : "missing: " + path.string();
  }

  void expect_built() {
    const Result<Built> result = build(build_);
    ASSERT_TRUE(result) << result.error().message << "\n" << result.error().hint << "\n" << log();
  }

  Error expect_error(ErrorKind kind) {
    const Result<Built> result = build(build_);
    EXPECT_FALSE(result) << log();
    if (result)
      return {};
    EXPECT_EQ(result.error().kind, kind) << result.error().message;
    return result.error();
  }

  std::string output_of(const std::string& installed) const {
    const Result<ProcessResult> result =
        run_process({.arguments = {(build_.destination / installed).string()}});
    return result ? result->output : result.error().message;
  }

  // Every path below the sources with its time, which building must not change.
  std::map<std::string, fs::file_time_type> snapshot() const {
    std::map<std::string, fs::file_time_type> result;
    for (const auto& entry : fs::recursive_directory_iterator(build_.source))
      if (!entry.is_symlink())
        result[entry.path().string()] = entry.last_write_time();
    return result;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  spec::Application application_;
  ConfigurationBuild build_;
};

} // namespace xaas::project
