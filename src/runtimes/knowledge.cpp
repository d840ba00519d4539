#include <xaas/runtimes/knowledge.h>

#include <string_view>

namespace xaas::runtimes {

std::string_view runtime_names(); // specs/runtimes.json

namespace {

using Texts = std::vector<std::string>;

Texts texts(const Json& json, const char* key) {
  return json.contains(key) ? json[key].get<Texts>() : Texts();
}

void read_mpi(const Json& json, Knowledge& knowledge) {
  knowledge.rank_variables = texts(json["ranks"], "variables");
  knowledge.rank_numbers = texts(json["ranks"], "numbers");
  knowledge.rank_jobs = json["ranks"]["jobs"].get<std::vector<Texts>>();
  knowledge.rank_directories = texts(json["ranks"], "directories");
  knowledge.rank_descriptor = json["ranks"]["descriptor"];
  for (const Json& item : json["separate_ranks"])
    knowledge.separate_ranks.push_back(
        {item["name"], item["value"], item.value("library", ""), item.value("part", "")});
  for (const Json& item : json["launchers"])
    knowledge.launchers.push_back({item["name"], texts(item, "arguments"), item["ranks"],
                                   item["mpi"].get<std::map<std::string, std::string>>()});
  for (const Json& item : json["mpi"])
    knowledge.mpi.push_back({item["abi"], item["libraries"].get<std::vector<Texts>>()});
  for (const Json& item : json["libraries"])
    knowledge.groups.push_back({item["name"], texts(item, "files")});
  for (const Json& item : json["interfaces"])
    knowledge.interfaces.push_back(
        {item["name"], texts(item, "libraries"), texts(item, "references"), texts(item, "implementations")});
  for (const Json& item : json["parts"])
    knowledge.parts.push_back(
        {item["library"], texts(item, "directories"), texts(item, "files"), texts(item, "beside")});
}

Knowledge read_knowledge() {
  const Json json = Json::parse(runtime_names(), nullptr, true, true);
  Knowledge knowledge;
  for (const Json& item : json["runtimes"])
    knowledge.runtimes.push_back({item["name"], texts(item, "programs"), texts(item, "provides"),
                                  texts(item, "setuid"), item["namespaces"], item["read_only_binds"],
                                  item["inherits"], item["separate"]});
  for (const Json& item : json["binds"])
    knowledge.binds.push_back({item["path"], item.value("read_only", false), item.value("optional", false)});
  knowledge.withheld = texts(json["environment"], "withheld");
  knowledge.loader = texts(json["environment"], "loader");
  knowledge.directories = texts(json["environment"], "directories");
  knowledge.path = json["environment"]["path"];
  read_mpi(json, knowledge);
  for (const Json& item : json["gpus"])
    knowledge.gpus.push_back({item["vendor"], texts(item, "present"), texts(item, "devices"),
                              texts(item, "libraries"), texts(item, "files"), texts(item, "cdi_files"),
                              item["cdi"], item["apptainer"],
                              item.value("links", std::map<std::string, std::string>())});
  return knowledge;
}

} // namespace

const Knowledge& Knowledge::get() {
  static const Knowledge knowledge = read_knowledge();
  return knowledge;
}

const Interface* Knowledge::interface(const std::string& name) const {
  const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const Interface& each) { return each.name == name; });
  return found == interfaces.end() ? nullptr : &*found;
}

const Runtime* Knowledge::runtime(const std::string& name) const {
  for (const Runtime& each : runtimes)
    if (each.name == name)
      return &each;
  return nullptr;
}

} // namespace xaas::runtimes
