// Manual pages (man(7)) from the option tables that also give --help.
#include "command.h"

#include <xaas/base/text.h>
#include <xaas/image/bundle.h>

namespace xaas::cli {

namespace {

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\\\";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  // A line that starts with a dot or an apostrophe would be a request.
  if (!result.empty() && (result[0] == '.' || result[0] == '\''))
    result.insert(0, "\\&");
  return result;
}

std::string head(const std::string& title, const std::string& name, const std::string& summary) {
  return ".TH " + title + " 1 \"\" \"xaas " + image::tool_version() + "\"\n.SH NAME\n" + escape(name) +
         " \\- " + escape(summary) + "\n";
}

std::string examples(const std::string& lines) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : split(lines, '\n'))
    text += escape(line) + "\n";
  return text + ".fi\n";
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
    options += ".TP\n\\fB" + escape(term) + "\\fR\n" + escape(option->get_description()) + "\n";
  }
  std::string title = "XAAS-" + std::string(entry.name);
  for (char& c : title)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return head(title, std::string("xaas-") + entry.name, entry.summary) + ".SH SYNOPSIS\n.B " +
         escape(synopsis) + "\n[OPTIONS]\n" +
         (*entry.description ? ".SH DESCRIPTION\n" + escape(entry.description) + "\n" : "") +
         examples(entry.examples) + ".SH OPTIONS\n" + options + ".SH SEE ALSO\n.BR xaas (1)\n";
}

std::string overview_page() {
  std::string text = head("XAAS", "xaas", "specialize containers on the machine that runs them");
  text += ".SH SYNOPSIS\n.B xaas\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n"
          "Ships an application as LLVM IR in an OCI image, and takes the performance decisions on the "
          "target: detects the "
          "machine, chooses the configuration, lowers the IR for exactly that CPU, links, and writes an "
          "ordinary OCI image.\n"
          ".SH COMMANDS\n";
  for (const CommandEntry& entry : commands())
    if (!entry.hidden)
      text += ".TP\n.BR xaas\\-" + escape(entry.name) + " (1)\n" + escape(entry.summary) + "\n";
  text += ".SH EXIT STATUS\n";
  const std::pair<const char*, const char*> codes[] = {
      {"0", "done"},
      {"1", "the operation failed (a build, a link)"},
      {"2",
       "usage: an unknown option, a malformed reference, an invalid spec, an unknown point, value or CPU"},
      {"3", "nothing fits this system; an image cannot run there; or it is of a newer format or LLVM"},
      {"4", "not found: a file, source tree, spec, tag or image"},
      {"5", "access denied by the server of a language model"},
      {"6", "network: no connection, no answer in time, a server in trouble"},
      {"7", "integrity: digest or size does not match, a damaged or malicious image or answer"},
      {"8", "a needed tool is missing"},
      {"9", "no space, quota or permission"},
      {"130, 143", "interrupted by Ctrl-C, by SIGTERM"}};
  for (const auto& [code, meaning] : codes)
    text += ".TP\n.B " + std::string(code) + "\n" + escape(meaning) + "\n";
  text += ".SH ENVIRONMENT\n";
  const std::pair<const char*, const char*> variables[] = {
      {"XAAS_CACHE_DIR",
       "where compiles whose outcome is known and logs of failed builds are kept; else $XDG_CACHE_HOME/xaas, "
       "else ~/.cache/xaas"},
      {"XAAS_CACHE_MAX_SIZE",
       "what is kept of compiles and lowered objects may take on disk, as in 20G; else 5G"},
      {"XAAS_CLANG", "the clang 22 that `xaas build` uses"},
      {"XAAS_FLANG", "the flang 22 that `xaas build` uses for Fortran"},
      {"XAAS_LLM_KEY",
       "the key for --llm; empty: none. Where it is not set, OPENAI_API_KEY or ANTHROPIC_API_KEY, by the "
       "style of the endpoint"},
      {"CURL_CA_BUNDLE, SSL_CERT_FILE",
       "the file with the certificate authorities to trust; else libcurl's own"},
      {"http_proxy, https_proxy, all_proxy, no_proxy", "the proxy for network connections"},
      {"SOURCE_DATE_EPOCH", "the date of images and the files in them, in seconds since 1970"},
      {"TMPDIR", "where temporary files go"}};
  for (const auto& [name, meaning] : variables)
    text += ".TP\n.B " + escape(name) + "\n" + escape(meaning) + "\n";
  return text;
}

class ManualCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("--directory", directory_, "Where the pages go; made if it is not there")
        ->required()
        ->type_name("DIR");
  }

  Result<void> run() override {
    XAAS_CHECK(make_directories(directory_));
    XAAS_CHECK(write_file(fs::path(directory_) / "xaas.1", overview_page()));
    for (const CommandEntry& entry : commands())
      if (!entry.hidden)
        XAAS_CHECK(write_file(fs::path(directory_) / ("xaas-" + std::string(entry.name) + ".1"),
                              command_page(entry)));
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
