#include "names.h"

#include <xaas/base/json.h>

#include <string_view>

namespace xaas::system {

std::string_view machine_names(); // specs/machine.json

namespace {

Names read_names() {
  const Json json = Json::parse(machine_names(), nullptr, true, true);
  Names names;
  for (const Json& item : json["nvidia"])
    names.nvidia.push_back({item["name"], item["arch"], item.value("series", false)});
  for (const Json& item : json["intel"])
    names.intel.push_back({item["devices"].get<std::vector<std::string>>(), item["model"], item["arch"]});
  for (const Json& item : json["mpi"])
    names.mpi.push_back({item["soname"], item["implementation"], item["abi"]});
  for (const auto& [key, list] :
       {std::pair{"libraries", &names.libraries}, std::pair{"fabrics", &names.fabrics}})
    for (const Json& item : json[key])
      list->push_back({item["name"], item["file"]});
  names.compilers = json["compilers"].get<std::vector<std::string>>();
  return names;
}

} // namespace

const Names& Names::get() {
  static const Names names = read_names();
  return names;
}

} // namespace xaas::system
