// specs/machine.json: what detection knows of names.
#pragma once

#include <string>
#include <vector>

namespace xaas::system {

struct GpuName {
  std::string part, arch; // of the driver's name
  bool series = false;    // the beginning of a word, else words
};
struct GpuDevice {
  std::vector<std::string> devices; // "0x0bd5"
  std::string model, arch;
};
struct PackageNames { // what package managers call it
  std::vector<std::string> spack, easybuild;
};
struct MpiName {
  std::string soname, implementation, abi; // `soname` may have `*`
  std::vector<std::string> vendor_marks, symbols, marks, pkgconfig;
  std::string path; // the part of the real path before the version
};
struct LibraryName {
  std::string name, file; // "libfftw3.so"
  std::vector<std::string> pkgconfig;
  bool release = false; // the number in the file's name is the release
  PackageNames packages;
  bool of_package = true; // its version is that of the package
};
struct FabricDevice {
  std::string name, directory;
};
struct Runtime {
  std::string program, version_argument;
};
struct RuntimeHelper {
  std::string program, helper; // path below the runtime's prefix
};
struct Batch {
  std::string system, job, partition, cgroup;
  std::vector<std::string> programs, files;
};
struct ModuleSystem {
  std::string name, program, version; // variables
  std::vector<std::string> files;
};

struct Names {
  std::vector<GpuName> nvidia;
  std::vector<GpuDevice> intel;
  std::vector<MpiName> mpi;
  PackageNames mpi_packages;
  std::vector<LibraryName> libraries, fabrics;
  std::vector<FabricDevice> fabric_devices;
  std::vector<std::string> library_directories, library_variables, include_variables, pkgconfig_variables,
      prefix_variables, below_prefix, network_file_systems, compilers;
  std::vector<Runtime> container_runtimes;
  std::vector<std::string> setuid_programs;
  std::vector<RuntimeHelper> setuid_helpers;
  std::vector<Batch> batch;
  std::vector<ModuleSystem> module_systems;
  static const Names& get();
};

} // namespace xaas::system
