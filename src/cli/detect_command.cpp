#include "images.h"

#include <iostream>

namespace xaas::cli {

namespace {

class DetectCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("-o,--output", output_, "Write the system description to this file")->type_name("FILE");
    app.add_option("--cpu", cpu_, "Stand for another CPU: an LLVM name (haswell, znver4) or an ISA level")
        ->type_name("NAME");
  }

  Result<void> run() override {
    system::SystemDescription description = system::detect();
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
    for (const system::Named& runtime : system.runtimes)
      rows.push_back({"container runtime", runtime.name + " " + runtime.version + " " + runtime.path});
    std::cout << table(rows);
  }

  std::string output_, cpu_;
};

} // namespace

std::unique_ptr<Command> make_detect_command() {
  return std::make_unique<DetectCommand>();
}

} // namespace xaas::cli
