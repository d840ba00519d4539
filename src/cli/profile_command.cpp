#include "command.h"

#include <xaas/base/umask.h>
#include <xaas/profile/profile.h>

#include <algorithm>
#include <iostream>

namespace xaas::cli {

namespace {

class ProfileCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("ACTION", action_, "merge: make one profile of several; show: print what is in them")
        ->required()
        ->check(CLI::IsMember({"merge", "show"}));
    app.add_option("PATH", paths_, "Profiles: files, and directories of files")->required();
    app.add_option("-o,--output", output_, "merge: the file to write")->type_name("FILE");
    app.add_option("--top", top_, "show: print this many of the functions that ran most")
        ->type_name("N")
        ->capture_default_str();
  }

  Result<void> run() override {
    const bool merges = action_ == "merge";
    if (merges == output_.empty())
      return make_error(ErrorKind::usage,
                        merges ? "xaas profile merge: no output" : "xaas profile show: writes nothing",
                        merges ? "-o FILE" : "leave out --output");
    XAAS_TRY(const profile::Profile profile, profile::read_profile({paths_.begin(), paths_.end()}));
    if (merges)
      XAAS_CHECK(write_output(output_, *profile.bytes));
    std::vector<profile::FunctionCounts> functions;
    if (!merges) {
      XAAS_TRY(functions, profile::functions_of(profile));
      functions.resize(std::min(functions.size(), top_));
    }
    if (common.json())
      print_json(profile, functions);
    else
      print_table(profile, functions);
    return {};
  }

private:
  void print_json(const profile::Profile& profile,
                  const std::vector<profile::FunctionCounts>& functions) const {
    Json json{{"version", 1},
              {"digest", profile.digest.to_string()},
              {"functions", profile.functions},
              {"ran", profile.ran},
              {"most", profile.most}};
    if (action_ == "show") {
      json["top"] = Json::array();
      for (const profile::FunctionCounts& each : functions)
        json["top"].push_back(Json{{"name", each.name}, {"most", each.most}});
    }
    print(json);
  }

  void print_table(const profile::Profile& profile,
                   const std::vector<profile::FunctionCounts>& functions) const {
    std::cout << table({{"functions", std::to_string(profile.functions)},
                        {"ran", std::to_string(profile.ran)},
                        {"highest count", std::to_string(profile.most)}});
    if (!functions.empty()) {
      std::vector<std::vector<std::string>> rows = {{"MOST", "FUNCTION"}};
      for (const profile::FunctionCounts& each : functions)
        rows.push_back({std::to_string(each.most), each.name});
      std::cout << "\n" << table(rows) << "\n";
    }
    std::cout << (action_ == "merge" ? output_ + " " : "") << profile.digest.to_string() << "\n";
  }

  std::string action_, output_;
  std::vector<std::string> paths_;
  size_t top_ = 20;
};

} // namespace

std::unique_ptr<Command> make_profile_command() {
  return std::make_unique<ProfileCommand>();
}

} // namespace xaas::cli
