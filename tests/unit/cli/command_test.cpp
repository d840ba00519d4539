#include "cli/testing.h"
#include "command.h"
#include "completion_words.h"

#include <gmock/gmock.h>

#include <set>

namespace xaas::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Commands, NamesAreUniqueAndEachHasHelp) {
  std::set<std::string> names;
  for (const CommandEntry& entry : commands()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    if (entry.alias) {
      EXPECT_TRUE(names.insert(entry.alias).second) << entry.alias;
      EXPECT_EQ(find_command(entry.alias), &entry);
    }
    EXPECT_EQ(find_command(entry.name), &entry);
    EXPECT_STRNE(entry.summary, "") << entry.name;
    EXPECT_THAT(entry.examples, HasSubstr(std::string("xaas ") + entry.name + " ")) << entry.name;
    const std::unique_ptr<Command> command = entry.make();
    ASSERT_TRUE(command) << entry.name;
    const std::unique_ptr<CLI::App> app = make_app(entry, *command);
    for (const char* common : {"--format", "--quiet", "--verbose", "--help"})
      EXPECT_TRUE(app->get_option_no_throw(common)) << entry.name << " " << common;
    for (const CLI::Option* option : app->get_options())
      EXPECT_FALSE(option->get_description().empty()) << entry.name << " " << option->get_name();
  }
  EXPECT_EQ(find_command("nonsense"), nullptr);
}

TEST(Commands, HelpListsTheTableInOrder) {
  const Ended help = run_xaas({"--help"});
  EXPECT_EQ(help.code, 0);
  size_t position = 0;
  for (const CommandEntry& entry : commands()) {
    const size_t found = help.output.find(std::string("\n  ") + entry.name + " ", position);
    EXPECT_EQ(found != std::string::npos, !entry.hidden) << entry.name;
    if (!entry.hidden)
      position = found;
  }
}

TEST(Commands, TheAliasOfCheckWorksButIsHidden) {
  EXPECT_STREQ(find_command("verify")->name, "check");
  EXPECT_EQ(run_xaas({"verify", "--help"}).output, run_xaas({"check", "--help"}).output);
  EXPECT_THAT(run_xaas({"--help"}).output, Not(HasSubstr("verify")));
  for (const CompletionCommand& command : completion_commands())
    EXPECT_NE(command.name, "verify");
  EXPECT_THAT(run_xaas({"verfy"}).errors, Not(HasSubstr("verify")));
}

TEST(Commands, UnknownCommandsAndOptionsGetASuggestion) {
  const Ended command = run_xaas({"depoly"});
  EXPECT_EQ(command.code, 2);
  EXPECT_EQ(command.errors, "xaas: error: 'depoly' is not a command\nhint: did you mean `xaas deploy`?\n");
  const Ended option = run_xaas({"deploy", "oci:a:b", "--dry-rnu"});
  EXPECT_EQ(option.code, 2);
  EXPECT_EQ(option.errors,
            "xaas: error: xaas deploy: has no option --dry-rnu\nhint: did you mean `--dry-run`?\n");
  EXPECT_EQ(run_xaas({}).code, 2);
}

const CompletionWord* find_word(const std::string& command, const std::string& name) {
  static const std::vector<CompletionCommand> all = completion_commands();
  for (const CompletionCommand& each : all)
    if (each.name == command)
      for (const CompletionWord& word : each.words)
        if (word.label == name || std::find(word.names.begin(), word.names.end(), name) != word.names.end())
          return &word;
  return nullptr;
}

TEST(Completion, WordsComeFromTheOptionTables) {
  using Kind = CompletionWord::Kind;
  EXPECT_THAT(find_word("deploy", "--cpu")->values, Contains("haswell"));
  EXPECT_THAT(find_word("deploy", "--cpu")->values, Contains("neoverse-v2"));
  EXPECT_THAT(find_word("build", "--isa")->values, Contains("x86-64-v3"));
  EXPECT_THAT(find_word("build", "--arch")->values, ::testing::ElementsAre("x86_64", "aarch64"));
  for (const char* command : {"build", "copy"})
    EXPECT_THAT(find_word(command, "--platform")->values,
                ::testing::ElementsAre("linux/amd64", "linux/arm64"));
  EXPECT_THAT(find_word("run", "--format")->values, ::testing::ElementsAre("table", "json"));
  EXPECT_EQ(find_word("deploy", "--dry-run")->label, "");
  EXPECT_EQ(find_word("deploy", "--output")->kind, Kind::images);
  EXPECT_THAT(find_word("deploy", "--output")->transports, Contains("rootfs:"));
  EXPECT_EQ(find_word("deploy", "--system")->kind, Kind::machines);
  EXPECT_EQ(find_word("build", "--source")->kind, Kind::directories);
  EXPECT_EQ(find_word("check", "IMAGE")->kind, Kind::images);
  EXPECT_EQ(find_word("manual", "--directory"), nullptr);
}

} // namespace
} // namespace xaas::cli
