#include "bitcode.h"
#include "caches.h"
#include "image_page.h"
#include "images.h"
#include "inspect_ir.h"
#include "inspect_tree.h"
#include "kernels.h"
#include "llm_options.h"
#include "registry_options.h"
#include "settings.h"

#include <xaas/base/text.h>
#include <xaas/base/utf8.h>
#include <xaas/deploy/kernels.h>
#include <xaas/image/application_image.h>
#include <xaas/image/deployed.h>
#include <xaas/image/kernels.h>
#include <xaas/oci/operation.h>
#include <xaas/provenance/sbom.h>
#include <xaas/registry/architectures.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>

#include <iostream>

namespace xaas::cli {

namespace {

Json annotation_or_null(const oci::Image& image, const std::string& key) {
  const auto found = image.manifest().annotations.find(key);
  return found == image.manifest().annotations.end() || found->second.empty() ? Json() : Json(found->second);
}

Result<Json> describe_deployed(const oci::Image& image) {
  XAAS_TRY(const std::vector<image::ChosenNeeds> needs, image::needs_of(image));
  Json driver;
  for (const image::ChosenNeeds& each : needs)
    if (each.required.gpu && !each.required.gpu->driver.empty())
      driver = each.required.gpu->driver;
  const auto& annotations = image.manifest().annotations;
  auto text = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string() : found->second;
  };
  XAAS_TRY(const std::vector<image::GpuCode> code, image::gpu_code_of(image.manifest().annotations));
  std::set<std::string> gpus;
  for (const image::GpuCode& each : code)
    gpus.insert(each.gpu);
  XAAS_TRY(const std::vector<image::UsedPlugin> plugins, image::plugins_of(image.manifest().annotations));
  XAAS_TRY(std::optional<image::CpuKernels> kernels, image::cpu_kernels_of(image));
  if (kernels)
    image::demangle(kernels->kernels);
  if (const std::string on = text(image::annotation::gpu); on == "cpu")
    gpus.insert(on);
  Json configuration = Json::object();
  if (const auto values = spec::parse_assignments(text("dev.xaas.configuration")))
    configuration = *values;
  return Json{
      {"version", 1},
      {"kind", "deployed"},
      {"name", text("org.opencontainers.image.title")},
      {"digest", image.digest().to_string()},
      {"configuration", configuration},
      {"target",
       {{"cpu", text("dev.xaas.cpu")}, {"features", split(text("dev.xaas.features"), ',')}, {"gpu", gpus}}},
      {"gpu_code", Json::parse(image::to_annotation(code))},
      {"kernel_forms", kernels ? Json(kernels->forms) : Json()},
      {"kernels", kernels ? kernels_json(kernels->kernels) : Json()},
      {"checked_kernels", annotations.contains(image::annotation::checked_kernels)},
      {"profile", annotation_or_null(image, image::annotation::profile)},
      {"plugins", image::to_json(plugins)},
      {"made_from", annotation_or_null(image, "dev.xaas.made-from")},
      {"requires",
       {{"glibc", annotation_or_null(image, "dev.xaas.glibc")},
        {"driver", driver},
        {"mpi", annotation_or_null(image, "dev.xaas.mpi")}}},
      {"layers", layers_json(image)}};
}

// The line on which a spec names a point, as evidence.
int line_of(const std::string& text, const std::string& name) {
  const size_t position = text.find("\"" + name + "\"");
  return position == std::string::npos
             ? 1
             : 1 + static_cast<int>(
                       std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

Json with_evidence(const spec::SpecializationPoint& point, const SpecFile& spec, const std::string& text) {
  Json json = spec::to_json(point);
  json["evidence"] =
      Json::array({Json{{"file", spec.path.filename().string()}, {"line", line_of(text, point.name)}}});
  return json;
}

class InspectCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option(
           "TARGET", target_,
           "Image, application spec or source directory; a directory without xaas.json is described by its "
           "build system and sources")
        ->required();
    app.add_option("--schema", schema_,
                   "`paper`: describe a source directory in the JSON form of the published evaluation")
        ->check(CLI::IsMember({"paper"}))
        ->type_name("NAME");
    app.add_option("--build-system", system_,
                   "Build system to read, if a source directory has several: cmake, meson, autotools, make")
        ->check(CLI::IsMember({"cmake", "meson", "autotools", "make"}))
        ->type_name("SYSTEM");
    app.add_flag(
        "--configure", configure_,
        "Also run the configure step of a CMake project in a temporary directory, and confirm the findings "
        "with CMake's cache and trace. This executes the project's build files");
    app.add_option("--configure-argument", configure_arguments_,
                   "Argument of that step, such as -DNAME=VALUE; can be repeated")
        ->needs("--configure")
        ->type_name("ARG");
    app.add_option("--html", page_,
                   "Also write a page about an IR or source image: points, which sources its configurations "
                   "share, and what deploying each of them reads")
        ->type_name("FILE");
    app.add_option("--trace", trace_, "Add a deploy's times to the page, from a file of `deploy --trace`")
        ->needs("--html")
        ->type_name("FILE");
    app.add_option(
           "--bitcode", bitcode_,
           "Also write the IR modules of an IR image to this directory, as files for LLVM's tools, and "
           "modules.json, which names their sources")
        ->type_name("DIR");
    CLI::Option* const kernels =
        app.add_flag("--kernels", kernels_,
                     "Show the CUDA kernels of an IR image, and the form that each has on the CPU "
                     "(deploy --gpu cpu)");
    app.add_flag("--sbom", sbom_, "Print the SBOM of an image (SPDX 2.3, JSON)")->excludes(kernels);
    registry_.add(app);
    llm_.add(app);
  }

  Result<void> run() override {
    std::error_code code;
    const bool tree = fs::is_directory(target_, code) && is_spec();
    XAAS_TRY(const std::optional<llm::Options> model, llm_.read());
    if (model && !tree)
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --llm needs a source directory");
    if (sbom_ && is_spec())
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --sbom needs an image");
    if (!page_.empty() && (is_spec() || sbom_))
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --html needs an IR or source image");
    if (!bitcode_.empty() && (is_spec() || sbom_))
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --bitcode needs an IR image");
    if (kernels_ && is_spec())
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --kernels needs an IR or deployed image");
    if (configure_ && !tree)
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --configure needs a source directory");
    announce(model, common.quiet);
    TreeOptions options{system_, std::nullopt, model};
    if (configure_)
      options.configure = configure_arguments_;
    if (!schema_.empty()) {
      if (!tree)
        return make_error(ErrorKind::usage, "inspect " + target_ + ": --schema needs a source directory");
      XAAS_TRY(const TreeDescription found, describe_tree_for_paper(target_, options));
      for (const std::string& note : found.notes)
        print_note(note);
      if (found.suggestions) {
        print_notes(*found.suggestions);
        print_additions(*found.suggestions); // the document has no field for the origin of a point
      }
      print(found.json);
      return {};
    }
    if (tree &&
        (model || configure_ || !system_.empty() || !fs::exists(fs::path(target_) / "xaas.json", code))) {
      XAAS_TRY(const TreeDescription found, describe_tree(target_, options));
      for (const std::string& note : found.notes)
        print_note(note);
      if (found.suggestions)
        print_notes(*found.suggestions);
      return show(found.json);
    }
    if (is_spec())
      return inspect_spec();
    XAAS_TRY(const oci::Reference reference, oci::parse_reference(target_));
    TerminalProgress progress(common.quiet, common.verbosity);
    const registry::Access access = registry_.read(reference.transport == oci::Transport::registry, progress);
    const Result<void> shown = inspect_image(reference, access, progress);
    if (kernels_)
      prune_caches(max_cache_bytes());
    else
      prune_after(reference);
    return shown;
  }

private:
  Result<void> inspect_image(const oci::Reference& reference, const registry::Access& access,
                             TerminalProgress& progress) {
    std::vector<std::string> architectures = {target::oci_architecture(target::host_arch())};
    for (const std::string& arch : target::architectures())
      if (arch != target::host_arch())
        architectures.push_back(target::oci_architecture(arch));
    XAAS_TRY(auto opened, registry::open_images(reference, architectures, access));
    if (sbom_)
      return show_sbom(std::move(opened.front()));
    if (opened.size() == 1) {
      XAAS_TRY(const Json json, describe(std::move(opened.front()), progress));
      XAAS_CHECK(list_bitcode());
      XAAS_CHECK(show(json));
      print_warnings(json);
      return {};
    }
    return inspect_index(std::move(opened), progress);
  }

  // The images of an index for the known architectures, that of this machine first.
  Result<void> inspect_index(std::vector<std::unique_ptr<oci::Image>> opened, TerminalProgress& progress) {
    const std::optional<Digest> digest = opened.front()->index_digest();
    Json images = Json::array();
    for (std::unique_ptr<oci::Image>& each : opened) {
      const std::string architecture = each->config().architecture;
      XAAS_TRY(Json json, describe(std::move(each), progress));
      json.erase("version");
      json["architecture"] = architecture;
      images.push_back(std::move(json));
    }
    XAAS_CHECK(list_bitcode());
    for (const Json& json : images)
      print_warnings(json);
    if (common.json()) {
      print(Json{{"version", 1},
                 {"kind", "index"},
                 {"digest", digest ? Json(digest->to_string()) : Json()},
                 {"images", images}});
      return {};
    }
    std::cout << table({{"kind", "index"}, {"digest", digest ? digest->to_string() : "-"}});
    for (const Json& json : images) {
      std::cout << "\n";
      XAAS_CHECK(show(json));
    }
    return {};
  }

  Result<Json> describe(std::unique_ptr<oci::Image> opened, TerminalProgress& progress) {
    const std::string kind = image::kind_of(*opened);
    if (kernels_ && kind != "ir" && kind != "deployed")
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --kernels needs an IR or deployed image");
    if (!bitcode_.empty() && kind != "ir")
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --bitcode needs an IR image");
    if (kind == "ir" || kind == "source") {
      XAAS_TRY(const image::ApplicationImage ir, image::ApplicationImage::open(std::move(opened)));
      std::optional<deploy::ImageKernels> kernels;
      if (kernels_) {
        XAAS_TRY(kernels, read_kernels(ir, progress));
      }
      XAAS_TRY(Json json, describe_ir(ir, kernels));
      XAAS_CHECK(write_page(ir, json));
      if (!bitcode_.empty())
        XAAS_CHECK(write_bitcode(ir, bitcode_, modules_));
      return json;
    }
    if (!page_.empty())
      return make_error(ErrorKind::usage, "inspect " + target_ + ": --html needs an IR or source image");
    if (kind == "deployed")
      return describe_deployed(*opened).in(target_);
    return Json{{"version", 1},
                {"kind", "other"},
                {"digest", opened->digest().to_string()},
                {"layers", layers_json(*opened)}};
  }

  Result<deploy::ImageKernels> read_kernels(const image::ApplicationImage& ir,
                                            TerminalProgress& progress) const {
    be_modest();
    std::optional<lower::ObjectCache> objects;
    if (std::optional<store::Cache> cache = open_cache("objects", progress))
      objects.emplace(*std::move(cache));
    return oci::in_operation(deploy::kernels_of(ir, objects ? &*objects : nullptr, jobs(), progress),
                             "inspecting", target_);
  }

  Result<void> list_bitcode() const {
    if (bitcode_.empty())
      return {};
    XAAS_TRY(const std::string text, json_text(to_json(modules_), "the list of modules", 2));
    return write_output(fs::path(bitcode_) / "modules.json", text + "\n");
  }

  // Of an index, a page describes the image for the first architecture.
  Result<void> write_page(const image::ApplicationImage& ir, const Json& description) {
    if (page_.empty() || page_is_written_)
      return {};
    std::optional<TraceFile> trace;
    if (!trace_.empty()) {
      XAAS_TRY(Json content, read_json(trace_));
      trace = TraceFile{trace_, std::move(content)};
    }
    XAAS_TRY(const std::string page, image_page(ir.bundle(), description, trace));
    page_is_written_ = true;
    return write_output(page_, page);
  }

  // An SBOM describes one image: of an index, the one for the first architecture.
  static Result<void> show_sbom(std::unique_ptr<oci::Image> opened) {
    std::optional<Result<provenance::Inventory>> inventory;
    if (image::kind_of(*opened) == "ir") {
      XAAS_TRY(const image::ApplicationImage ir, image::ApplicationImage::open(std::move(opened)));
      inventory = provenance::take_inventory(ir);
    } else {
      inventory = provenance::take_inventory(*opened);
    }
    if (!*inventory)
      return inventory->error();
    print_json_text(provenance::to_text(provenance::to_spdx(**inventory)));
    return {};
  }

  // A spec or a source directory: a JSON file, or a directory that is not an image layout.
  bool is_spec() const {
    std::error_code code;
    if (fs::is_directory(target_, code))
      return !fs::exists(fs::path(target_) / "oci-layout", code);
    return target_.find(':') == std::string::npos && !target_.ends_with(".tar") && target_.ends_with(".json");
  }

  Result<void> inspect_spec() {
    std::error_code code;
    const bool tree = fs::is_directory(target_, code);
    XAAS_TRY(const SpecFile spec, read_spec(target_, "", target::host_arch()));
    XAAS_TRY(const std::string text, read_file(spec.path));
    XAAS_TRY(const auto points, spec::all_points(spec.application, target::host_arch(), {}));
    Json list = Json::array();
    for (const spec::SpecializationPoint& point : points)
      list.push_back(with_evidence(point, spec, text));
    for (const spec::SpecializationPoint& point : spec.application.points)
      if (point.follows_isa)
        list.push_back(with_evidence(point, spec, text));
    Json json{{"version", 1},
              {"kind", tree ? "source-tree" : "spec"},
              {"name", spec.application.name},
              {"specializations", list}};
    if (tree) {
      XAAS_TRY(json["discovered"], discovered_points(target_, spec.application));
    }
    return show(json);
  }

  void print_warnings(const Json& json) const {
    std::cout.flush();
    if (!common.quiet && json.contains("warnings"))
      for (const Json& warning : json["warnings"])
        print_warning(warning["message"].get<std::string>());
  }

  Result<void> show(const Json& json) {
    if (common.json()) {
      print(json);
      return {};
    }
    std::vector<std::vector<std::string>> rows;
    for (const char* key : {"name", "kind", "arch", "architecture", "llvm", "digest", "made_from"})
      if (json.contains(key) && json[key].is_string() &&
          !(key == std::string("architecture") && json.contains("arch")))
        rows.push_back({key, json[key].get<std::string>()});
    std::cout << table(rows);
    show_points(json);
    show_discovered(json);
    if (json.contains("configurations"))
      std::cout << "\n" << coverage_text(json, common.verbosity > 0);
    show_kernels(json);
    show_target(json);
    show_layers(json);
    if (json.contains("configure"))
      std::cout << "\n"
                << table({{"configured", json["configure"]["confirmed"].dump() + " options confirmed, " +
                                             json["configure"]["added"].dump() + " added, " +
                                             json["configure"]["not_reached"].dump() + " not reached"}});
    if (json.contains("llm"))
      std::cout << "\n" << text_of(json["llm"]);
    return {};
  }

  static void show_points(const Json& json) {
    if (!json.contains("specializations"))
      return;
    std::vector<std::vector<std::string>> rows = {{"POINT", "CATEGORY", "DEFAULT", "VALUES"}};
    for (const Json& point : json["specializations"]) {
      std::vector<std::string> values;
      for (const Json& value : point["values"])
        values.push_back(value["value"].get<std::string>() + mark_of(value));
      const char* const otherwise = point.contains("follows") ? "follows isa" : "-";
      rows.push_back({point["name"].get<std::string>() + mark_of(point), point["category"].get<std::string>(),
                      point["default"].is_string() ? point["default"].get<std::string>() : otherwise,
                      join(values, " ")});
    }
    std::cout << "\n" << table(rows);
    if (json.contains("llm") && !json["llm"]["accepted"].empty())
      std::cout << "* suggested by a language model\n";
  }

  static void show_discovered(const Json& json) {
    if (!json.contains("discovered") || json["discovered"].empty())
      return;
    std::vector<std::vector<std::string>> rows = {{"DISCOVERED", "OPTION", "PLACE", "IN THE SPEC"}};
    for (const Json& point : json["discovered"]) {
      std::string place = "-";
      if (!point["evidence"].empty())
        place = point["evidence"][0]["file"].get<std::string>() + ":" + point["evidence"][0]["line"].dump();
      rows.push_back({point["name"].get<std::string>(), point["option"].get<std::string>(), place,
                      point["used_by"].is_string() ? point["used_by"].get<std::string>() : "-"});
    }
    std::cout << "\n" << table(rows);
  }

  void show_kernels(const Json& json) const {
    if (!json.contains("kernels"))
      return;
    if (json["kernels"].is_null()) {
      if (kernels_)
        std::cout << "\nkernels on the CPU: none recorded\n";
      return;
    }
    std::cout << "\n" << kernels_text(json["kernel_forms"], json["kernels"], common.verbosity > 0);
    if (json.contains("kernel_obstacles"))
      for (const Json& each : json["kernel_obstacles"])
        std::cout << table({{"  not on the CPU", few(each["configurations"].get<std::vector<std::string>>(),
                                                     common.verbosity > 0) +
                                                     ": " + each["reason"].get<std::string>()}});
  }

  static const char* mark_of(const Json& item) { return item.contains("source") ? "*" : ""; }

  static void show_target(const Json& json) {
    if (!json.contains("target"))
      return;
    std::vector<std::string> values;
    for (const auto& [point, value] : json["configuration"].items())
      values.push_back(point + "=" + value.get<std::string>());
    std::cout << "\n"
              << table({{"configuration", join(values, ",")},
                        {"CPU", json["target"]["cpu"].get<std::string>()},
                        {"glibc needed", json["requires"]["glibc"].is_string()
                                             ? json["requires"]["glibc"].get<std::string>()
                                             : "-"}});
  }

  static void show_layers(const Json& json) {
    if (!json.contains("layers"))
      return;
    std::vector<std::vector<std::string>> rows = {{"", "LAYER", "ROLE", "SIZE", "CONFIGURATIONS"}};
    for (const Json& layer : json["layers"])
      rows.push_back({std::to_string(rows.size()), layer["digest"].get<std::string>().substr(0, 19),
                      layer["role"].get<std::string>(), human_bytes(layer["size"].get<uint64_t>()),
                      std::to_string(layer["configurations"].size())});
    std::cout << "\n" << table(rows);
  }

  std::string target_, schema_, system_, page_, trace_, bitcode_;
  BitcodeFiles modules_; // for --bitcode
  bool page_is_written_ = false;
  std::vector<std::string> configure_arguments_;
  bool configure_ = false, sbom_ = false, kernels_ = false;
  LlmOptions llm_;
  RegistryOptions registry_;
};

} // namespace

std::unique_ptr<Command> make_inspect_command() {
  return std::make_unique<InspectCommand>();
}

} // namespace xaas::cli
