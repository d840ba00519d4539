#include "llm_options.h"

#include "caches.h"
#include "settings.h"
#include "terminal.h"

#include <xaas/base/text.h>

#include <cstdio>
#include <iostream>

namespace xaas::cli {

void LlmOptions::add(CLI::App& app) {
  CLI::Option* const url =
      app.add_option(
             "--llm", url_,
             "Also ask the language model at URL, a chat endpoint or a server with one; the key is read "
             "from XAAS_LLM_KEY")
          ->type_name("URL");
  app.add_option("--model", model_, "Name of the model on its server")->type_name("NAME");
  app.add_option("--llm-style", style_, "openai or anthropic (default: by the path of the URL)")
      ->check(CLI::IsMember({"openai", "anthropic"}))
      ->type_name("STYLE");
  app.add_option("--llm-timeout", timeout_, "Time limit of a request in seconds (default: 120)")
      ->check(CLI::Range(1u, 86400u))
      ->type_name("SECONDS");
  app.add_option(
         "--llm-max-prompt", prompt_,
         "Size limit of the description of the build, as in 32K (default: 96K); omissions are reported")
      ->type_name("SIZE");
  app.add_option("--llm-record", record_, "Write the request (without the key) and the answer to FILE")
      ->type_name("FILE");
  app.add_option("--llm-replay", replay_, "Read the answer from a FILE of --llm-record instead of asking")
      ->type_name("FILE")
      ->excludes(url);
}

Result<std::optional<llm::Options>> LlmOptions::read() const {
  if (!given()) {
    if (!model_.empty() || !style_.empty() || !prompt_.empty() || !record_.empty())
      return make_error(ErrorKind::usage, "options of a language model need --llm URL or --llm-replay FILE");
    return std::optional<llm::Options>();
  }
  if (!url_.empty() && model_.empty())
    return make_error(ErrorKind::usage, "--llm: --model NAME is missing");
  if (!replay_.empty() && (!record_.empty() || !style_.empty()))
    return make_error(ErrorKind::usage, "--llm-replay: --llm-record and --llm-style need --llm URL");
  if (!url_.empty() && settings().offline())
    return make_error(ErrorKind::usage, "offline: --llm opens a network connection",
                      "`xaas config show` shows where `offline` is set");
  llm::Options options;
  options.url = url_;
  options.model = model_;
  options.style = llm::style_of(style_);
  options.timeout = std::chrono::seconds(timeout_);
  options.record = record_;
  options.replay = replay_;
  if (!prompt_.empty()) {
    XAAS_TRY(options.prompt_bytes, parse_size("--llm-max-prompt ", prompt_));
    constexpr uint64_t largest = 16u << 20;
    if (options.prompt_bytes > largest)
      return make_error(ErrorKind::usage, "--llm-max-prompt " + prompt_ + ": more than 16M");
  }
  return std::optional(options);
}

void announce(const std::optional<llm::Options>& options, bool quiet) {
  if (options && options->replay.empty() && !quiet)
    std::cerr << "xaas: asking the language model " + options->model << "\n";
}

void print_notes(const llm::Suggestions& suggestions) {
  for (const std::string& what : suggestions.left_out)
    print_note("language model: not shown " + what);
  for (const llm::Rejection& rejection : suggestions.rejected) {
    const std::string value = rejection.value.empty() ? "" : ", value " + rejection.value;
    std::cerr << "xaas: note: language model: left out: " +
                     (rejection.point.empty() ? "" : "point " + rejection.point + value + ": ") +
                     rejection.reason
              << "\n";
  }
}

void print_additions(const llm::Suggestions& suggestions) {
  for (const llm::Addition& addition : suggestions.accepted)
    std::cerr << "xaas: note: language model: added: point " + addition.point + ", values " +
                     join(addition.values, " ")
              << "\n";
}

std::string text_of(const Json& report) {
  const auto tokens = [&](const char* key) {
    return report[key].is_number() ? ", " + report[key].dump() + " tokens" : std::string();
  };
  const auto bytes = [&](const char* key) { return report[key].dump() + " bytes"; };
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", report["seconds"].get<double>());
  std::vector<std::vector<std::string>> rows = {
      {"language model", report["model"].get<std::string>()},
      {"URL", report["url"].get<std::string>() + (report["replayed"] == true ? " (replayed)" : "")},
      {"request", bytes("prompt_bytes") + tokens("prompt_tokens")},
      {"answer", bytes("answer_bytes") + tokens("answer_tokens")},
      {"seconds", seconds},
      {"left out", std::to_string(report["rejected"].size())}};
  for (const Json& addition : report["accepted"])
    rows.push_back({"added", addition["point"].get<std::string>() + ": " +
                                 join(addition["values"].get<std::vector<std::string>>(), " ") + " (" +
                                 addition["reason"].get<std::string>() + ")"});
  return table(rows);
}

} // namespace xaas::cli
