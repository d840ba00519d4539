#include "images.h"
#include "registry_options.h"
#include "signer_options.h"
#include "warnings.h"

#include <xaas/base/text.h>
#include <xaas/check/check.h>

#include <iostream>

namespace xaas::cli {

namespace {

class CheckCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("IMAGE", image_,
                   "Deployed image: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
                   "docker://HOST/NAME[:TAG] or a path")
        ->required();
    app.add_option(
           "--system", system_,
           "Check for the machine of this name (from `xaas detect --save`), or that this file describes")
        ->type_name("MACHINE");
    app.add_option("--cpu", cpu_, "Check for this CPU: an LLVM name (haswell, znver4) or an ISA level")
        ->type_name("NAME");
    app.add_flag("--all-kernels", all_kernels_,
                 "Count a CUDA kernel that cannot run on the CPU as a problem, not as a warning");
    signer_.add(app);
    registry_.add(app);
  }

  Result<void> run() override {
    XAAS_TRY(const oci::Reference image, oci::parse_reference(image_));
    std::optional<system::SystemDescription> system;
    if (!system_.empty() || !cpu_.empty()) {
      XAAS_TRY(system, system_of(system_, cpu_));
    }
    XAAS_TRY(const auto signer, signer_.read(SignerOptions::From::options));
    TerminalProgress progress(common.quiet, common.verbosity);
    const registry::Access access = registry_.read(image.transport == oci::Transport::registry, progress);
    const Result<check::Report> result = check::check(image, system, progress, access, signer, all_kernels_);
    prune_after(image);
    XAAS_TRY(const check::Report report, result);
    if (common.json())
      print_json(report);
    else
      print_table(report);
    std::cout.flush();
    if (!common.quiet)
      std::cerr << warnings_text(report.warnings, common.verbosity > 0);
    if (report.problems.empty())
      return {};
    return make_error(ErrorKind::unsatisfied, "checking " + image_ + ": it cannot run on " + report.on +
                                                  ": " + std::to_string(report.problems.size()) +
                                                  (report.problems.size() == 1 ? " problem" : " problems"));
  }

private:
  void print_json(const check::Report& report) const {
    Json files = Json::array();
    for (const check::CheckedFile& file : report.files) {
      Json beyond = Json::array();
      for (const auto& [feature, use] : file.beyond)
        beyond.push_back(
            Json{{"feature", feature}, {"instructions", use.instructions}, {"functions", use.functions}});
      files.push_back(Json{
          {"path", file.path}, {"lowered", file.lowered}, {"beyond", beyond}, {"explained", file.explained}});
    }
    Json problems = Json::array();
    for (const check::Problem& problem : report.problems)
      problems.push_back(Json{{"kind", check::name_of(problem.kind)},
                              {"file", problem.file.empty() ? Json() : Json(problem.file)},
                              {"message", problem.message}});
    Json needs = Json::array();
    for (const check::ValueNeed& each : report.needs) {
      Json json = select::to_json(each.need);
      if (!each.checked)
        json["met"] = json["found"] = json["lacks"] = Json();
      json["point"] = each.point;
      json["value"] = each.value;
      needs.push_back(std::move(json));
    }
    print(Json{{"version", 1},
               {"image", image_},
               {"digest", report.digest.to_string()},
               {"signature", to_json(report.signature)},
               {"runs", report.problems.empty()},
               {"deployed_for", report.cpu.name},
               {"checked_for", report.on},
               {"problems", problems},
               {"unknown", report.unknown},
               {"warnings", warnings_json(report.warnings)},
               {"needs", needs},
               {"files", files}});
  }

  // Instructions beyond the CPU that are not a problem; of files that deploying did not link only with -v.
  void print_explained(const check::CheckedFile& file) const {
    if (!file.explained || !(file.lowered || common.verbosity > 0))
      return;
    for (const auto& [feature, use] : file.beyond)
      std::cout << file.path + (file.lowered ? ": chooses at run time: " : ": has ") + feature + ", " +
                       std::to_string(use.instructions) + " instructions, in " + join(use.functions, ", ")
                << "\n";
  }

  void print_table(const check::Report& report) const {
    size_t lowered = 0;
    for (const check::CheckedFile& file : report.files)
      lowered += file.lowered;
    if (report.signature)
      std::cout << table({{"signed", report.signature->image.to_string()}});
    std::cout << table({{"image", image_ + " " + report.digest.to_string()},
                        {"deployed for", report.cpu.name},
                        {"checked for", report.on},
                        {"files", std::to_string(report.files.size()) + " programs and libraries, " +
                                      std::to_string(lowered) + " of them linked by deploying"}});
    for (const check::CheckedFile& file : report.files)
      print_explained(file);
    for (const check::ValueNeed& each : report.needs)
      std::cout << each.point + "=" + each.value + " needs from the " + select::name_of(each.need.from) +
                       ": " + (each.checked ? text_of(each.need) : each.need.what + " (not checked)")
                << "\n";
    for (const check::Problem& problem : report.problems)
      std::cout << "problem: " + (problem.file.empty() ? "" : problem.file + ": ") + problem.message << "\n";
    for (const std::string& each : report.unknown)
      std::cout << "not known: " + each << "\n";
    if (report.problems.empty())
      std::cout << (report.unknown.empty() ? "it can run there\n" : "it can run there as far as is known\n");
  }

  std::string image_, system_, cpu_;
  SignerOptions signer_;
  bool all_kernels_ = false;
  RegistryOptions registry_;
};

} // namespace

std::unique_ptr<Command> make_check_command() {
  return std::make_unique<CheckCommand>();
}

} // namespace xaas::cli
