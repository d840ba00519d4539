#include "try_options.h"

#include <sstream>

namespace xaas::cli {

void TryOptions::add(CLI::App& app, const std::string& description) {
  app.add_flag("--try", try_, description);
  app.add_option("--try-time", minutes_, "Stop trying after this many minutes (default: 60)")
      ->check(CLI::Range(1, 100'000))
      ->type_name("MINUTES");
}

Result<bool> TryOptions::wanted() const {
  if (minutes_ > 0 && !try_)
    return make_error(ErrorKind::usage, "--try-time is only for --try");
  return try_;
}

Result<trial::Report> TryOptions::run(build::Request build, bool values, const discover::Findings& findings,
                                      discover::Draft& draft, Progress& progress) const {
  constexpr unsigned usual_minutes = 60;
  const std::chrono::minutes limit(minutes_ > 0 ? minutes_ : usual_minutes);
  return trial::try_draft({std::move(build), values, limit}, findings, draft, progress);
}

Json to_json(const trial::Report& report) {
  Json json = {
      {"built", !report.error}, {"seconds", report.seconds.wall}, {"out_of_time", report.out_of_time}};
  if (report.error)
    json["error"] = report.error->message;
  json["attempts"] = Json::array();
  for (const trial::Attempt& attempt : report.attempts) {
    Json each = {{"configuration", attempt.configuration},
                 {"built", attempt.built},
                 {"seconds", attempt.seconds.wall}};
    if (!attempt.changed.empty())
      each["changed"] = attempt.changed;
    if (!attempt.step.empty())
      each["step"] = attempt.step;
    if (!attempt.error.empty())
      each["error"] = attempt.error;
    if (!attempt.log.empty())
      each["log"] = attempt.log.string();
    if (!attempt.learned.empty())
      each["learned"] = attempt.learned;
    json["attempts"].push_back(std::move(each));
  }
  return json;
}

std::string text_of(const trial::Report& report) {
  std::ostringstream text;
  for (const trial::Attempt& attempt : report.attempts) {
    text << "  " << (attempt.changed.empty() ? attempt.configuration : attempt.changed) << ": "
         << (attempt.built ? "built" : "failed: " + attempt.error) << "\n";
    if (!attempt.built && !attempt.log.empty())
      text << "    log: " << attempt.log.string() << "\n";
    if (!attempt.learned.empty())
      text << "    learned: " << attempt.learned << "\n";
  }
  if (report.out_of_time)
    text << "  the time was over before everything was tried; --try-time allows more\n";
  return text.str();
}

} // namespace xaas::cli
