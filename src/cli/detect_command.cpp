#include "images.h"

#include <xaas/base/text.h>

#include <iostream>

namespace xaas::cli {

namespace {

class DetectCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("-o,--output", output_, "Write the system description to this file")->type_name("FILE");
    app.add_option("--cpu", cpu_, "Stand for another CPU: an LLVM name (haswell, znver4) or an ISA level")
        ->type_name("NAME");
    app.add_option("--import", import_,
                   "Describe the machine of this file, which the published prototype wrote")
        ->type_name("FILE");
  }

  Result<void> run() override {
    system::SystemDescription description;
    if (import_.empty()) {
      description = system::detect();
    } else {
      XAAS_TRY(description, system::import_prototype(import_));
    }
    if (!cpu_.empty()) {
      XAAS_TRY(description, system::with_cpu(std::move(description), cpu_));
    }
    const Json json = system::to_json(description);
    if (!output_.empty())
      XAAS_CHECK(write_file(output_, json.dump(2) + "\n"));
    if (common.json())
      print(json);
    else if (output_.empty() || !common.quiet)
      print_table(description);
    return {};
  }

private:
  static void print_table(const system::SystemDescription& system) {
    auto or_unknown = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    std::vector<std::vector<std::string>> rows = {
        {"architecture", system.arch},
        {"CPU", system.cpu.name + (system.cpu.model.empty() ? "" : " (" + system.cpu.model + ")")},
        {"ISA level", system.cpu.level},
        {"features", std::to_string(system.cpu.features.size())},
        {"cores", std::to_string(system.cpu.cores)},
        {"memory", human_bytes(system.memory_bytes)},
        {"glibc", or_unknown(system.glibc)},
        {"kernel", or_unknown(system.kernel)},
        {"system", or_unknown(system.os)}};
    for (const system::Gpu& gpu : system.gpus)
      rows.push_back({"GPU", printable(gpu.vendor + " " + or_unknown(gpu.model) + " " + gpu.arch +
                                       (gpu.driver.empty() ? "" : ", driver " + gpu.driver))});
    for (const system::Mpi& mpi : system.mpi)
      rows.push_back({"MPI", printable(mpi.implementation + " " + mpi.version + " (ABI " + mpi.abi + ") " +
                                       mpi.libdir)});
    for (const system::Named& fabric : system.fabrics)
      rows.push_back({"fabric", printable(fabric.name + " " + fabric.version + " " + fabric.path)});
    for (const system::Named& library : system.libraries)
      rows.push_back({"library", printable(library.name + " " + library.version + " " + library.path)});
    for (const system::Named& runtime : system.runtimes)
      rows.push_back({"container runtime", runtime.name + " " + runtime.version + " " + runtime.path});
    std::cout << table(rows);
  }

  std::string output_, cpu_, import_;
};

} // namespace

std::unique_ptr<Command> make_detect_command() {
  return std::make_unique<DetectCommand>();
}

} // namespace xaas::cli
