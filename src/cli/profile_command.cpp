#include "command.h"
#include "platform_options.h"
#include "registry_options.h"

#include <xaas/base/umask.h>
#include <xaas/profile/profile.h>

#include <algorithm>
#include <iostream>

namespace xaas::cli {

namespace {

class ProfileCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("ACTION", action_,
                   "merge: make one profile of several; show: print what is in them; attach: attach them to "
                   "the IR image that they are of, in its registry or layout")
        ->required()
        ->check(CLI::IsMember({"merge", "show", "attach"}));
    app.add_option("PATH", paths_, "Profiles: files, and directories of files")->required();
    app.add_option("-o,--output", output_, "merge: the file to write")->type_name("FILE");
    app.add_option("--image", image_, "attach: the IR image, docker://HOST/NAME[:TAG] or oci:DIR[:TAG]")
        ->type_name("IMAGE");
    platforms_.add(
        app, "attach: of an index, the image for this architecture (default: that of this machine)", false);
    registry_.add(app);
    app.add_option("--top", top_, "show: print this many of the functions that ran most")
        ->type_name("N")
        ->capture_default_str();
  }

  Result<void> run() override {
    const bool merges = action_ == "merge", attaches = action_ == "attach";
    if (merges == output_.empty())
      return make_error(ErrorKind::usage,
                        "xaas profile " + action_ + (merges ? ": no output" : ": writes no file"),
                        merges ? "-o FILE" : "leave out --output");
    if (attaches == image_.empty())
      return make_error(ErrorKind::usage,
                        "xaas profile " + action_ + (attaches ? ": no image" : ": attaches to no image"),
                        attaches ? "--image IMAGE" : "leave out --image");
    XAAS_TRY(const profile::Profile profile, profile::read_profile({paths_.begin(), paths_.end()}));
    if (merges)
      XAAS_CHECK(write_output(output_, *profile.bytes));
    std::optional<Digest> attached;
    if (attaches) {
      XAAS_TRY(attached, attach(profile));
    }
    std::vector<profile::FunctionCounts> functions;
    if (action_ == "show") {
      XAAS_TRY(functions, profile::functions_of(profile));
      functions.resize(std::min(functions.size(), top_));
    }
    if (common.json())
      print_json(profile, functions, attached);
    else
      print_table(profile, functions, attached);
    return {};
  }

private:
  Result<Digest> attach(const profile::Profile& profile) const {
    TerminalProgress progress(common.quiet, common.verbosity);
    XAAS_TRY(const oci::Reference image, oci::parse_reference(image_));
    XAAS_TRY(const std::vector<std::string> archs, platforms_.read());
    return profile::attach(image,
                           target::oci_architecture(archs.empty() ? target::host_arch() : archs.front()),
                           profile, registry_.read(image.transport == oci::Transport::registry, progress));
  }

  void print_json(const profile::Profile& profile, const std::vector<profile::FunctionCounts>& functions,
                  const std::optional<Digest>& attached) const {
    Json json{{"version", 1},
              {"digest", profile.digest.to_string()},
              {"functions", profile.functions},
              {"ran", profile.ran},
              {"most", profile.most}};
    if (attached)
      json["attached"] = attached->to_string();
    if (action_ == "show") {
      json["top"] = Json::array();
      for (const profile::FunctionCounts& each : functions)
        json["top"].push_back(Json{{"name", each.name}, {"most", each.most}});
    }
    print(json);
  }

  void print_table(const profile::Profile& profile, const std::vector<profile::FunctionCounts>& functions,
                   const std::optional<Digest>& attached) const {
    std::cout << table({{"functions", std::to_string(profile.functions)},
                        {"ran", std::to_string(profile.ran)},
                        {"highest count", std::to_string(profile.most)}});
    if (!functions.empty()) {
      std::vector<std::vector<std::string>> rows = {{"MOST", "FUNCTION"}};
      for (const profile::FunctionCounts& each : functions)
        rows.push_back({std::to_string(each.most), each.name});
      std::cout << "\n" << table(rows) << "\n";
    }
    if (attached)
      std::cout << image_ << " " << attached->to_string() << "\n";
    std::cout << (action_ == "merge" ? output_ + " " : "") << profile.digest.to_string() << "\n";
  }

  std::string action_, output_, image_;
  PlatformOptions platforms_;
  RegistryOptions registry_;
  std::vector<std::string> paths_;
  size_t top_ = 20;
};

} // namespace

std::unique_ptr<Command> make_profile_command() {
  return std::make_unique<ProfileCommand>();
}

} // namespace xaas::cli
