#include "command.h"
#include "registry_options.h"
#include "settings.h"

#include <xaas/base/text.h>
#include <xaas/system/system.h>

#include <iostream>

namespace xaas::cli {

namespace {

class ConfigCommand : public Command {
public:
  void options(CLI::App& app) override {
    app.add_option("ACTION", action_,
                   "show: print every setting, its value and its origin; machines: list the machines that "
                   "have a name")
        ->required()
        ->check(CLI::IsMember({"show", "machines"}));
    registry_.add(app);
    app.add_option("-j,--jobs", jobs_, "Number of parallel jobs, as for other commands")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
  }

  Result<void> run() override {
    if (action_ == "machines")
      print_machines();
    else if (common.json())
      print_json();
    else
      print_table();
    return {};
  }

private:
  static void print_json() {
    Json rows = Json::array();
    for (const config::Setting& setting : settings().all())
      rows.push_back(Json{{"key", setting.key},
                          {"value", setting.value},
                          {"origin", config::name_of(setting.origin)},
                          {"from", setting.where.empty() ? Json() : Json(setting.where)}});
    Json files = Json::array();
    for (const config::File& file : settings().files())
      files.push_back(Json{{"origin", config::name_of(file.origin)},
                           {"path", file.path.string()},
                           {"used", file.used},
                           {"trouble", file.trouble.empty() ? Json() : Json(file.trouble)},
                           {"warnings", file.warnings}});
    print(Json{{"version", 1}, {"settings", rows}, {"files", files}});
  }

  // A damaged file is listed with the reason, so that it can be found.
  void print_machines() const {
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows = {{"MACHINE", "CPU", "ISA LEVEL", "GPUS", "FROM"}};
    for (const config::Machine& machine : settings().machines().all()) {
      Json json{{"name", machine.name},
                {"origin", config::name_of(machine.origin)},
                {"path", machine.path.string()},
                {"cpu", nullptr},
                {"level", nullptr},
                {"gpus", Json::array()},
                {"trouble", nullptr}};
      std::vector<std::string> row = {machine.name, "-", "-", "-", machine.path.string()};
      const Result<fs::path> file = settings().machines().file_of(machine.name);
      const Result<system::SystemDescription> read =
          file ? system::read_system(*file) : Result<system::SystemDescription>(file.error());
      if (read) {
        std::vector<std::string> gpus;
        for (const system::Gpu& gpu : read->gpus)
          gpus.push_back(gpu.arch);
        json["cpu"] = row[1] = read->cpu.name;
        json["level"] = row[2] = read->cpu.level;
        json["gpus"] = gpus;
        row[3] = gpus.empty() ? "-" : join(gpus, ",");
      } else {
        json["trouble"] = read.error().message;
        row[4] += ": " + read.error().message;
      }
      list.push_back(std::move(json));
      rows.push_back(std::move(row));
    }
    if (common.json())
      print(Json{{"version", 1}, {"machines", list}});
    else
      std::cout << table(rows);
  }

  static std::string shown(const config::Setting& setting) {
    if (setting.key == "cache_max_size")
      return human_bytes(setting.value.get<uint64_t>());
    if (setting.value.is_null())
      return "-";
    if (setting.value.is_array())
      return join(setting.value.get<std::vector<std::string>>(), ",");
    return setting.value.is_string() ? setting.value.get<std::string>() : setting.value.dump();
  }

  static void print_table() {
    std::vector<std::vector<std::string>> rows = {{"SETTING", "VALUE", "FROM"}};
    for (const config::Setting& setting : settings().all())
      rows.push_back({setting.key, shown(setting),
                      config::name_of(setting.origin) + (setting.where.empty() ? "" : ": " + setting.where)});
    std::cout << table(rows);
  }

  RegistryOptions registry_;
  std::string action_;
  unsigned jobs_ = 0;
};

} // namespace

std::unique_ptr<Command> make_config_command() {
  return std::make_unique<ConfigCommand>();
}

} // namespace xaas::cli
