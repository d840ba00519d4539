// Manual pages (man(7)) from the option tables that also give --help.
#include "command.h"
#include "manual_tables.h"

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
  // A line that starts with a dot or an apostrophe would be a request.
  if (!result.empty() && (result[0] == '.' || result[0] == '\''))
    result.insert(0, "\\&");
  return result;
}

// Filled to lines that readers of the source can see whole, too.
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

// Those that apply; without a command all. No section where none does.
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
         ".SH SYNOPSIS\n.B " + escape(synopsis) + "\n[OPTIONS]\n" +
         (*entry.description ? ".SH DESCRIPTION\n" + paragraph(entry.description) : "") + ".SH OPTIONS\n" +
         options + sections(entry.name, app.get()) + ".SH EXAMPLES\n" + verbatim(entry.examples) +
         ".SH SEE ALSO\n.BR xaas (1)" + (entry.settings ? ",\n.BR xaas\\-config.json (5)\n" : "\n");
}

std::string overview_page() {
  std::string text = head("XAAS", "xaas", "specialize containers on the machine that runs them");
  text += ".SH SYNOPSIS\n.B xaas\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n" +
          paragraph("Ships an application as LLVM IR in an OCI image, and takes the performance decisions "
                    "on the target: detects the machine, chooses the configuration, lowers the IR for "
                    "exactly that CPU, links, and writes an ordinary OCI image.") +
          ".SH COMMANDS\n";
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
  text += ".SH DESCRIPTION\n" +
          paragraph("A setting is taken from the first of these that has it: the command line, the "
                    "environment, xaas-config.json in the current directory, ~/.config/xaas/config.json "
                    "($XDG_CONFIG_HOME) of the user, /etc/xaas/config.json ($XAAS_SITE_CONFIG) of the site; "
                    "else it is built in. `xaas config show` says which.") +
          ".PP\n" +
          paragraph("The files are JSON objects, with comments if you like. A path is absolute or begins "
                    "with ~/ or ${NAME}, where ${NAME} stands for a variable of the environment. null is "
                    "the built-in value again. An unknown key or a wrong value is an error.") +
          ".PP\n" +
          paragraph("The files of the site and the user must belong to root, the user or the owner of the "
                    "program, and be writable by nobody else. The file in the current directory comes with "
                    "sources of others: it may only have `jobs` and `offline`: true, and never gets more "
                    "jobs than there would be without it.") +
          ".SH SETTINGS\n";
  for (const config::Definition& definition : config::definitions())
    text += item(definition.key, definition.meaning + variable_and_option(definition));
  text += item("registries", "what differs for one registry, by HOST[:PORT]: tls_verify (false: any "
                             "certificate will do, and plain HTTP), cert_dir");
  return text + ".SH EXAMPLES\n" +
         verbatim("{\n  \"cache_directory\": \"/scratch/${USER}/xaas-cache\",\n  \"login_jobs\": 4,\n"
                  "  \"registries\": {\"registry.local:5000\": {\"tls_verify\": false}}\n}") +
         ".SH SEE ALSO\n.BR xaas (1),\n.BR xaas\\-config (1)\n";
}

class ManualCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("--directory", directory_,
                   "Where man1 and man5 with the pages go; made if they are not there")
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
