// Manual pages (man(7)): the options come from the tables that also give --help, the texts from manual/*.txt.
#include "command.h"
#include "manual_texts.h"

#include <xaas/base/text.h>
#include <xaas/config/settings.h>
#include <xaas/image/bundle.h>

namespace xaas::cli {

namespace {

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '~')
      result += "\\(ti";
    else if (c == '"')
      result += "\\(dq"; // also within the quotes of a request
    else
      result += c;
  }
  // A leading dot or apostrophe would start a request.
  if (!result.empty() && (result[0] == '.' || result[0] == '\''))
    result.insert(0, "\\&");
  return result;
}

// Filled to the width of a terminal, so that the source of a page is readable, too.
std::string paragraph(const std::string& text) {
  constexpr size_t width = 78;
  std::string filled, line;
  for (const std::string& word : split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + escape(word).size() > width) {
      filled += line + "\n";
      line.clear();
    }
    line += line.empty() ? escape(word) : " " + escape(word);
  }
  return filled + line + "\n";
}

std::string head(const std::string& title, const std::string& name, const std::string& summary,
                 int section = 1) {
  return ".TH " + title + " " + std::to_string(section) + " \"\" \"xaas " + image::tool_version() +
         "\"\n.SH NAME\n" + escape(name) + " \\- " + escape(summary) + "\n";
}

std::string verbatim(const std::string& lines) {
  std::string text = ".nf\n";
  for (const std::string& line : split(lines, '\n'))
    text += escape(line) + "\n";
  return text + ".fi\n";
}

std::string item(const std::string& term, const std::string& meaning) {
  return ".TP\n.B \"" + escape(term) + "\"\n" + paragraph(meaning);
}

// The description of a page; no section if it has no text.
std::string description(const std::string& page) {
  std::string text;
  for (const std::string& each : manual_paragraphs(page))
    text += (text.empty() ? ".SH DESCRIPTION\n" : ".PP\n") + paragraph(each);
  return text;
}

// The entries that apply to the command; all entries without a command. No section if there are none.
std::string section(const char* title, const std::vector<ManualEntry>& entries, const std::string& command,
                    const CLI::App* app) {
  std::string text;
  for (const ManualEntry& entry : entries)
    if (!app || entry.applies_to(command, *app))
      text += item(entry.term, entry.meaning);
  return text.empty() ? text : std::string(".SH ") + title + "\n" + text;
}

std::string sections(const std::string& command, const CLI::App* app) {
  return section("EXIT STATUS", exit_codes(), command, app) +
         section("ENVIRONMENT", manual_variables(), command, app) +
         section("FILES", manual_files(), command, app);
}

std::string command_page(const CommandEntry& entry) {
  const std::unique_ptr<Command> command = entry.make();
  const std::unique_ptr<CLI::App> app = make_app(entry, *command);
  std::string synopsis = "xaas " + std::string(entry.name);
  std::string options;
  for (const CLI::Option* option : app->get_options()) {
    const bool positional = option->get_positional();
    if (positional)
      synopsis += " " + option->get_name(true);
    std::string term = option->get_name(positional, true);
    if (!positional && !option->get_type_name().empty() && option->get_expected_max() > 0)
      term += " " + option->get_type_name();
    options += item(term, option->get_description());
  }
  return head("XAAS-" + to_upper(entry.name), std::string("xaas-") + entry.name, entry.summary) +
         ".SH SYNOPSIS\n.B " + escape(synopsis) + "\n[OPTIONS]\n" + description(entry.name) +
         ".SH OPTIONS\n" + options + sections(entry.name, app.get()) + ".SH EXAMPLES\n" +
         verbatim(entry.examples) + ".SH SEE ALSO\n.BR xaas (1)" +
         (entry.settings ? ",\n.BR xaas\\-config.json (5)\n" : "\n");
}

std::string overview_page() {
  std::string text = head("XAAS", "xaas", "specialize containers on the machine that runs them");
  text += ".SH SYNOPSIS\n.B xaas\nCOMMAND [OPTIONS]\n" + description("xaas") + ".SH COMMANDS\n";
  for (const CommandEntry& entry : commands())
    if (!entry.hidden)
      text += ".TP\n.BR xaas\\-" + escape(entry.name) + " (1)\n" + paragraph(entry.summary);
  return text + sections("", nullptr) + ".SH SEE ALSO\n.BR xaas\\-config.json (5)\n";
}

std::string variable_and_option(const config::Definition& definition) {
  std::vector<std::string> others;
  if (definition.variable)
    others.push_back(std::string("$") + definition.variable);
  if (definition.option)
    others.push_back(std::string("--") + definition.option);
  return others.empty() ? "" : " (" + join(others, ", ") + ")";
}

std::string settings_page() {
  std::string text = head("XAAS-CONFIG.JSON", "xaas-config.json", "settings of xaas", 5);
  text += description("xaas-config.json") + ".SH SETTINGS\n";
  for (const config::Definition& definition : config::definitions())
    text += item(definition.key, definition.meaning + variable_and_option(definition));
  text += item("registries",
               "per-registry settings, by HOST[:PORT]: tls_verify (false: accept any certificate, and "
               "plain HTTP), cert_dir");
  return text + ".SH EXAMPLES\n" +
         verbatim("{\n  \"cache_directory\": \"/scratch/${USER}/xaas-cache\",\n  \"login_jobs\": 4,\n"
                  "  \"registries\": {\"registry.local:5000\": {\"tls_verify\": false}}\n}") +
         ".SH SEE ALSO\n.BR xaas (1),\n.BR xaas\\-config (1)\n";
}

class ManualCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("--directory", directory_,
                   "Directory to write the pages to, in man1 and man5; created if it does not exist")
        ->required()
        ->type_name("DIR");
  }

  Result<void> run() override {
    const fs::path pages = fs::path(directory_) / "man1", formats = fs::path(directory_) / "man5";
    XAAS_CHECK(make_directories(pages));
    XAAS_CHECK(make_directories(formats));
    XAAS_CHECK(write_file(formats / "xaas-config.json.5", settings_page()));
    XAAS_CHECK(write_file(pages / "xaas.1", overview_page()));
    for (const CommandEntry& entry : commands())
      if (!entry.hidden)
        XAAS_CHECK(write_file(pages / ("xaas-" + std::string(entry.name) + ".1"), command_page(entry)));
    return {};
  }

private:
  std::string directory_;
};

} // namespace

std::unique_ptr<Command> make_manual_command() {
  return std::make_unique<ManualCommand>();
}

} // namespace xaas::cli
