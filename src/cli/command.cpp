#include "command.h"

#include <xaas/base/text.h>

#include <iostream>
#include <sstream>

namespace xaas::cli {

namespace {

// Help in the order in which people read it: what it does, how it is used, then the options.
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
  // Names in images need not be UTF-8.
  print_json_text(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

const std::vector<CommandEntry>& commands() {
  static const std::vector<CommandEntry> table = {
      {"init", "Write an application spec for a source tree, to edit",
       "xaas init src/solver\nxaas init src/solver -o solver.json\n"
       "xaas init src/solver --llm http://localhost:11434 --model NAME",
       make_init_command, false,
       "Reads the build system and the sources, as `xaas inspect` does, and writes a spec with the "
       "specialization "
       "points that it finds. Nothing of the project is executed. With --llm a language model may add "
       "points; what "
       "it says is checked against the sources and marked by a comment, and no answer is an error."},
      {"inspect", "Show what an image, an application spec or a source tree can be specialized for",
       "xaas inspect oci:./solver:ir\nxaas inspect docker://registry.example.org/solver:ir\nxaas inspect "
       "xaas.json --format json\nxaas inspect src/solver",
       make_inspect_command, false,
       "Of a source tree: what its build lets people choose, with file and line; nothing of it is executed. "
       "With --llm a language model is told what was found and may add to it: what it says is checked "
       "against "
       "the tree and marked, what does not hold is named and left out, and no answer is an error. "
       "Of an "
       "IR image: its specialization points; per configuration what it holds and what deploying it "
       "reads, "
       "with the numbers of the layers, and how much of that other configurations read, too; how many "
       "sources have other IR for another instruction set; what machine flags the project's own command "
       "lines "
       "had; and the native objects with the reason why each has no IR. With -v every source and object is "
       "named."},
      {"build", "Build an IR image, or a source image, from an application spec and its sources",
       "xaas build xaas.json -o oci:./solver:ir\nxaas build src/solver -o solver.tar --isa "
       "x86-64-v2,x86-64-v3\n"
       "xaas build xaas.json --source ../solver-2.1 --config simd=avx2 -o "
       "docker://registry.example.org/solver:ir\n"
       "xaas build src/solver --kind source --base docker://registry.example.org/toolchain:12 -o "
       "oci:./solver:src",
       make_build_command, false,
       "Builds every configuration in a private directory and writes one image. At the end it says what each "
       "holds, where the time went, which objects have no IR and why, and warns of what the build asked of "
       "this "
       "machine: programs that its configure step ran, -march=native, paths of this machine in installed "
       "files. With --kind source nothing is built: the image gets the sources without what a .gitignore "
       "names, the tools that build them, and what the spec says is to be fetched; secrets among the sources "
       "are an error."},
      {"detect", "Describe this machine",
       "xaas detect\nsrun xaas detect -o node.json\nxaas detect --cpu znver4 -o other.json",
       make_detect_command},
      {"deploy", "Specialize an IR or source image for a machine",
       "xaas deploy oci:./solver:ir -o oci:./solver:here\nxaas deploy solver.tar -o rootfs:./solver --system "
       "node.json\n"
       "xaas deploy docker://registry.example.org/solver:ir --explain --dry-run --cpu haswell\n"
       "xaas deploy docker://registry.example.org/solver:ir --verify-key cosign.pub -o oci:./solver:here "
       "--sbom solver.spdx.json\n"
       "xaas deploy docker://registry.example.org/solver:ir --reuse "
       "docker://registry.example.org/site/solver -o rootfs:./solver\n"
       "xaas deploy oci:./solver:src -o oci:./solver:here --runtime charliecloud",
       make_deploy_command, false,
       "Chooses a configuration of the image, lowers its IR for the machine's CPU, links, and writes an "
       "ordinary image. Nothing of the image is run. A configuration that has no IR is built instead, from "
       "the image's sources with the image's tools, inside the image: without network, home directory or "
       "rights, within limits that the settings have. With --verify-key an image without a signature by this "
       "key is "
       "not used: exit 7. Signatures are those of `cosign sign --key`, which are looked for beside the "
       "image; one "
       "of its manifest or of the index that the reference names will do. No transparency log is asked. With "
       "--reuse an image that was deployed before from the same IR image, "
       "for the same configuration, CPU and options is copied, and nothing is lowered. Who may write to that "
       "place decides what its users run."},
      {"verify", "Check whether a deployed image can run, here or on another machine",
       "xaas verify oci:./solver:here\nxaas verify oci:./solver:here --system node.json\n"
       "xaas verify solver.tar --cpu haswell",
       make_verify_command, false,
       "Reads the image's files and runs none. Every program and library is disassembled: instructions that "
       "the CPU lacks are a problem in what deploying linked, unless the source asked for them itself (a "
       "function's target attribute, a file's -m flags, inline assembly), which it must not run before it "
       "has "
       "asked the CPU; other files are shown and not judged, because libraries choose at run time. Every "
       "loader, library and symbol version that is needed must be in the image. Without --system and --cpu "
       "the image is checked against the CPU that it was deployed for."},
      {"copy", "Copy an image between registries, layouts, archives and file trees",
       "xaas copy docker://registry.example.org/solver:ir oci-archive:solver.tar\n"
       "xaas copy solver.tar docker://site.example.org/hpc/solver:ir\n"
       "xaas copy docker://registry.example.org/solver:here squashfs:solver.sqfs",
       make_copy_command, false,
       "Any image can be copied, also one that is not ours. Bytes and digests stay: an index is copied with "
       "all "
       "that it lists. Only Docker's formats become those of OCI where a layout or an archive is written. "
       "Blobs "
       "that are there already are not sent, those of the same registry are mounted. squashfs: needs "
       "mksquashfs; a file tree gets empty places for what runtimes mount (/dev, /proc, /sys, /tmp, /home, "
       "/etc/passwd and the like) where the image has none."},
      {"run", "Run an image with what the machine has",
       "xaas run oci:./solver:here\nxaas run oci:./solver:here -- --steps 100\n"
       "srun --mpi=pmi2 -n 64 xaas run oci:./solver:here --mpi host\n"
       "xaas run oci:./solver:here --print --launcher srun --ranks 64",
       make_run_command, false,
       "Runs a deployed or any other OCI image with Apptainer, Charliecloud, enroot, bwrap or Podman, the "
       "first "
       "that serves. The program sees the current directory, /tmp, the devices and the network of the "
       "machine, "
       "and most of its environment; not the home directory, unless it is bound. Images are unpacked once, "
       "in the "
       "cache directory. The program's exit code is that of xaas, 128 and the signal's number if one ended "
       "it."},
      {"merge", "Make one IR image of several that were built apart",
       "xaas merge oci:./job-1:ir oci:./job-2:ir -o oci:./solver:ir\n"
       "xaas merge docker://registry.example.org/solver:{v2,v3,v4} -o "
       "docker://registry.example.org/solver:ir",
       make_merge_command, false,
       "For parallel jobs: each builds some configurations of one application (`xaas build --config`, "
       "`--isa`), then their images are merged. The result is the image that one build of all of them "
       "writes, with the same digest, in whatever order the images are given. Images of another application, "
       "version, xaas or LLVM are refused, and so is a configuration that two of them have and that is not "
       "the same in both."},
      {"cache", "Show or shrink what is kept for later builds and deploys",
       "xaas cache info\nxaas cache prune --max-size 2G", make_cache_command, false,
       "Builds keep the outcomes of compiles, deploys the objects that they lowered; what is read of images "
       "in "
       "registries is kept, too. Each command that keeps something removes what was not used for the longest "
       "time once all together are over the limit."},
      {"config", "Show every setting, its value, and where it comes from",
       "xaas config show\nXAAS_JOBS=2 xaas config show --format json", make_config_command, false,
       "A setting is taken from the first of these that has it: the command line, the environment, "
       "xaas-config.json in the current directory, the user's file, the site's file; else it is built in. "
       "Options that are given to `xaas config show` count as they do for other commands."},
      {"completion", "Print completions for a shell",
       "source <(xaas completion bash)\nxaas completion zsh -o ~/.zfunc/_xaas\n"
       "xaas completion fish -o ~/.config/fish/completions/xaas.fish",
       make_completion_command, false,
       "The script completes commands, options and the values that are known: formats, transports of images, "
       "ISA levels, CPUs. `cmake --install` installs it for all three shells.",
       false},
      {"manual", "Write the manual pages", "xaas manual --directory share/man", make_manual_command, true, "",
       false},
  };
  return table;
}

std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command) {
  auto app = std::make_unique<CLI::App>("", std::string("xaas ") + entry.name);
  app->formatter(std::make_shared<Formatter>(entry.summary, entry.examples));
  app->set_help_flag("-h,--help", "Show this help");
  app->failure_message(CLI::FailureMessage::simple);
  command.options(*app);
  app->add_option("--format", command.common.format, "How results are printed: table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->add_flag("-q,--quiet", command.common.quiet, "No progress, only results and errors");
  app->add_flag("-v,--verbose", command.common.verbosity, "Say more; can be repeated");
  return app;
}

} // namespace xaas::cli
