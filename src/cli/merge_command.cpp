#include "images.h"
#include "registry_options.h"

#include <xaas/base/text.h>
#include <xaas/merge/merge.h>
#include <xaas/oci/operation.h>

#include <iostream>

namespace xaas::cli {

namespace {

class MergeCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("IMAGE", images_,
                   "IR images of one application: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
                   "docker://HOST/NAME[:TAG] or a path")
        ->required();
    app.add_option("-o,--output", output_,
                   "IR image to write: oci:DIR[:TAG], oci-archive:FILE[:TAG] or "
                   "docker://HOST/NAME[:TAG]")
        ->required()
        ->type_name("IMAGE");
    registry_.add(app);
  }

  Result<void> run() override {
    merge::Request request;
    bool remote = false;
    for (const std::string& text : images_) {
      XAAS_TRY(oci::Reference image, oci::parse_reference(text));
      remote |= image.transport == oci::Transport::registry;
      request.images.push_back(std::move(image));
    }
    XAAS_TRY(request.output, oci::parse_reference(output_));
    XAAS_TRY(request.time, source_date_epoch());
    TerminalProgress progress(common.quiet, common.verbosity);
    request.access = registry_.read(remote, progress);
    const Result<merge::Report> result = merge::merge_ir_images(request, progress);
    for (const oci::Reference& image : request.images)
      prune_after(image);
    if (!result)
      return oci::in_operation(result.error(), "merging into", output_);
    if (common.json())
      print_json(*result);
    else
      print_table(*result);
    return {};
  }

private:
  static Json merged_json(const merge::Merged& merged) {
    Json configurations = Json::array();
    for (const image::ConfigurationCoverage& each : merged.configurations)
      configurations.push_back(Json{{"id", each.id},
                                    {"units", each.units},
                                    {"modules", each.modules},
                                    {"native_objects", each.native_objects},
                                    {"programs", each.programs}});
    return Json{{"digest", merged.digest.to_string()},
                {"arch", merged.arch},
                {"configurations", configurations},
                {"sharing",
                 {{"units", merged.units},
                  {"modules", merged.modules},
                  {"unit_bytes", merged.unit_bytes},
                  {"module_bytes", merged.module_bytes}}}};
  }

  void print_json(const merge::Report& report) const {
    Json inputs = Json::array(), images = Json::array();
    for (const merge::Input& input : report.inputs)
      inputs.push_back(Json{{"image", input.image},
                            {"digest", input.digest.to_string()},
                            {"arch", input.arch},
                            {"configurations", input.configurations}});
    for (const merge::Merged& merged : report.images)
      images.push_back(merged_json(merged));
    print(Json{{"version", 1},
               {"image", output_},
               {"digest", report.digest.to_string()},
               {"name", report.name},
               {"inputs", inputs},
               {"images", images},
               {"seconds", report.seconds}});
  }

  void print_table(const merge::Report& report) const {
    for (const merge::Merged& merged : report.images) {
      std::vector<std::vector<std::string>> rows = {
          {"CONFIGURATION", "UNITS", "MODULES", "NATIVE", "PROGRAMS"}};
      for (const image::ConfigurationCoverage& each : merged.configurations)
        rows.push_back({each.id, std::to_string(each.units), std::to_string(each.modules),
                        std::to_string(each.native_objects), std::to_string(each.programs)});
      std::cout << table(rows) << merged.arch << ": " << merged.modules << " IR modules ("
                << human_bytes(merged.module_bytes) << ") serve " << merged.units << " units ("
                << human_bytes(merged.unit_bytes) << ")\n";
      if (report.images.size() > 1)
        std::cout << merged.arch << " " << merged.digest.to_string() << "\n\n";
    }
    std::cout << output_ << " " << report.digest.to_string() << "\n";
  }

  RegistryOptions registry_;
  std::vector<std::string> images_;
  std::string output_;
};

} // namespace

std::unique_ptr<Command> make_merge_command() {
  return std::make_unique<MergeCommand>();
}

} // namespace xaas::cli
