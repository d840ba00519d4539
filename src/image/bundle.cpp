#include <xaas/image/bundle.h>

namespace xaas::image {

std::string tool_version() {
  return XAAS_VERSION;
}
std::string llvm_version() {
  return XAAS_LLVM_VERSION;
}

} // namespace xaas::image
