#include "images.h"
#include "registry_options.h"

#include <xaas/registry/images.h>
#include <xaas/target/cpu.h>

#include <iostream>

namespace xaas::cli {

namespace {

class CopyCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("FROM", from_, "Image: oci:DIR[:TAG], oci-archive:FILE[:TAG], docker://HOST/NAME[:TAG]")
        ->required();
    app.add_option("TO", to_,
                   "Where to: the same, or a file tree: rootfs:DIR (absent or empty), squashfs:FILE")
        ->required();
    app.add_option("--arch", arch_,
                   "Of an index, only the image for this architecture (x86_64, aarch64); else all of them, "
                   "and for a file tree this machine's")
        ->type_name("ARCH");
    registry_.add(app);
  }

  Result<void> run() override {
    XAAS_TRY(const oci::Reference from, oci::parse_reference(from_));
    XAAS_TRY(const oci::Reference to, oci::parse_reference(to_));
    std::optional<std::string> architecture;
    if (!arch_.empty())
      architecture = target::oci_architecture(arch_);
    TerminalProgress progress(common.quiet, common.verbosity);
    const registry::Access access = registry_.read(false, progress);
    for (const fs::path& left : remove_abandoned())
      progress.note("removed " + left.string() + ", which a killed run left");
    XAAS_TRY(const registry::Copied copied,
             registry::copy(from, to, architecture, target::oci_architecture(target::host_arch()), access,
                            progress)
                 .in("copying " + from_));
    if (copied.converted && !common.quiet)
      print_note("Docker's formats became those of OCI, so the digest is another one: it was " +
                 copied.source.to_string());
    if (common.json())
      print(Json{{"version", 1},
                 {"image", to_},
                 {"digest", copied.digest.to_string()},
                 {"source_digest", copied.source.to_string()},
                 {"converted", copied.converted},
                 {"blobs", copied.blobs},
                 {"bytes", copied.bytes}});
    else
      std::cout << to_ << " " << copied.digest.to_string() << "\n";
    return {};
  }

private:
  std::string from_, to_, arch_;
  RegistryOptions registry_;
};

} // namespace

std::unique_ptr<Command> make_copy_command() {
  return std::make_unique<CopyCommand>();
}

} // namespace xaas::cli
