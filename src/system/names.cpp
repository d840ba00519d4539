#include "names.h"

#include <xaas/base/json.h>

#include <string_view>

namespace xaas::system {

std::string_view machine_names(); // specs/machine.json

namespace {

using Texts = std::vector<std::string>;

Texts texts(const Json& json, const char* key) {
  return json.contains(key) ? json[key].get<Texts>() : Texts();
}

PackageNames packages(const Json& json) {
  return {texts(json, "spack"), texts(json, "easybuild")};
}

std::vector<LibraryName> libraries(const Json& list) {
  std::vector<LibraryName> names;
  for (const Json& item : list) {
    const std::string name = item["name"];
    Texts pkgconfig = texts(item, "pkgconfig");
    if (pkgconfig.empty())
      pkgconfig = {name};
    names.push_back({name, item["file"], std::move(pkgconfig), item.value("release", false), packages(item),
                     item.value("of_package", true)});
  }
  return names;
}

void read_places(const Json& json, Names& names) {
  names.library_directories = texts(json, "library_directories");
  names.library_variables = texts(json, "library_variables");
  names.include_variables = texts(json, "include_variables");
  names.pkgconfig_variables = texts(json, "pkgconfig_variables");
  names.prefix_variables = texts(json, "prefix_variables");
  names.below_prefix = texts(json, "below_prefix");
  names.network_file_systems = texts(json, "network_file_systems");
}

void read_programs(const Json& json, Names& names) {
  names.compilers = texts(json, "compilers");
  for (const Json& item : json["container_runtimes"])
    names.container_runtimes.push_back({item["program"], item["version"]});
  names.setuid_programs = texts(json["setuid_helpers"], "programs");
  for (const Json& item : json["setuid_helpers"]["of_runtimes"])
    names.setuid_helpers.push_back({item["program"], item["helper"]});
  for (const Json& item : json["batch"])
    names.batch.push_back({item["system"], item["job"], item.value("partition", ""), item.value("cgroup", ""),
                           texts(item, "programs"), texts(item, "files")});
  for (const Json& item : json["module_systems"])
    names.module_systems.push_back({item["name"], item["program"], item["version"], texts(item, "files")});
}

Names read_names() {
  const Json json = Json::parse(machine_names(), nullptr, true, true);
  Names names;
  for (const Json& item : json["nvidia"])
    names.nvidia.push_back({item["name"], item["arch"], item.value("series", false)});
  for (const Json& item : json["intel"])
    names.intel.push_back({item["devices"].get<Texts>(), item["model"], item["arch"]});
  for (const Json& item : json["mpi"])
    names.mpi.push_back({item["soname"], item["implementation"], item["abi"], texts(item, "vendor_marks"),
                         texts(item, "symbols"), texts(item, "marks"), texts(item, "pkgconfig"),
                         item.value("path", "")});
  names.mpi_packages = packages(json["mpi_packages"]);
  names.libraries = libraries(json["libraries"]);
  names.fabrics = libraries(json["fabrics"]);
  for (const Json& item : json["fabric_devices"])
    names.fabric_devices.push_back({item["name"], item["directory"]});
  read_places(json, names);
  read_programs(json, names);
  return names;
}

} // namespace

const Names& Names::get() {
  static const Names names = read_names();
  return names;
}

} // namespace xaas::system
