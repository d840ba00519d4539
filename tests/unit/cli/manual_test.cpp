#include "cli/testing.h"
#include "command.h"
#include "manual_texts.h"

#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/config/settings.h>

#include <gmock/gmock.h>

#include <set>

namespace xaas::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Manual, EveryCommandHasAText) {
  for (const CommandEntry& entry : commands())
    if (!entry.hidden)
      EXPECT_FALSE(manual_paragraphs(entry.name).empty()) << "no src/cli/manual/" << entry.name << ".txt";
  EXPECT_FALSE(manual_paragraphs("xaas").empty());
  EXPECT_FALSE(manual_paragraphs("xaas-config.json").empty());
  EXPECT_TRUE(manual_paragraphs("nonsense").empty());
}

TEST(Manual, EntriesHaveAMeaningAndNameKnownCommandsAndOptions) {
  std::set<std::string> known;
  for (const CommandEntry& entry : commands()) {
    known.insert(entry.name);
    const std::unique_ptr<Command> command = entry.make();
    const auto app = make_app(entry, *command); // owns the options
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames())
        known.insert("--" + name);
  }
  for (const auto* entries : {&exit_codes(), &manual_files(), &manual_variables()}) {
    EXPECT_GE(entries->size(), 7u);
    for (const ManualEntry& entry : *entries) {
      EXPECT_NE(entry.meaning, "") << entry.term;
      for (const std::string& word : split(entry.commands, ' '))
        EXPECT_TRUE(known.count(word[0] == '!' ? word.substr(1) : word)) << entry.term << ": " << word;
    }
  }
}

TEST(Manual, EveryVariableOfASettingHasAnEntry) {
  std::set<std::string> terms;
  for (const ManualEntry& entry : manual_variables())
    EXPECT_TRUE(terms.insert(entry.term).second) << entry.term;
  for (const config::Definition& definition : config::definitions())
    if (definition.variable)
      EXPECT_TRUE(terms.count(definition.variable)) << definition.variable;
}

TEST(Manual, PagesHaveTheTextsThatApply) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const fs::path pages = directory.path() / "man1";
  ASSERT_EQ(run_xaas({"manual", "--directory", directory.path().string()}).code, 0);
  size_t count = 0;
  for (const CommandEntry& entry : commands()) {
    const auto page = read_file(pages / ("xaas-" + std::string(entry.name) + ".1"));
    ASSERT_EQ(bool(page), !entry.hidden) << entry.name;
    if (!page)
      continue;
    ++count;
    for (const char* title : {".SH DESCRIPTION\n", ".SH OPTIONS\n", ".SH EXIT STATUS\n", ".SH EXAMPLES\n"})
      EXPECT_THAT(*page, HasSubstr(title)) << entry.name;
  }
  EXPECT_EQ(list_directory(pages)->size(), count + 1); // and xaas(1); none for an alias
  EXPECT_THAT(*read_file(pages / "xaas-build.1"), HasSubstr("XAAS_CLANG"));
  EXPECT_THAT(*read_file(pages / "xaas-check.1"), Not(HasSubstr("XAAS_CLANG")));
  EXPECT_THAT(*read_file(pages / "xaas-copy.1"), HasSubstr("\\-\\-platform"));
}

} // namespace
} // namespace xaas::cli
