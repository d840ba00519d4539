#include "caches.h"
#include "command.h"
#include "images.h"
#include "inspect_tree.h"
#include "llm_options.h"
#include "settings.h"
#include "terminal.h"
#include "try_options.h"

#include <xaas/base/file.h>
#include <xaas/base/umask.h>
#include <xaas/discover/draft.h>
#include <xaas/target/cpu.h>

#include <iostream>

namespace xaas::cli {

namespace {

class InitCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("SRC", source_, "Source directory")->required();
    app.add_option("-o,--output", output_, "Spec to write (default: SRC/xaas.json); `-` is standard output")
        ->type_name("FILE");
    app.add_option("--build-system", system_,
                   "Build system to read, if there are several: cmake, meson, autotools, make")
        ->check(CLI::IsMember({"cmake", "meson", "autotools", "make"}))
        ->type_name("SYSTEM");
    app.add_flag("--force", force_, "Replace an existing spec");
    try_.add(app, "Build the draft, learn from what fails, and write a spec that builds. This runs the "
                  "project's build on this machine");
    llm_.add(app);
  }

  Result<void> run() override {
    XAAS_TRY(const std::optional<llm::Options> model, llm_.read());
    XAAS_TRY(const discover::Findings findings, discover::read_tree(source_, build_system_of(system_)));
    if (!findings.system)
      return discover::no_build_system(source_, findings);
    const fs::path path = output_.empty() ? fs::path(source_) / "xaas.json" : fs::path(output_);
    std::error_code code;
    if (output_ != "-" && fs::exists(path, code) && !force_)
      return make_error(ErrorKind::usage, path.string() + ": exists already", "--force replaces it");
    llm::Suggestions found; // without a model: the findings alone
    found.discovery = discover::classify(findings);
    if (model) {
      announce(model, common.quiet);
      XAAS_TRY(found, llm::suggest(source_, findings, found.discovery, *model));
      print_notes(found);
    }
    const discover::Discovery& discovery = found.discovery;
    discover::Draft draft = discover::draft(findings, discovery, target::host_arch());
    for (discover::Remark& remark : llm::remarks(found))
      draft.remarks.push_back(std::move(remark));
    for (const std::string& note : findings.notes)
      print_note(note);
    XAAS_TRY(const std::optional<trial::Report> tried, try_draft(findings, draft));
    const std::string text = discover::to_text(draft);
    if (output_ == "-")
      std::cout << text;
    else
      XAAS_CHECK(write_output(path, text));
    if (output_ != "-")
      print_report(path, findings, found, model.has_value(), draft, tried);
    // The draft is written all the same, because its author can go on from there.
    return tried && tried->error ? Result<void>(*tried->error) : Result<void>();
  }

private:
  Result<std::optional<trial::Report>> try_draft(const discover::Findings& findings,
                                                 discover::Draft& draft) const {
    XAAS_TRY(const bool wanted, try_.wanted());
    if (!wanted)
      return std::optional<trial::Report>();
    use_common_umask();
    be_modest();
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(build::Request build, new_build_request(source_, target::host_arch()));
    build.cache = open_cache("capture", progress);
    XAAS_TRY(trial::Report report, try_.run(std::move(build), true, findings, draft, progress));
    return std::optional(std::move(report));
  }

  void print_report(const fs::path& path, const discover::Findings& findings, const llm::Suggestions& found,
                    bool model, const discover::Draft& draft,
                    const std::optional<trial::Report>& tried) const {
    const size_t points = draft.application.points.size();
    if (common.json()) {
      Json json = {{"version", 1}, {"spec", path.string()}, {"points", points}, {"notes", findings.notes}};
      if (model)
        json["llm"] = llm::to_json(found);
      if (tried)
        json["try"] = to_json(*tried);
      print(json);
      return;
    }
    std::cout << path.string() << ": "
              << (points == 0 ? "no specialization points"
                  : points == 1
                      ? "1 specialization point; review it and remove the values that you do not need"
                      : std::to_string(points) +
                            " specialization points; review them and remove the values that you do not need")
              << '\n';
    if (tried)
      std::cout << text_of(*tried);
    if (model)
      std::cout << text_of(llm::to_json(found));
  }

  std::string source_, output_, system_;
  bool force_ = false;
  LlmOptions llm_;
  TryOptions try_;
};

} // namespace

std::unique_ptr<Command> make_init_command() {
  return std::make_unique<InitCommand>();
}

} // namespace xaas::cli
