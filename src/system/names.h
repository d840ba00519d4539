// specs/machine.json: the names that detection knows.
#pragma once

#include <string>
#include <vector>

namespace xaas::system {

struct GpuName {
  std::string part, arch; // in the driver's name
  bool series = false;    // matches the beginning of a word instead of whole words
};
struct GpuDevice {
  std::vector<std::string> devices; // "0x0bd5"
  std::string model, arch;
};
struct PackageNames { // the names in package managers
  std::vector<std::string> spack, easybuild;
};
struct MpiName {
  std::string soname, implementation, abi; // `soname` may contain `*`
  std::vector<std::string> vendor_marks, symbols, marks, pkgconfig;
  std::string path; // the part of the real path before the version
};
struct LibraryName {
  std::string name, file; // "libfftw3.so"
  std::vector<std::string> pkgconfig;
  bool release = false; // the number in the file name is the release
  PackageNames packages;
  bool of_package = true; // it has the version of its package
};
struct FabricDevice {
  std::string name, directory;
};
struct Runtime {
  std::string program, version_argument;
};
struct RuntimeHelper {
  std::string program, helper; // path relative to the runtime's prefix
};
struct Batch {
  std::string system, job, partition, cgroup;
  std::vector<std::string> programs, files;
};
struct ModuleSystem {
  std::string name, program, version; // environment variables
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
