// What is known of container runtimes and launchers: specs/runtimes.json, which is embedded in the program.
#pragma once

#include <xaas/base/json.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::runtimes {

struct Runtime {
  std::string name;
  std::vector<std::string> programs, provides, setuid;
  bool namespaces = false, read_only_binds = false, inherits = false;
  std::string separate;
};

struct HostBind {
  std::string path;
  bool read_only = false, optional = false;
};

struct RankVariable {
  std::string name, value, library, part;
};

struct Launcher {
  std::string name;
  std::vector<std::string> arguments;
  std::string ranks;                      // the option that precedes their number
  std::map<std::string, std::string> mpi; // option by ABI
};

struct MpiFamily {
  std::string abi;
  std::vector<std::vector<std::string>> libraries; // each with its alternative names
};

struct LibraryGroup {
  std::string name;
  std::vector<std::string> files; // patterns
};

struct Interface {
  std::string name;
  std::vector<std::string> libraries;       // sonames by which programs load it
  std::vector<std::string> references;      // those of `libraries` that may be reference implementations
  std::vector<std::string> implementations; // sonames on hosts, the best first
};

struct Parts {
  std::string library; // a pattern
  std::vector<std::string> directories, files, beside;
};

struct GpuKind {
  std::string vendor;
  std::vector<std::string> present, devices, libraries, files, cdi_files;
  std::string cdi, apptainer;
  std::map<std::string, std::string> links; // other names of `libraries`: link, library
};

struct Knowledge {
  std::vector<Runtime> runtimes;
  std::vector<HostBind> binds;
  std::vector<std::string> withheld, loader, directories; // variables
  std::string path;                                       // PATH of an image that has none
  std::vector<std::string> rank_variables, rank_numbers;
  std::vector<std::vector<std::string>> rank_jobs; // each: variables that together name a job of ranks
  std::vector<std::string> rank_directories;       // variables that name one
  std::string rank_descriptor;
  std::vector<RankVariable> separate_ranks;
  std::vector<Launcher> launchers;
  std::vector<MpiFamily> mpi;
  std::vector<LibraryGroup> groups;
  std::vector<Interface> interfaces;
  std::vector<Parts> parts;
  std::vector<GpuKind> gpus;

  static const Knowledge& get();
  const Runtime* runtime(const std::string& name) const;
  const Interface* interface(const std::string& name) const;
};

} // namespace xaas::runtimes
