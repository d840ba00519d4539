#include "images.h"
#include "settings.h"
#include "terminal.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <iostream>

namespace xaas::cli {

namespace {

class DetectCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("-o,--output", output_, "Write the system description to FILE")->type_name("FILE");
    CLI::Option* const save =
        app.add_option("--save", save_,
                       "Keep the system description under this name, for `--system NAME` of other commands")
            ->check(not_empty)
            ->type_name("NAME");
    app.add_flag("--site", site_, "With --save: for all users, beside the site's settings")->needs(save);
    app.add_option("--cpu", cpu_,
                   "Describe this machine with another CPU: an LLVM name (haswell, znver4) or an ISA level")
        ->type_name("NAME");
    app.add_option("--import", import_, "Convert a system description of the published prototype")
        ->type_name("FILE");
  }

  Result<void> run() override {
    system::SystemDescription description;
    if (import_.empty()) {
      description = system::detect();
      XAAS_CHECK(check_interrupt());
    } else {
      XAAS_TRY(description, system::import_prototype(import_));
    }
    if (!cpu_.empty()) {
      XAAS_TRY(description, system::with_cpu(std::move(description), cpu_));
    }
    const Json json = system::to_json(description);
    if (!output_.empty())
      XAAS_CHECK(write_output(output_, json.dump(2) + "\n"));
    if (!save_.empty()) {
      const config::Origin origin = site_ ? config::Origin::site : config::Origin::user;
      XAAS_TRY(const fs::path saved,
               settings().machines().save(save_, origin, json.dump(2) + "\n").in("--save"));
      if (!common.quiet)
        print_note("saved as " + saved.string());
    }
    if (common.json())
      print(json);
    else if (output_.empty() || !common.quiet)
      print_table(description);
    return {};
  }

private:
  using Rows = std::vector<std::vector<std::string>>;

  static std::string or_unknown(const std::string& text) { return text.empty() ? "-" : text; }

  static void add(Rows& rows, const std::string& kind, const std::vector<system::Named>& list) {
    for (const system::Named& entry : list)
      rows.push_back({kind, entry.name + " " + or_unknown(entry.version) + " " + entry.path});
  }

  static std::string yes_or_no(const std::optional<bool>& value) {
    return value ? *value ? "yes" : "no" : "-";
  }

  static Rows machine_rows(const system::SystemDescription& system) {
    Rows rows = {{"architecture", system.arch},
                 {"CPU", system.cpu.name + (system.cpu.model.empty() ? "" : " (" + system.cpu.model + ")")},
                 {"ISA level", system.cpu.level},
                 {"features", std::to_string(system.cpu.features.size())},
                 {"cores", std::to_string(system.cpu.cores)},
                 {"memory", human_bytes(system.memory_bytes)},
                 {"glibc", or_unknown(system.glibc)},
                 {"kernel", or_unknown(system.kernel)},
                 {"system", or_unknown(system.os)}};
    if (system.cpu.sve_bits)
      rows.insert(rows.begin() + 4, {"SVE vectors", std::to_string(system.cpu.sve_bits) + " bits"});
    if (system.allowed_threads && system.allowed_threads < system.cpu.threads)
      rows.push_back({"allowed", std::to_string(system.allowed_threads) + " of " +
                                     std::to_string(system.cpu.threads) + " threads"});
    if (system.allowed_memory_bytes && system.allowed_memory_bytes < system.memory_bytes)
      rows.push_back({"allowed", human_bytes(system.allowed_memory_bytes) + " of memory"});
    if (!system.batch_system.empty())
      rows.push_back({"batch system",
                      system.batch_system + (system.batch_job.empty() ? "" : ", job " + system.batch_job) +
                          (system.batch_partition.empty() ? "" : " in partition " + system.batch_partition)});
    return rows;
  }

  static void print_table(const system::SystemDescription& system) {
    Rows rows = machine_rows(system);
    for (const system::Gpu& gpu : system.gpus)
      rows.push_back({"GPU", gpu.vendor + " " + or_unknown(gpu.model) + " " + gpu.arch +
                                 (gpu.memory_bytes ? ", " + human_bytes(gpu.memory_bytes) : "") +
                                 (gpu.driver.empty() ? "" : ", driver " + gpu.driver)});
    for (const system::Mpi& mpi : system.mpi)
      rows.push_back({"MPI", mpi.implementation + " " + or_unknown(mpi.version) + " (ABI " + mpi.abi + ") " +
                                 mpi.libdir});
    add(rows, "fabric", system.fabrics);
    add(rows, "compiler", system.compilers);
    add(rows, "library", system.libraries);
    add(rows, "container runtime", system.runtimes);
    rows.push_back({"containers", "user namespaces " + yes_or_no(system.user_namespaces) + ", FUSE " +
                                      yes_or_no(system.fuse) + ", setuid helper " +
                                      yes_or_no(system.setuid)});
    if (system.module_system)
      add(rows, "module system", {*system.module_system});
    for (const std::string& module : system.modules)
      rows.push_back({"module", module});
    for (const std::string& note : system.notes)
      rows.push_back({"note", note});
    std::cout << table(rows);
  }

  std::string output_, cpu_, import_, save_;
  bool site_ = false;
};

} // namespace

std::unique_ptr<Command> make_detect_command() {
  return std::make_unique<DetectCommand>();
}

} // namespace xaas::cli
