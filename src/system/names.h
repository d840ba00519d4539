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
struct MpiName {
  std::string soname, implementation, abi;
};
struct LibraryName {
  std::string name, file; // "libfftw3.so"
};
struct Names {
  std::vector<GpuName> nvidia;
  std::vector<GpuDevice> intel;
  std::vector<MpiName> mpi;
  std::vector<LibraryName> libraries, fabrics;
  std::vector<std::string> compilers;
  static const Names& get();
};

} // namespace xaas::system
