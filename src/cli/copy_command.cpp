#include "edf_option.h"
#include "images.h"
#include "platform_options.h"
#include "registry_options.h"

#include <xaas/image/targets.h>
#include <xaas/oci/operation.h>
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
                   "Destination: the same, or a file tree: rootfs:DIR (new or empty), squashfs:FILE")
        ->required();
    platform_.add(app,
                  "From an index, copy only the image for this architecture (x86_64, aarch64; default: all; "
                  "for a file tree: that of this machine)",
                  false);
    app.add_flag("--no-referrers", no_referrers_,
                 "Copy the image without its signatures, SBOMs and other artifacts that refer to it");
    edf_.add(app);
    registry_.add(app);
  }

  Result<void> run() override {
    XAAS_TRY(const oci::Reference from, oci::parse_reference(from_));
    XAAS_TRY(const oci::Reference to, oci::parse_reference(to_));
    XAAS_CHECK(edf_.check(to));
    XAAS_TRY(const std::vector<std::string> archs, platform_.read());
    std::optional<std::string> architecture;
    if (!archs.empty())
      architecture = target::oci_architecture(archs.front());
    TerminalProgress progress(common.quiet, common.verbosity);
    const registry::Access access = registry_.read(false, progress);
    for (const fs::path& left : remove_abandoned())
      progress.note("removed " + left.string() + ", left by a killed run");
    const registry::CopyOptions options{
        .architecture = architecture,
        .own_architecture = target::oci_architecture(target::host_arch()),
        .chooser = image::best_for(target::host_cpu(), system::host_gpus, image::IfNoneFits::first),
        .referrers = !no_referrers_};
    XAAS_TRY(const registry::Copied copied,
             oci::in_operation(registry::copy(from, to, options, access, progress), "copying", from_));
    XAAS_CHECK(edf_.write(to));
    if (copied.converted && !common.quiet)
      print_note(
          "the manifest was converted from Docker's format to OCI's, which changed the digest; it was " +
          copied.source.to_string() + ". Signatures and other artifacts that refer to it are not copied");
    if (to.transport == oci::Transport::archive && !copied.referrers.empty() && !common.quiet)
      print_note("the archive also contains signatures or other artifacts, so other tools need the tag: "
                 "oci-archive:" +
                 to.path.string() + ":" + (to.tag.empty() ? "latest" : to.tag) +
                 ". --no-referrers leaves them behind");
    Json referrers = Json::array();
    for (const oci::Referrer& each : copied.referrers) {
      Json entry = {{"digest", each.descriptor.digest.to_string()},
                    {"artifact_type", each.type},
                    {"subject", each.subject.to_string()}};
      if (!each.tag.empty())
        entry["tag"] = each.tag;
      referrers.push_back(std::move(entry));
    }
    if (common.json())
      print(Json{{"version", 1},
                 {"image", to_},
                 {"digest", copied.digest.to_string()},
                 {"source_digest", copied.source.to_string()},
                 {"converted", copied.converted},
                 {"blobs", copied.blobs},
                 {"bytes", copied.bytes},
                 {"referrers", std::move(referrers)}});
    else
      std::cout << to_ << " " << copied.digest.to_string() << "\n";
    return {};
  }

private:
  std::string from_, to_;
  bool no_referrers_ = false;
  EdfOption edf_;
  PlatformOptions platform_;
  RegistryOptions registry_;
};

} // namespace

std::unique_ptr<Command> make_copy_command() {
  return std::make_unique<CopyCommand>();
}

} // namespace xaas::cli
