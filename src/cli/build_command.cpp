#include "images.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/build/build.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <sys/stat.h>

namespace xaas::cli {

namespace {

Json seconds_json(const Seconds& seconds) {
  return Json{{"wall", seconds.wall}, {"cpu", seconds.cpu}};
}

Json steps_json(const build::Steps& steps) {
  return Json{{"configure", seconds_json(steps.configure)},
              {"build", seconds_json(steps.build)},
              {"install", seconds_json(steps.install)},
              {"harvest", seconds_json(steps.harvest)}};
}

build::Steps all_steps(const build::Report& report) {
  build::Steps sum;
  for (const build::ConfigurationReport& each : report.configurations) {
    sum.configure += each.steps.configure;
    sum.build += each.steps.build;
    sum.install += each.steps.install;
    sum.harvest += each.steps.harvest;
  }
  return sum;
}

std::string wall_and_cpu(const Seconds& seconds) {
  char text[80];
  std::snprintf(text, sizeof(text), "%.1f (%.1f)", seconds.wall, seconds.cpu);
  return text;
}

// Where the time went: a row for each configuration, one for the image, one for all.
std::string times_table(const build::Report& report) {
  std::vector<std::vector<std::string>> rows = {
      {"SECONDS (CPU)", "CONFIGURE", "BUILD", "INSTALL", "HARVEST", "WRITE", "TOTAL"}};
  auto add = [&](const std::string& name, const build::Steps& steps, const std::string& write,
                 const Seconds& total) {
    rows.push_back({name, wall_and_cpu(steps.configure), wall_and_cpu(steps.build),
                    wall_and_cpu(steps.install), wall_and_cpu(steps.harvest), write, wall_and_cpu(total)});
  };
  for (const build::ConfigurationReport& each : report.configurations)
    add(each.id, each.steps, "", each.seconds);
  add("image", all_steps(report), wall_and_cpu(report.write), report.seconds);
  return table(rows);
}

Json warnings_json(const std::vector<build::Warning>& warnings) {
  Json json = Json::array();
  for (const build::Warning& each : warnings)
    json.push_back(Json{{"kind", each.kind},
                        {"file", each.file.empty() ? Json() : Json(each.file)},
                        {"line", each.line ? Json(each.line) : Json()},
                        {"message", each.message}});
  return json;
}

// Of each kind the first few, unless all are asked for: a long list of one must not hide another.
void print_warnings(const std::vector<build::Warning>& warnings, bool all) {
  constexpr size_t shown = 4;
  std::map<std::string, size_t> counts;
  for (const build::Warning& each : warnings) {
    if (++counts[each.kind] > shown && !all)
      continue;
    std::string place =
        each.file.empty() ? "" : each.file + (each.line ? ":" + std::to_string(each.line) : "");
    std::cerr << "xaas: warning: " << place << (place.empty() ? "" : ": ") << each.message << "\n";
  }
  size_t more = 0;
  for (const auto& [kind, count] : counts)
    more += count - std::min(count, shown);
  if (more && !all)
    std::cerr << "xaas: warning: and " << more << " more; -v lists all\n";
}

class BuildCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("SPEC", spec_, "Application spec, or a source directory that has a xaas.json")->required();
    app.add_option("-o,--output", output_, "IR image to write: oci:DIR[:TAG] or oci-archive:FILE[:TAG]")
        ->required()
        ->type_name("IMAGE");
    app.add_option("--source", source_, "Directory of the sources; else the spec's own")->type_name("DIR");
    app.add_option("--kind", kind_, "Kind of image; this version makes `ir`")
        ->check(CLI::IsMember({"ir"}))
        ->type_name("KIND");
    app.add_option("--isa", isa_, "ISA levels, instead of the spec's: x86-64,x86-64-v2,x86-64-v3,x86-64-v4")
        ->delimiter(',')
        ->type_name("LEVEL,...");
    app.add_option("--config", configurations_, "Build this configuration only; can be repeated")
        ->type_name("K=V,...");
    app.add_option("--arch", arch_, "Architecture; this version builds for the machine's own")
        ->type_name("ARCH");
    app.add_option("--max-configurations", max_configurations_, "Refuse to build more than N configurations")
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--check-sharing", check_sharing_,
                 "Compile also what is known from other configurations and earlier builds, and compare");
    app.add_flag("--no-cache", no_cache_, "Use and keep nothing of earlier builds");
    app.add_flag("--strip-debug", strip_debug_, "Leave debug information out of the image");
    app.add_option("-j,--jobs", jobs_, "Jobs at once; else what this machine allows")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    XAAS_TRY(SpecFile spec, read_spec(spec_, source_));
    umask(022); // the modes of what is installed must not depend on who builds
    build::Request request;
    request.application = std::move(spec.application);
    request.source = spec.source;
    XAAS_TRY(request.output, oci::parse_reference(output_));
    request.arch = arch_.empty() ? target::host_arch() : arch_;
    request.isa = isa_;
    for (const std::string& text : configurations_) {
      XAAS_TRY(auto assignments, spec::parse_assignments(text));
      request.configurations.push_back(std::move(assignments));
    }
    request.max_configurations = max_configurations_;
    request.strip_debug = strip_debug_;
    request.jobs = jobs_ ? jobs_ : default_jobs();
    XAAS_TRY(request.program, program_path());
    request.logs = cache_directory() / "logs";
    if (!no_cache_)
      request.cache = cache_directory() / "capture";
    XAAS_TRY(request.max_cache_bytes, max_cache_bytes());
    request.check_sharing = check_sharing_;
    XAAS_TRY(const std::optional<int64_t> time, source_date_epoch());
    request.time = time.value_or(0);
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(const build::Report report, build::build_ir_image(request, progress));
    if (common.json())
      print_json(report);
    else
      print_table(report);
    if (!common.quiet)
      print_warnings(report.warnings, common.verbosity > 0);
    return {};
  }

private:
  void print_json(const build::Report& report) const {
    Json configurations = Json::array();
    for (const build::ConfigurationReport& each : report.configurations)
      configurations.push_back(Json{{"id", each.id},
                                    {"units", each.units},
                                    {"modules", each.modules},
                                    {"native_objects", each.native_objects},
                                    {"programs", each.programs},
                                    {"compiled", each.compiled},
                                    {"reused", each.reused},
                                    {"seconds", each.seconds.wall},
                                    {"steps", steps_json(each.steps)}});
    Json natives = Json::array();
    for (const build::NativeReport& each : report.native_objects)
      natives.push_back(Json{{"name", each.name}, {"reason", each.reason}});
    Json steps = steps_json(all_steps(report));
    steps["write"] = seconds_json(report.write);
    steps["total"] = seconds_json(report.seconds);
    print(Json{{"version", 1},
               {"image", output_},
               {"digest", report.digest.to_string()},
               {"configurations", configurations},
               {"sharing",
                {{"units", report.units},
                 {"modules", report.modules},
                 {"preprocessed_texts", report.preprocessed_texts},
                 {"unit_bytes", report.unit_bytes},
                 {"module_bytes", report.module_bytes}}},
               {"native_objects", natives},
               {"loads_by_name", report.loaders},
               {"warnings", warnings_json(report.warnings)},
               {"seconds", report.seconds.wall},
               {"steps", steps}});
  }

  void print_table(const build::Report& report) const {
    std::vector<std::vector<std::string>> rows = {
        {"CONFIGURATION", "UNITS", "MODULES", "NATIVE", "PROGRAMS", "COMPILED", "REUSED"}};
    for (const build::ConfigurationReport& each : report.configurations)
      rows.push_back({each.id, std::to_string(each.units), std::to_string(each.modules),
                      std::to_string(each.native_objects), std::to_string(each.programs),
                      std::to_string(each.compiled), std::to_string(each.reused)});
    std::cout << table(rows) << "\n" << times_table(report) << "\n";
    std::cout << report.modules << " IR modules (" << human_bytes(report.module_bytes) << ") serve "
              << report.units << " units (" << human_bytes(report.unit_bytes) << ")\n";
    std::vector<NativeLine> natives;
    for (const build::NativeReport& each : report.native_objects)
      natives.push_back({each.name, each.reason});
    std::cout << native_lines(natives, common.verbosity > 0);
    for (const std::string& each : report.loaders)
      std::cout << "run-time library " << each
                << " loads parts by name (dlopen); name those in the spec's `runtime`\n";
    std::cout << output_ << " " << report.digest.to_string() << "\n";
  }

  std::string spec_, output_, source_, kind_ = "ir", arch_;
  std::vector<std::string> isa_, configurations_;
  size_t max_configurations_ = 64;
  bool strip_debug_ = false, check_sharing_ = false, no_cache_ = false;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_build_command() {
  return std::make_unique<BuildCommand>();
}

} // namespace xaas::cli
