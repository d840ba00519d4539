#include "library_ir.h"

#include <map>

namespace xaas::cpukernel {

std::string_view math_x86_64_ir(), thread_x86_64_ir(), runtime_x86_64_ir(), fibers_x86_64_ir(),
    checks_x86_64_ir();
std::string_view math_aarch64_ir(), thread_aarch64_ir(), runtime_aarch64_ir(), fibers_aarch64_ir(),
    checks_aarch64_ir();

const LibraryIr* library_ir(const std::string& arch) {
  static const std::map<std::string, LibraryIr> all = {
      {"x86_64",
       {math_x86_64_ir(), thread_x86_64_ir(), runtime_x86_64_ir(), fibers_x86_64_ir(), checks_x86_64_ir()}},
      {"aarch64",
       {math_aarch64_ir(), thread_aarch64_ir(), runtime_aarch64_ir(), fibers_aarch64_ir(),
        checks_aarch64_ir()}}};
  const auto found = all.find(arch);
  return found == all.end() ? nullptr : &found->second;
}

} // namespace xaas::cpukernel
