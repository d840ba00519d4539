// A worker for each ELF file reads and disassembles it, because the image is untrusted.
#include "audit.h"
#include "closure.h"
#include "code_objects.h"
#include "gpu_code.h"
#include "tree.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/worker.h>
#include <xaas/check/check.h>
#include <xaas/image/application_image.h>
#include <xaas/image/deployed.h>
#include <xaas/image/kernels.h>
#include <xaas/image/targets.h>
#include <xaas/oci/operation.h>
#include <xaas/runtimes/knowledge.h>
#include <xaas/target/feature_bits.h>

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <set>

namespace xaas::check {

namespace {

// What the image says about a file that deploying linked: annotation dev.xaas.code.
struct CodeOrigin {
  std::set<std::string> own; // features that the source itself asked for
  bool assembly = false, native = false;
};

struct Recorded {
  target::Cpu cpu;
  std::map<std::string, CodeOrigin> files;
};

Result<Recorded> recorded_by(const oci::Image& image) {
  if (image::kind_of(image) != "deployed")
    return make_error(ErrorKind::usage, "not a deployed image", "`xaas deploy` makes one of an IR image");
  const auto& annotations = image.manifest().annotations;
  const auto annotation = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string() : found->second;
  };
  Recorded recorded;
  const std::string& architecture = image.config().architecture;
  recorded.cpu.arch = target::arch_of_oci(architecture).value_or(architecture);
  recorded.cpu.name = annotation("dev.xaas.cpu");
  if (target::isa_levels(recorded.cpu.arch).empty())
    return make_error(ErrorKind::usage, "architecture " + image.config().architecture + " is not known");
  recorded.cpu.features =
      target::with_implied(recorded.cpu.arch, split(annotation("dev.xaas.features"), ','));
  const std::string where = "annotation dev.xaas.code";
  XAAS_TRY(const Json code, parse_json(annotation("dev.xaas.code"), where, false, ErrorKind::integrity));
  if (!code.is_object())
    return JsonReader(code, where).wrong("an object");
  for (const auto& [path, description] : code.items()) {
    const JsonReader file(description, where + "/" + path);
    CodeOrigin origin;
    XAAS_TRY(const JsonReader own, file.at("own"));
    XAAS_TRY(const auto features, own.strings());
    origin.own = {features.begin(), features.end()};
    XAAS_TRY(const JsonReader assembly, file.at("assembly"));
    XAAS_TRY(origin.assembly, assembly.boolean());
    XAAS_TRY(const JsonReader native, file.at("native"));
    XAAS_TRY(origin.native, native.boolean());
    recorded.files[path] = std::move(origin);
  }
  return recorded;
}

// --- what a worker answers

Json to_json(const std::map<std::string, Use>& uses) {
  Json json = Json::object();
  for (const auto& [feature, use] : uses)
    json[feature] = Json{{"instructions", use.instructions}, {"functions", use.functions}};
  return json;
}

// Parses a worker's answer. An answer of another form comes from a worker that was taken over.
struct Examined {
  loader::Dynamic dynamic;
  std::map<std::string, Use> beyond;
};

Result<Examined> parse_examined(const std::string& path, const std::string& text) {
  XAAS_TRY(const Json json, parse_json(text, path, false, ErrorKind::integrity));
  const JsonReader reader(json, path);
  Examined examined;
  XAAS_TRY(const JsonReader dynamic, reader.at("dynamic"));
  XAAS_TRY(examined.dynamic, loader::parse_dynamic(dynamic));
  XAAS_TRY(const JsonReader beyond, reader.at("beyond"));
  if (!beyond.json().is_object())
    return beyond.wrong("an object");
  for (const auto& [feature, description] : beyond.json().items()) {
    const JsonReader use(description, beyond.where() + "/" + feature);
    XAAS_TRY(const JsonReader instructions, use.at("instructions"));
    XAAS_TRY(examined.beyond[feature].instructions, instructions.size());
    XAAS_TRY(examined.beyond[feature].functions, use.strings_at("functions"));
  }
  return examined;
}

Result<Examined> examine(const std::string& path, const std::string& elf, const target::Cpu& cpu) {
  const WorkerTask task = [&]() -> Result<std::string> {
    XAAS_TRY(const loader::Dynamic dynamic, loader::read_dynamic(elf));
    XAAS_TRY(const auto beyond, instructions_beyond(elf, cpu));
    XAAS_CHECK(check_code_objects(elf));
    return Json{{"dynamic", loader::to_json(dynamic)}, {"beyond", to_json(beyond)}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  };
  XAAS_TRY(const std::string answer,
           run_worker(path, task, {.memory = 0, .cpu_seconds = 600, .answer = uint64_t(32) << 20}));
  return parse_examined(path, answer);
}

// --- the checks

// A program or library for this architecture.
bool is_for(std::string_view elf, const std::string& arch) {
  constexpr size_t type_at = 16; // Elf64_Ehdr
  if (!loader::is_elf_for(elf, arch))
    return false;
  const int type = static_cast<unsigned char>(elf[type_at]) | static_cast<unsigned char>(elf[type_at + 1])
                                                                  << 8;
  return type == llvm::ELF::ET_EXEC || type == llvm::ELF::ET_DYN;
}

std::string text_of(const Use& use) {
  return std::to_string(use.instructions) +
         (use.instructions == 1 ? " instruction, in " : " instructions, in ") + join(use.functions, ", ");
}

// "6.1.0-18-amd64" < "6.2".
bool kernel_less(const std::string& a, const std::string& b) {
  const auto numbers = [](const std::string& text) {
    std::vector<unsigned long> list;
    for (const std::string& part : split(text.substr(0, text.find_first_not_of("0123456789.")), '.'))
      list.push_back(std::strtoul(part.c_str(), nullptr, 10));
    list.resize(3);
    return list;
  };
  return numbers(a) < numbers(b);
}

class Verification {
public:
  Verification(const oci::Image& image, const Recorded& recorded,
               const std::optional<system::SystemDescription>& system, bool all_kernels)
      : image_(image), recorded_(recorded), system_(system), all_kernels_(all_kernels), on_(recorded.cpu) {
    if (system)
      on_ = system::target_cpu(*system);
  }

  Result<Report> run(Progress& progress) {
    report_.digest = image_.digest();
    report_.cpu = recorded_.cpu;
    report_.on = on_.name;
    if (system_ && system_->arch != recorded_.cpu.arch) {
      problem(Problem::Kind::architecture, "",
              "the image is for " + recorded_.cpu.arch + ", this system is " + system_->arch);
      return std::move(report_);
    }
    check_guarded_features();
    XAAS_TRY(const Tree tree, Tree::read(image_));
    XAAS_CHECK(check_needs(tree));
    if (system_)
      XAAS_CHECK(check_gpus());
    XAAS_CHECK(check_kernels());
    progress.start("checking", tree.programs().size());
    std::map<std::string, loader::Library> libraries;
    const ReadLibrary read = [&](const std::string& path) { return read_library(tree, path); };
    for (const auto& [path, file] : tree.programs()) {
      progress.advance();
      if (tree.is_of_base(path) && !recorded_.files.count(path))
        continue; // unless the application loads it
      XAAS_TRY(std::optional<loader::Library> library, read(path));
      if (library)
        libraries[path] = *std::move(library);
    }
    progress.finish();
    check_presence(tree);
    XAAS_TRY(const loader::Settings settings,
             loader_settings(tree, recorded_.cpu.arch, variable("LD_LIBRARY_PATH"), hwcaps()));
    XAAS_TRY(const std::vector<Problem> missing, check_closure(tree, libraries, settings, read));
    report_.problems.insert(report_.problems.end(), missing.begin(), missing.end());
    if (system_)
      XAAS_CHECK(warn_of_references(libraries));
    std::sort(report_.files.begin(), report_.files.end(),
              [](const CheckedFile& a, const CheckedFile& b) { return a.path < b.path; });
    return std::move(report_);
  }

private:
  void problem(Problem::Kind kind, const std::string& file, const std::string& message) {
    report_.problems.push_back({kind, file, message});
  }

  // Examines a file. Nothing if it is data, such as code for a GPU.
  Result<std::optional<loader::Library>> read_library(const Tree& tree, const std::string& path) {
    XAAS_TRY(const std::string elf, read_file(tree.programs().at(path)));
    if (!is_for(elf, recorded_.cpu.arch)) {
      if (recorded_.files.count(path))
        problem(Problem::Kind::architecture, path, "is not a program or library for " + recorded_.cpu.arch);
      return std::optional<loader::Library>();
    }
    XAAS_TRY(Examined examined, examine(path, elf, on_));
    check_file(path, examined);
    return std::optional(loader::Library{path, std::move(examined.dynamic)});
  }

  // A library of the image that may be a reference implementation, where the system has a better one.
  Result<void> warn_of_references(const std::map<std::string, loader::Library>& libraries) {
    XAAS_TRY(const std::vector<image::PreferredOfHost> preferred, image::preferred_of_host(image_));
    for (const runtimes::Interface& interface : runtimes::Knowledge::get().interfaces) {
      const auto is_one = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      const auto wanted = std::any_of(preferred.begin(), preferred.end(),
                                      [&](const auto& each) { return each.what == interface.name; });
      const std::string better = better_of(interface);
      for (const auto& [path, library] : libraries)
        if (const std::string name = fs::path(path).filename();
            !wanted && !better.empty() && is_one(interface.references, name))
          report_.warnings.push_back({"host-library", path, 0,
                                      "may be the reference " + interface.name + ", and the system has " +
                                          better + ", which `xaas run --host " + interface.name +
                                          "` takes instead"});
    }
    return {};
  }

  // The best implementation that the system has; empty: none.
  std::string better_of(const runtimes::Interface& interface) const {
    for (const std::string& implementation : interface.implementations)
      for (const system::Named& library : system_->libraries)
        if (fs::path(library.path).filename().string().starts_with(implementation))
          return library.path;
    return {};
  }

  // The features that the guard of deployed programs checks before they start.
  void check_guarded_features() {
    const std::vector<std::string> required =
        target::guarded_features(recorded_.cpu.arch, recorded_.cpu.features);
    const std::vector<std::string> there = target::guarded_features(on_.arch, on_.features);
    for (const std::string& feature : target::missing_features(required, there)) {
      reported_.insert(feature);
      problem(Problem::Kind::feature, "",
              "deployed for " + recorded_.cpu.name + ": " + on_.name + " lacks " + feature);
    }
  }

  // What chosen values need besides the CPU. A library that the image claims to bring, but does not have as
  // a file, is linked into its programs.
  Result<void> check_needs(const Tree& tree) {
    XAAS_TRY(const std::vector<image::ChosenNeeds> chosen, image::needs_of(image_));
    for (const image::ChosenNeeds& each : chosen) {
      std::map<std::string, std::string> brought;
      for (const auto& library : each.required.libraries)
        for (const auto& [path, file] : tree.programs())
          if (fs::path(path).filename().string().starts_with("lib" + library.name + ".so"))
            brought.emplace(library.name, path);
      for (select::Need& need :
           select::needs_of(each.required, system_.value_or(system::SystemDescription()), brought)) {
        const bool checked = system_ || need.from == select::Need::From::image;
        if (checked && !need.met)
          problem(Problem::Kind::host, "", each.point + "=" + each.value + ": " + need.lacks);
        report_.needs.push_back({each.point, each.value, std::move(need), checked});
      }
    }
    return {};
  }

  Result<void> check_gpus() {
    XAAS_TRY(const std::vector<image::GpuCode> code, image::gpu_code_of(image_.manifest().annotations));
    XAAS_TRY(GpuFindings findings, check_gpu_code(code, system_->gpus));
    for (const std::string& message : findings.problems)
      problem(Problem::Kind::gpu, "", message);
    report_.unknown = std::move(findings.unknown);
    return {};
  }

  // Launching a refused kernel is an error of the program, which may never do that.
  Result<void> check_kernels() {
    XAAS_TRY(std::optional<image::CpuKernels> kernels, image::cpu_kernels_of(image_));
    if (!kernels || !kernels->forms.contains(image::kernel_refused))
      return {};
    uint64_t unnamed = kernels->forms.at(image::kernel_refused);
    std::erase_if(kernels->kernels, [](const auto& each) { return each.form != image::kernel_refused; });
    image::demangle(kernels->kernels);
    for (const image::CpuKernel& kernel : kernels->kernels) {
      refused(kernel.source, "kernel " + kernel.demangled + " cannot run on the CPU: " + kernel.reason);
      unnamed -= unnamed ? 1 : 0;
    }
    if (unnamed)
      refused("", std::to_string(unnamed) + " kernels that the image does not name cannot run on the CPU");
    return {};
  }

  void refused(const std::string& source, const std::string& message) {
    if (all_kernels_)
      problem(Problem::Kind::cuda_kernel, source, message);
    else
      report_.warnings.push_back({name_of(Problem::Kind::cuda_kernel), source, 0, message});
  }

  void check_file(const std::string& path, const Examined& examined) {
    CheckedFile file{path, false, examined.beyond, true};
    if (const auto found = recorded_.files.find(path); found != recorded_.files.end()) {
      file.lowered = true;
      const CodeOrigin& origin = found->second;
      for (const auto& [feature, use] : file.beyond) {
        // The compiler used the features of the target wherever it liked.
        const bool chosen =
            !std::binary_search(recorded_.cpu.features.begin(), recorded_.cpu.features.end(), feature);
        if (chosen && (origin.own.count(feature) || origin.assembly || origin.native))
          continue;
        file.explained = false;
        if (!reported_.count(feature)) // the guard stops the program before
          problem(Problem::Kind::instruction, path, on_.name + " lacks " + feature + ": " + text_of(use));
      }
    }
    const std::string& kernel = examined.dynamic.kernel;
    if (system_ && !kernel.empty() && !system_->kernel.empty() && kernel_less(system_->kernel, kernel))
      problem(Problem::Kind::kernel, path, "needs Linux " + kernel + ", this system has " + system_->kernel);
    report_.files.push_back(std::move(file));
  }

  // Everything that was linked, and the program that starts, exists.
  void check_presence(const Tree& tree) {
    for (const auto& [path, origin] : recorded_.files)
      if (!tree.programs().count(tree.resolve(path)))
        problem(Problem::Kind::program, path, "was linked by deploying and is not in the image");
    if (image_.config().entrypoint.empty())
      return;
    std::string name = image_.config().entrypoint.front();
    for (int interpreters = 0; interpreters < 4; ++interpreters) { // the limit of Linux
      const std::string path = find_program(tree, name);
      if (path.empty())
        return problem(Problem::Kind::program, name, "starts the image and is not in it");
      const std::string next = tree.interpreter(path);
      if (next.empty())
        return;
      name = next.substr(0, next.find_first_of(" \t"));
    }
  }

  std::string find_program(const Tree& tree, const std::string& name) const {
    if (name.find('/') != std::string::npos)
      return tree.resolve(name);
    for (const std::string& directory : variable("PATH"))
      if (const std::string path = tree.resolve(directory + "/" + name); !path.empty())
        return path;
    return {};
  }

  // The directories for other CPUs' libraries that glibc searches on this one, the best first. There are some
  // for the x86-64 levels and none for AArch64.
  std::vector<std::string> hwcaps() const {
    std::vector<std::string> names;
    if (recorded_.cpu.arch != "x86_64")
      return names;
    for (const std::string& level : target::isa_levels(recorded_.cpu.arch))
      if (const Result<target::Cpu> cpu = target::cpu_by_name(recorded_.cpu.arch, level);
          cpu && level != "x86-64" && target::missing_features(cpu->features, on_.features).empty())
        names.insert(names.begin(), level);
    return names;
  }

  // The parts of a variable in the image's environment.
  std::vector<std::string> variable(const std::string& name) const {
    for (const std::string& each : image_.config().env)
      if (each.starts_with(name + "="))
        return split(each.substr(name.size() + 1), ':');
    return {};
  }

  const oci::Image& image_;
  const Recorded& recorded_;
  const std::optional<system::SystemDescription>& system_;
  bool all_kernels_;
  target::Cpu on_;
  std::set<std::string> reported_; // features
  Report report_;
};

} // namespace

const char* name_of(Problem::Kind kind) {
  switch (kind) {
  case Problem::Kind::architecture:
    return "architecture";
  case Problem::Kind::feature:
    return "feature";
  case Problem::Kind::instruction:
    return "instruction";
  case Problem::Kind::loader:
    return "loader";
  case Problem::Kind::library:
    return "library";
  case Problem::Kind::symbol_version:
    return "symbol-version";
  case Problem::Kind::program:
    return "program";
  case Problem::Kind::kernel:
    return "kernel";
  case Problem::Kind::host:
    return "host";
  case Problem::Kind::gpu:
    return "gpu";
  case Problem::Kind::cuda_kernel:
    return "cuda-kernel";
  }
  return "";
}

Result<Report> check(const oci::Reference& reference, const std::optional<system::SystemDescription>& system,
                     Progress& progress, const registry::Access& access,
                     const std::optional<provenance::Signer>& signer, bool all_kernels) {
  const auto within = [&]<typename T>(Result<T> result) {
    return oci::in_operation(std::move(result), "verifying", reference.text);
  };
  const std::string arch = system ? system->arch : target::host_arch();
  XAAS_TRY(
      const std::unique_ptr<oci::Image> image,
      registry::open_image(
          reference, target::oci_architecture(arch), access,
          system ? image::best_for(system::target_cpu(*system), [&] { return system::target_gpus(*system); })
                 : image::best_for(target::host_cpu(), system::host_gpus, image::IfNoneFits::first)));
  std::optional<provenance::Signature> signature;
  if (signer) {
    XAAS_TRY(signature, within(provenance::check_signature(*image, *signer, access)));
  }
  XAAS_TRY(const Recorded recorded, within(recorded_by(*image)));
  XAAS_TRY(Report report, within(Verification(*image, recorded, system, all_kernels).run(progress)));
  report.signature = signature;
  return report;
}

} // namespace xaas::check
