// A capture session in a temporary directory, and the real program as its compiler.
#pragma once

#include "base/directory_testing.h"

#include <xaas/base/process.h>
#include <xaas/frontdoor/toolchains.h>
#include <xaas/ir/options.h>
#include <xaas/ir/unit.h>
#include <xaas/link/note.h>
#include <xaas/lower/lower.h>
#include <xaas/session/session.h>

#include <gtest/gtest.h>

namespace xaas::frontdoor {

// Layout: src/ and build/ belong to the project; one session per ISA level in session-<level>/, one store for
// all.
class FrontDoorTest : public DirectoryTest {
protected:
  void SetUp() override {
    DirectoryTest::SetUp();
    ASSERT_TRUE(directory_);
    for (const char* name : {"src", "build"})
      ASSERT_TRUE(make_directories(path(name)));
    use_level("x86-64");
  }

  // Later commands are captured in the session of this level.
  void use_level(const std::string& level) { use_level(level, level); }

  // The same in a session of this name; one level may have several. It uses the current prefixes and cache.
  void use_level(const std::string& name, const std::string& level) {
    session_.directory = path("session-" + name);
    session_.store = path("store");
    session_.arch = arch_;
    session_.level = level;
    session_.clang = fs::canonical(XAAS_TEST_CLANG);
    session_.flang = fs::canonical(XAAS_TEST_FLANG);
    if (session_.prefixes.empty())
      session_.prefixes = {{path("src"), "."}, {path("build"), "build"}};
    session_.roots = {path("src"), path("build")};
    if (fs::exists(session_.directory))
      return;
    const auto created = create_session(session_, XAAS_PROGRAM);
    ASSERT_TRUE(created) << created.error().message;
  }

  // Runs a shell command in src/ with $CC, $CXX, $FC and $LD set to the front door and $CLANG and $FLANG to
  // the compilers themselves.
  ProcessResult try_sh(const std::string& command) const {
    const auto result = run_process({.arguments = {"sh", "-c", command},
                                     .directory = path("src"),
                                     .environment = {{"CC", tool("clang")},
                                                     {"CXX", tool("clang++")},
                                                     {"FC", tool("flang")},
                                                     {"LD", tool("ld")},
                                                     {"CLANG", session_.clang.string()},
                                                     {"FLANG", session_.flang.string()},
                                                     {"SESSION", session_.directory.string()}}});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : ProcessResult{.exit_code = -1, .output = {}};
  }

  // The same; returns its output. A wrong exit code fails the test.
  std::string sh(const std::string& command, int expected = 0) const {
    const ProcessResult result = try_sh(command);
    EXPECT_EQ(result.exit_code, expected) << command << "\n" << result.output;
    return result.output;
  }

  std::vector<link::Note> notes_of(const std::string& name) const {
    auto notes = link::read_notes(read(name));
    EXPECT_TRUE(notes) << notes.error().message;
    return notes ? *std::move(notes) : std::vector<link::Note>();
  }

  bool is_captured(const std::string& object) const { return !notes_of(object).empty(); }

  // The unit that an object came from.
  ir::Unit unit_of(const std::string& object) const {
    const std::vector<link::Note> notes = notes_of(object);
    EXPECT_EQ(notes.size(), 1u) << object;
    if (notes.empty())
      return {};
    const Json json = stored(notes[0].origin);
    auto unit = ir::parse_unit(JsonReader(json, "unit"));
    EXPECT_TRUE(unit) << unit.error().message;
    return unit ? *unit : ir::Unit();
  }

  ir::UnitOptions options_of(const ir::Unit& unit) const {
    const Json json = stored(unit.options);
    auto options = ir::parse_unit_options(JsonReader(json, "options"));
    EXPECT_TRUE(options) << options.error().message;
    return options ? *options : ir::UnitOptions();
  }

  Json stored(const Digest& digest) const {
    auto text = session_.content().get(digest);
    EXPECT_TRUE(text) << text.error().message;
    auto json = text ? parse_json(*text, "stored") : Result<Json>(Json());
    return json ? *json : Json();
  }

  // The object of a unit for a CPU, as deploying makes it.
  std::string lowered(const ir::Unit& unit, const std::string& cpu) {
    auto target = target::cpu_by_name(arch_, cpu);
    auto bitcode = session_.content().get(unit.module);
    EXPECT_TRUE(target && bitcode);
    if (!target || !bitcode)
      return {};
    auto object = lower::lower({*bitcode, unit, options_of(unit), *target});
    EXPECT_TRUE(object) << object.error().message;
    return object ? std::move(object->bytes) : std::string();
  }

  // The same from the unit's module in prepared form. Empty if an option is in the way.
  std::string lowered_from_prepared(const ir::Unit& unit, const std::string& cpu) {
    auto target = target::cpu_by_name(arch_, cpu);
    auto bitcode = session_.content().get(unit.module);
    EXPECT_TRUE(target && bitcode);
    if (!target || !bitcode || ir::preparation_obstacle(options_of(unit)))
      return {};
    lower::Job job{*bitcode, unit, options_of(unit), *target, lower::Form::prepared};
    auto prepared = lower::lower(job);
    EXPECT_TRUE(prepared) << prepared.error().message;
    if (!prepared)
      return {};
    job.bitcode = std::move(prepared->bytes);
    job.form = lower::Form::object;
    job.prepared = true;
    auto object = lower::lower(job);
    EXPECT_TRUE(object) << object.error().message;
    return object ? std::move(object->bytes) : std::string();
  }

  // Fails if two objects differ in anything that reaches a program.
  void expect_equal(const std::string& ours, const std::string& theirs, const std::string& cpu) {
    const auto one = link::content_digest(ours);
    const auto two = link::content_digest(theirs);
    ASSERT_TRUE(one && two);
    if (*one == *two)
      return;
    write("build/ours.o", ours);
    write("build/theirs.o", theirs);
    const std::string dump = "llvm-objdump-22 -dr -s -t ../build/";
    ADD_FAILURE() << cpu << "\n"
                  << sh(dump + "ours.o > ../build/1; " + dump +
                        "theirs.o > ../build/2; diff ../build/1 ../build/2 | head -60");
  }

  std::string tool(const std::string& name) const { return (session_.directory / "tools" / name).string(); }

  session::Session session_;
  std::string arch_ = "x86_64";
};

} // namespace xaas::frontdoor
