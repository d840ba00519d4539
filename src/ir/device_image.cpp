#include <xaas/ir/device_image.h>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace xaas::ir {

namespace {

// The header of a fat binary: magic number, version 1, 16 bytes of header, no bytes of entries.
constexpr char fat_binary[16] = {'\x50', '\xed', '\x55', '\xba', 1, 0, 16, 0};
// The header of a bundle: magic number, no entries.
constexpr char bundle[33] = "__CLANG_OFFLOAD_BUNDLE__\0\0\0\0\0\0\0";
constexpr const char* mark = "xaas: device code is put here when the target is known";

std::vector<llvm::GlobalVariable*> placeholders(const llvm::Module& module) {
  const std::string cuda = device_image_placeholder(DeviceRuntime::cuda);
  const std::string hip = device_image_placeholder(DeviceRuntime::hip);
  std::vector<llvm::GlobalVariable*> found;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.hasInitializer())
      continue;
    const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(variable.getInitializer());
    if (data && (data->getRawDataValues().starts_with(cuda) || data->getRawDataValues().starts_with(hip)))
      found.push_back(const_cast<llvm::GlobalVariable*>(&variable));
  }
  return found;
}

} // namespace

DeviceRuntime device_runtime(const std::string& arch) {
  return arch.starts_with("gfx") ? DeviceRuntime::hip : DeviceRuntime::cuda;
}

std::string device_image_placeholder(DeviceRuntime runtime) {
  const std::string header = runtime == DeviceRuntime::hip ? std::string(bundle, sizeof(bundle) - 1)
                                                           : std::string(fat_binary, sizeof(fat_binary));
  return header + mark;
}

bool wants_device_image(const llvm::Module& module) {
  return !placeholders(module).empty();
}

Result<void> set_device_image(llvm::Module& module, const std::string& image) {
  const std::vector<llvm::GlobalVariable*> found = placeholders(module);
  if (found.size() != 1)
    return make_error(ErrorKind::integrity, "the module has " + std::to_string(found.size()) +
                                                " places for device code, expected one");
  llvm::GlobalVariable& old = *found.front();
  llvm::Constant* data = llvm::ConstantDataArray::getString(module.getContext(), image, false);
  auto* variable = new llvm::GlobalVariable(module, data->getType(), old.isConstant(), old.getLinkage(), data,
                                            "", &old, old.getThreadLocalMode(), old.getAddressSpace());
  variable->copyAttributesFrom(&old);
  variable->takeName(&old);
  old.replaceAllUsesWith(variable);
  old.eraseFromParent();
  return {};
}

} // namespace xaas::ir
