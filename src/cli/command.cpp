#include "command.h"

#include <xaas/base/text.h>

#include <iostream>
#include <sstream>

namespace xaas::cli {

namespace {

// Help begins with the summary and the examples; the options come last.
class Formatter : public CLI::Formatter {
public:
  Formatter(std::string summary, std::string examples)
      : summary_(std::move(summary)), examples_(std::move(examples)) {
    column_width(34);
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::ostringstream text;
    text << summary_ << "\n\nExamples:\n";
    for (const std::string& line : split(examples_, '\n'))
      text << "  " << line << "\n";
    return text.str() + CLI::Formatter::make_help(app, std::move(name), mode);
  }

private:
  std::string summary_, examples_;
};

} // namespace

void Command::print(const Json& json) {
  // Names from images may not be UTF-8.
  print_json_text(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

const std::vector<CommandEntry>& commands() {
  static const std::vector<CommandEntry> table = {
      {"init", "Write an application spec for a source tree, as a draft to edit",
       "xaas init src/solver\n"
       "xaas init src/solver -o solver.json\n"
       "xaas init src/solver --try --try-time 20\n"
       "xaas init src/solver --llm http://localhost:11434 --model NAME",
       make_init_command},
      {"inspect", "Show what an image, an application spec or a source tree can be specialized for",
       "xaas inspect oci:./solver:ir\n"
       "xaas inspect docker://registry.example.org/solver:ir\n"
       "xaas inspect oci:./solver:ir --kernels\n"
       "xaas inspect xaas.json --format json\n"
       "xaas inspect src/solver",
       make_inspect_command},
      {"build", "Build an IR image or a source image from an application spec and its sources",
       "xaas build xaas.json -o oci:./solver:ir\n"
       "xaas build src/solver -o solver.tar --isa x86-64-v2,x86-64-v3\n"
       "xaas build xaas.json --source ../solver-2.1 --config simd=avx2 -o "
       "docker://registry.example.org/solver:ir\n"
       "xaas build src/solver --kind source --base docker://registry.example.org/toolchain:12 -o "
       "oci:./solver:src",
       make_build_command},
      {"detect", "Describe this machine",
       "xaas detect\n"
       "srun xaas detect -o node.json\n"
       "srun -p zen4 xaas detect --save zen4\n"
       "xaas detect --cpu znver4 -o other.json",
       make_detect_command},
      {"deploy", "Specialize an IR or source image for a machine",
       "xaas deploy oci:./solver:ir -o oci:./solver:here\n"
       "xaas deploy solver.tar -o rootfs:./solver --system node.json\n"
       "xaas deploy docker://registry.example.org/solver:ir --explain --dry-run --cpu haswell\n"
       "xaas deploy docker://registry.example.org/solver:ir --verify-key cosign.pub -o oci:./solver:here "
       "--sbom solver.spdx.json\n"
       "xaas deploy docker://registry.example.org/solver:ir --reuse "
       "docker://registry.example.org/site/solver -o rootfs:./solver\n"
       "xaas deploy oci:./solver:ir -o rootfs:./solver --gpu cpu --force\n"
       "xaas deploy oci:./solver:ir -o oci:./solver:here --system zen4 --system haswell\n"
       "xaas deploy oci:./solver:src -o oci:./solver:here --runtime charliecloud",
       make_deploy_command},
      {"check", "Check whether a deployed image can run, here or on another machine",
       "xaas check oci:./solver:here\n"
       "xaas check oci:./solver:here --system node.json\n"
       "xaas check solver.tar --cpu haswell",
       make_check_command, "verify"},
      {"copy", "Copy an image between registries, layouts, archives and file trees",
       "xaas copy docker://registry.example.org/solver:ir oci-archive:solver.tar\n"
       "xaas copy solver.tar docker://site.example.org/hpc/solver:ir\n"
       "xaas copy docker://registry.example.org/solver:here squashfs:solver.sqfs",
       make_copy_command},
      {"run", "Run an image with the runtime, devices and libraries of this machine",
       "xaas run oci:./solver:here\n"
       "xaas run oci:./solver:here -- --steps 100\n"
       "xaas run oci:./solver:here mesh-tool -- --refine 2\n"
       "srun --mpi=pmi2 -n 64 xaas run oci:./solver:here --mpi host\n"
       "xaas run oci:./solver:here --print --launcher srun --ranks 64",
       make_run_command},
      {"install", "Install an image as programs and module files below a prefix",
       "xaas install oci:./solver:here --prefix /apps/solver/1.2\n"
       "xaas install docker://registry.example.org/solver:site --prefix /apps/solver/1.2 --modules "
       "/apps/modulefiles\n"
       "xaas install oci:./solver:here --prefix /apps/solver/1.2 --replace",
       make_install_command},
      {"uninstall", "Remove what `xaas install` wrote", "xaas uninstall /apps/solver/1.2",
       make_uninstall_command},
      {"merge", "Merge IR images that were built separately into one",
       "xaas merge oci:./job-1:ir oci:./job-2:ir -o oci:./solver:ir\n"
       "xaas merge docker://registry.example.org/solver:{v2,v3,v4} -o "
       "docker://registry.example.org/solver:ir",
       make_merge_command},
      {"profile", "Merge, show or attach profiles of training runs",
       "xaas deploy oci:./solver:ir --profile-generate -o oci:./solver:train\n"
       "xaas run --profile ./counts oci:./solver:train -- typical.input\n"
       "xaas profile show ./counts\n"
       "xaas profile merge ./counts -o solver.profile\n"
       "xaas profile attach solver.profile --image docker://registry.example.org/solver:ir\n"
       "xaas deploy oci:./solver:ir --profile solver.profile -o oci:./solver:fast",
       make_profile_command},
      {"cache", "Show or prune the cache of builds and deploys",
       "xaas cache info\n"
       "xaas cache prune --max-size 2G",
       make_cache_command},
      {"config", "Show every setting, its value and its origin",
       "xaas config show\n"
       "XAAS_JOBS=2 xaas config show --format json",
       make_config_command},
      {"completion", "Print completions for a shell",
       "source <(xaas completion bash)\n"
       "xaas completion zsh -o ~/.zfunc/_xaas\n"
       "xaas completion fish -o ~/.config/fish/completions/xaas.fish",
       make_completion_command, nullptr, false, false},
      {"manual", "Write the manual pages", "xaas manual --directory share/man", make_manual_command, nullptr,
       true, false},
  };
  return table;
}

const CommandEntry* find_command(const std::string& name) {
  for (const CommandEntry& entry : commands())
    if (name == entry.name || (entry.alias && name == entry.alias))
      return &entry;
  return nullptr;
}

std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command) {
  auto app = std::make_unique<CLI::App>("", std::string("xaas ") + entry.name);
  app->formatter(std::make_shared<Formatter>(entry.summary, entry.examples));
  app->set_help_flag("-h,--help", "Print this help");
  app->failure_message(CLI::FailureMessage::simple);
  command.options(*app);
  app->add_option("--format", command.common.format, "Output format: table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->add_flag("-q,--quiet", command.common.quiet, "Print results and errors only");
  app->add_flag("-v,--verbose", command.common.verbosity, "Print more details; can be repeated");
  return app;
}

} // namespace xaas::cli
